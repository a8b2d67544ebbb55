/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The project's histogram of 64-bit values. Each power of two has 32 linear buckets, so the error
 * of a quantile is at most 1/64; values below 64 are exact. Memory: 256 bytes for each power of two
 * that occurs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GT_HISTOGRAM_STEPS 32 /* buckets per power of two */
#define GT_HISTOGRAM_POWERS 60

struct gt_histogram {
	uint64_t count;
	uint64_t sum; /* saturates at UINT64_MAX */
	uint64_t min, max;
	uint64_t *buckets[GT_HISTOGRAM_POWERS]; /* NULL: empty */
};

/* Adds a value. A zeroed histogram is empty. 0; -ENOMEM: it was not added. */
int gt_histogram_add(struct gt_histogram *histogram, uint64_t value);
/* Adds the values of another histogram. 0 or -ENOMEM. */
int gt_histogram_merge(struct gt_histogram *histogram, const struct gt_histogram *other);
/* Returns the value that `fraction` (0 to 1) of the values do not exceed; 0 if it is empty. */
uint64_t gt_histogram_quantile(const struct gt_histogram *histogram, double fraction);
/* Returns the mean; 0 if it is empty. */
uint64_t gt_histogram_mean(const struct gt_histogram *histogram);
/* Returns the number of values from 2^power to 2^(power + 1) - 1; 0 counts as 2^0. */
uint64_t gt_histogram_power(const struct gt_histogram *histogram, unsigned power);
/*
 * Returns the two-sided p value of the Mann-Whitney U test (Mann and Whitney 1947): how likely the
 * values of both would differ so much in rank if they had the same distribution. By the normal
 * approximation with corrections for ties and continuity; values of one bucket are ties. 1 if one
 * is empty, or all values are equal.
 */
double gt_histogram_rank_test(const struct gt_histogram *left, const struct gt_histogram *right);
/* Frees the memory; the histogram is empty afterwards. */
void gt_histogram_free(struct gt_histogram *histogram);
