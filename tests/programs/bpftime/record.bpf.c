/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A record of each run of each thread, in one value of 300 MiB that is filled from its end. */
#include "bpftime.h"

#define THREADS 32768
#define RUNS 299

struct run {
	u64 block, thread, time, number;
};

struct recorder {
	u64 missed;
	u64 counts[THREADS];
	struct run runs[RUNS][THREADS];
	u64 last; /* number of the thread that ended last, and 1 */
};

MAP(recorded, GPU_ARRAY, 2, struct recorder);

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int cuda__record()
{
	u64 block, thread, size, y, z, number, count;
	struct recorder *recorder;
	struct run *run;
	u32 key = 1;

	bpf_get_block_idx(&block, &y, &z);
	bpf_get_thread_idx(&thread, &y, &z);
	bpf_get_block_dim(&size, &y, &z);
	recorder = bpf_map_lookup_elem(&recorded, &key);
	if (!recorder)
		return 0;
	number = block * size + thread;
	if (number >= THREADS) {
		recorder->missed++;
		return 0;
	}
	count = recorder->counts[number];
	if (count >= RUNS) {
		recorder->missed++;
		return 0;
	}
	run = &recorder->runs[RUNS - 1 - count][number];
	run->block = block;
	run->thread = thread;
	run->time = bpf_get_globaltimer();
	run->number = number + 1;
	recorder->counts[number] = count + 1;
	recorder->last = number + 1;
	return 0;
}
