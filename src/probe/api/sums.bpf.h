/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of each function, counted in place of records of them. */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "probe/api/shared.bpf.h"
#include "probe/durations.bpf.h"

static const struct gt_call_sums no_calls;

/* The sums with a key (gt_plan.sums) on this CPU; NULL: out of memory, and the caller counts the
 * call as lost.
 */
static __always_inline struct gt_call_sums *sums_of(__u32 key)
{
	struct gt_call_sums *found = bpf_map_lookup_elem(&sums, &key);

	if (found)
		return found;
	(void)bpf_map_update_elem(&sums, &key, &no_calls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sums, &key);
}

/* Another thread may run this program on the same CPU in between: everything is added atomically.
 */
static __always_inline long add_returned_call(struct gt_call_sums *calls, __u64 duration,
					      bool failed)
{
	__u32 bucket = bucket_of_duration(duration);
	__u64 longest;

	if (!calls)
		return -1;
	barrier_var(bucket);
	if (bucket >= GT_DURATION_BUCKETS)
		return -1;
	__sync_fetch_and_add(&calls->durations[bucket], 1);
	__sync_fetch_and_add(&calls->total, duration);
	if (failed)
		__sync_fetch_and_add(&calls->errors, 1);
	for (int i = 0; i < 4; i++) {
		longest = calls->longest;
		if (longest >= duration ||
		    __sync_val_compare_and_swap(&calls->longest, longest, duration) == longest)
			break;
	}
	return 0;
}

static __always_inline void add_unfinished_call(__u32 function)
{
	struct gt_plan *plan = bpf_map_lookup_elem(&plans, &function);
	struct gt_call_sums *calls = plan ? sums_of(plan->sums) : NULL;

	if (calls)
		__sync_fetch_and_add(&calls->unfinished, 1);
}
