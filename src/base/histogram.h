/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The histogram of the house: counts of numbers of any size in fixed memory. Buckets are linear
 * within each power of two (32 of them), so a quantile is off by 1/64 at most; numbers below 64
 * are kept exactly. Memory grows with the powers of two that occur, 256 bytes each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GT_HISTOGRAM_STEPS 32 /* buckets a power of two */
#define GT_HISTOGRAM_POWERS 60

struct gt_histogram {
	uint64_t count;
	uint64_t sum; /* stays at UINT64_MAX once it is reached */
	uint64_t least, greatest;
	uint64_t *buckets[GT_HISTOGRAM_POWERS]; /* NULL: nothing there */
};

/* A histogram that is all zeros is empty. 0 or -ENOMEM, and then nothing was counted. */
int gt_histogram_add(struct gt_histogram *histogram, uint64_t value);
/* Adds what another one counted. */
int gt_histogram_merge(struct gt_histogram *histogram, const struct gt_histogram *other);
/* The value that `fraction` (0 to 1) of the counted ones do not exceed; 0 if there are none. */
uint64_t gt_histogram_quantile(const struct gt_histogram *histogram, double fraction);
/* The mean; 0 if nothing was counted. */
uint64_t gt_histogram_mean(const struct gt_histogram *histogram);
/* How many were at least 2^power and below 2^(power + 1); 0 counts as 2^0. */
uint64_t gt_histogram_power(const struct gt_histogram *histogram, unsigned power);
/* Gives the memory back; the histogram is empty then. */
void gt_histogram_free(struct gt_histogram *histogram);
