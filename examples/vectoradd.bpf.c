/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds two vectors, each thread one element. The memory is the vectors a, b and c of equal length,
 * of which a and b are the input:
 *
 *	gputap gpurun --grid 4 --block 256 --mem-file in --mem-out out vectoradd.bpf.o
 */
#include <gputap/bpf.h>

SEC("gpu/run")
long add(unsigned int *memory, unsigned long size)
{
	unsigned long length = size / (3 * sizeof(*memory)), i = bpf_flat_thread_id();
	unsigned int *a = memory, *b = memory + length, *c = memory + 2 * length;

	if (i < length)
		c[i] = a[i] + b[i];
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
