/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts at every kind of site, to see that programs run as without. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(counts, unsigned long long, 16);

#define COUNT(section, name, number)                                                               \
	SEC(section)                                                                               \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		unsigned int key = number;                                                         \
                                                                                                   \
		bpf_map_add(&counts, &key, 1);                                                     \
		return 0;                                                                          \
	}

/* clang-format off */
COUNT("gpu/entry/*", entry, 0)
COUNT("gpu/exit/*", end, 1)
COUNT("gpu/block_begin", block, 2)
COUNT("gpu/load", load, 3)
COUNT("gpu/store", store, 4)
COUNT("gpu/atomic", atomic, 5)
COUNT("gpu/barrier", barrier, 6)
COUNT("gpu/branch", branch, 7)
COUNT("gpu/loop", loop, 8)
COUNT("gpu/call/*", call, 9)
COUNT("gpu/return/*", back, 10)
COUNT("gpu/load.warp", loads, 11)
/* clang-format on */

char LICENSE[] SEC("license") = "GPL";
