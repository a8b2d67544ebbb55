/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts at every kind of site, to see that programs run as without. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(counts, unsigned long long, 16);

#define COUNT(name, number)                                                                        \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		unsigned int key = number;                                                         \
                                                                                                   \
		bpf_map_add(&counts, &key, 1);                                                     \
		return 0;                                                                          \
	}

SEC("gpu/entry/*")
COUNT(entry, 0) SEC("gpu/exit/*") COUNT(end, 1) SEC("gpu/block_begin") COUNT(block, 2)
	SEC("gpu/load") COUNT(load, 3) SEC("gpu/store") COUNT(store, 4) SEC("gpu/atomic")
		COUNT(atomic, 5) SEC("gpu/barrier") COUNT(barrier, 6) SEC("gpu/branch")
			COUNT(branch, 7) SEC("gpu/loop") COUNT(loop, 8) SEC("gpu/call/*")
				COUNT(call, 9) SEC("gpu/return/*") COUNT(back, 10)
					SEC("gpu/load.warp") COUNT(loads, 11)

						char LICENSE[] SEC("license") = "GPL";
