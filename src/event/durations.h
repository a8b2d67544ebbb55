/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The buckets in which durations are counted in the kernel: four for each power of two, so a bucket
 * is at most a quarter wider than its lower bound. Shared with BPF: included after __u64 is
 * defined.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GT_DURATION_BUCKETS 160 /* up to 2^41 ns, about 36 minutes; the last one has all above */

/*
 * Return the position of the highest bit that is set; 0 for 0. Without branches, of which verifiers
 * would examine each combination: the sign of -(value >> step) is that of a value with higher bits.
 */
static inline __u64 gt_highest_bit(__u64 value)
{
	__u64 bit = 0;

#pragma GCC unroll 6
	for (int log = 5; log >= 0; log--) {
		__u64 more = (0 - (value >> (1 << log))) >> 63 << log;

		value >>= more;
		bit += more;
	}
	return bit;
}

/* Return the bucket of a duration in ns, below GT_DURATION_BUCKETS. */
static inline __u32 gt_duration_bucket(__u64 duration)
{
	__u64 power, bucket;

	if (duration < 4)
		return duration;
	power = gt_highest_bit(duration);
	bucket = (power - 1) * 4 + ((duration >> (power - 2)) & 3);
	return bucket < GT_DURATION_BUCKETS ? bucket : GT_DURATION_BUCKETS - 1;
}

/* Return the shortest duration in a bucket, in ns. */
static inline __u64 gt_duration_of_bucket(__u32 bucket)
{
	return bucket < 4 ? bucket : (__u64)(4 + (bucket & 3)) << (bucket / 4 - 1);
}
