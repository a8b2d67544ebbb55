/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where each thread ran, as structures in a hash; without "cuda" in any name of a function. */
#include "bpftime.h"

struct thread_place {
	u64 sm, warp, lane, block, thread, time;
};

MAP(places, GPU_HASH, 1024, struct thread_place);

SEC("kprobe/plain")
int where_threads_run()
{
	struct thread_place place = {
		.sm = bpf_get_sm_id(),
		.warp = bpf_get_warp_id(),
		.lane = bpf_get_lane_id(),
		.time = bpf_get_globaltimer(),
	};
	u64 y, z;
	u32 key;

	bpf_get_block_idx(&place.block, &y, &z);
	bpf_get_thread_idx(&place.thread, &y, &z);
	key = place.block << 16 | (place.thread & 0xffff);
	bpf_map_update_elem(&places, &key, &place, BPF_ANY);
	return 0;
}

SEC("kprobe/do_unlinkat")
int of_linux(void *ctx)
{
	return 0;
}
