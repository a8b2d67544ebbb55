/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of a layer source, shared by its BPF programs and user space: one per CPU. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

struct gt_layer_counts {
	__u64 recorded;  /* events in the ring */
	__u64 lost;      /* events that were dropped (ring full) */
	__u64 unsampled; /* events that sampling (--sample) omitted, on purpose */
	/* What a full map had no room for: beginnings, whose end cannot be matched, and names. */
	__u64 evicted;
	__u64 unattributed; /* events whose process is not known, omitted for that */
	__u64 names_lost;   /* `process` events that were dropped (ring full) */
	/* Entries of LRU maps that were added and removed: those that are not there any more, and
	 * were not removed, were evicted. */
	__u64 lru_added, lru_removed;
	/* Events at which their program did not run (recursion), handled by another program. */
	__u64 recovered;
};

#define GT_MAX_SAMPLED 8 /* kinds of events of one source (probe/sample.h) */
#define GT_SAMPLE_ALL                                                                              \
	(1ull << 32) /* of random 32-bit numbers, those below the rate are recorded                \
		      */
