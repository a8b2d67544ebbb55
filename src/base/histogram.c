/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BITS 5

_Static_assert(GT_HISTOGRAM_STEPS == 1 << STEP_BITS, "a step is a bit pattern");

/*
 * Group 0 holds 0 … 31, one each; group 1 32 … 63; group g > 1 2^(g+4) … 2^(g+5) - 1. So each
 * group except the first is a power of two.
 */
static unsigned group_of(uint64_t value)
{
	return value < GT_HISTOGRAM_STEPS ? 0 : 63 - STEP_BITS + 1 - __builtin_clzll(value);
}

static unsigned step_of(uint64_t value, unsigned group)
{
	return (group > 1 ? value >> (group - 1) : value) & (GT_HISTOGRAM_STEPS - 1);
}

/* Returns the middle of a bucket. */
static uint64_t value_of(unsigned group, unsigned step)
{
	uint64_t width = group > 1 ? 1ull << (group - 1) : 1;
	uint64_t first = group ? (GT_HISTOGRAM_STEPS + (uint64_t)step) * width : step;

	return first + (width - 1) / 2;
}

static int make_group(struct gt_histogram *histogram, unsigned group)
{
	if (!histogram->buckets[group])
		histogram->buckets[group] = calloc(GT_HISTOGRAM_STEPS, sizeof(uint64_t));
	return histogram->buckets[group] ? 0 : -ENOMEM;
}

static void count(struct gt_histogram *histogram, uint64_t min, uint64_t max, uint64_t sum,
		  uint64_t number)
{
	if (!histogram->count || min < histogram->min)
		histogram->min = min;
	if (max > histogram->max)
		histogram->max = max;
	if (__builtin_add_overflow(histogram->sum, sum, &histogram->sum))
		histogram->sum = UINT64_MAX;
	histogram->count += number;
}

int gt_histogram_add(struct gt_histogram *histogram, uint64_t value)
{
	unsigned group = group_of(value);
	int error = make_group(histogram, group);

	if (error)
		return error;
	histogram->buckets[group][step_of(value, group)]++;
	count(histogram, value, value, value, 1);
	return 0;
}

int gt_histogram_merge(struct gt_histogram *histogram, const struct gt_histogram *other)
{
	for (unsigned group = 0; group < GT_HISTOGRAM_POWERS; group++)
		if (other->buckets[group] && make_group(histogram, group))
			return -ENOMEM;
	for (unsigned group = 0; group < GT_HISTOGRAM_POWERS; group++)
		for (unsigned step = 0; other->buckets[group] && step < GT_HISTOGRAM_STEPS; step++)
			histogram->buckets[group][step] += other->buckets[group][step];
	if (other->count)
		count(histogram, other->min, other->max, other->sum, other->count);
	return 0;
}

uint64_t gt_histogram_quantile(const struct gt_histogram *histogram, double fraction)
{
	uint64_t wanted = (uint64_t)(fraction * (double)histogram->count), seen = 0, value;

	if (!histogram->count)
		return 0;
	if ((double)wanted < fraction * (double)histogram->count)
		wanted++;
	if (wanted <= 1)
		return histogram->min;
	if (wanted >= histogram->count)
		return histogram->max;
	for (unsigned group = 0; group < GT_HISTOGRAM_POWERS; group++) {
		for (unsigned step = 0; histogram->buckets[group] && step < GT_HISTOGRAM_STEPS;
		     step++) {
			seen += histogram->buckets[group][step];
			if (seen < wanted)
				continue;
			value = value_of(group, step);
			if (value < histogram->min)
				return histogram->min;
			return value > histogram->max ? histogram->max : value;
		}
	}
	return histogram->max;
}

uint64_t gt_histogram_mean(const struct gt_histogram *histogram)
{
	return histogram->count ? histogram->sum / histogram->count : 0;
}

uint64_t gt_histogram_power(const struct gt_histogram *histogram, unsigned power)
{
	unsigned group = power < STEP_BITS ? 0 : power - STEP_BITS + 1;
	uint64_t number = 0;
	unsigned first = 0, end = GT_HISTOGRAM_STEPS;

	if (group >= GT_HISTOGRAM_POWERS || !histogram->buckets[group])
		return 0;
	if (!group) {
		first = power ? 1u << power : 0;
		end = 2u << power;
	}
	for (unsigned step = first; step < end; step++)
		number += histogram->buckets[group][step];
	return number;
}

/* The values of a bucket. */
static double bucket_count(const struct gt_histogram *histogram, unsigned group, unsigned step)
{
	return histogram->buckets[group] ? (double)histogram->buckets[group][step] : 0;
}

double gt_histogram_rank_test(const struct gt_histogram *left, const struct gt_histogram *right)
{
	double lefts = (double)left->count, rights = (double)right->count, all = lefts + rights;
	double below = 0, u = 0, ties = 0, variance, distance;

	for (unsigned group = 0; group < GT_HISTOGRAM_POWERS; group++) {
		if (!left->buckets[group] && !right->buckets[group])
			continue;
		for (unsigned step = 0; step < GT_HISTOGRAM_STEPS; step++) {
			double a = bucket_count(left, group, step),
			       b = bucket_count(right, group, step), tied = a + b;

			u += a * (below + b / 2);
			below += b;
			ties += tied * tied * tied - tied;
		}
	}
	if (!left->count || !right->count)
		return 1;
	variance = lefts * rights / 12 * (all + 1 - ties / (all * (all - 1)));
	distance = fabs(u - lefts * rights / 2) - 0.5;
	return variance > 0 && distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

void gt_histogram_free(struct gt_histogram *histogram)
{
	for (unsigned group = 0; group < GT_HISTOGRAM_POWERS; group++)
		free(histogram->buckets[group]);
	memset(histogram, 0, sizeof(*histogram));
}
