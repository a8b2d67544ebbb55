/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counts the bytes of a file by value, each thread CHUNK of them:
 *
 *	gputap gpurun --grid 8 --block 128 --mem-file README.md histogram.bpf.o
 */
#include <gputap/bpf.h>

#define CHUNK 16

GPUTAP_ARRAY(counts, unsigned long long, 256);
GPUTAP_ARRAY(not_counted, unsigned long long, 1); /* bytes for which the grid has no thread */

static unsigned long threads_of_grid(void)
{
	unsigned long long blocks[3], threads[3];

	bpf_get_grid_dim(&blocks[0], &blocks[1], &blocks[2]);
	bpf_get_block_dim(&threads[0], &threads[1], &threads[2]);
	return blocks[0] * blocks[1] * blocks[2] * threads[0] * threads[1] * threads[2];
}

SEC("gpu/run")
long count_bytes(unsigned char *memory, unsigned long size)
{
	unsigned long thread = bpf_flat_thread_id(), threads = threads_of_grid();
	unsigned int first = 0;

	/* In each step, threads that are neighbors read bytes that are neighbors. */
	for (unsigned int step = 0; step < CHUNK; step++) {
		unsigned long at = thread + step * threads;
		unsigned int value;

		if (at >= size)
			return 0;
		value = memory[at];
		bpf_map_add(&counts, &value, 1);
	}
	if (!thread && size > threads * CHUNK)
		bpf_map_add(&not_counted, &first, size - threads * CHUNK);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
