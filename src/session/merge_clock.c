/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/merge_clock.h"

#include <stdlib.h>

#define MAX_SLEW_PPM 1000
#define MAX_READ_ERROR 1000000 /* ns: the two clocks of a sample are read one after the other */

static int compare_samples(const void *left, const void *right)
{
	const struct gt_clock_sample *one = left, *other = right;

	return (one->time > other->time) - (one->time < other->time);
}

static bool is_step(const struct gt_clock_sample *before, const struct gt_clock_sample *after)
{
	int64_t change = (int64_t)(after->wall - before->wall);
	uint64_t size = change < 0 ? -(uint64_t)change : (uint64_t)change;

	return size > (after->time - before->time) / (1000000 / MAX_SLEW_PPM) + MAX_READ_ERROR;
}

void gt_clock_samples_finish(gt_clock_samples *samples)
{
	uint64_t steps = 0;

	if (samples->count)
		qsort(samples->items, samples->count, sizeof(*samples->items), compare_samples);
	for (size_t i = samples->count; i-- > 1;) {
		struct gt_clock_sample *before = &samples->items[i - 1];
		struct gt_clock_sample after = samples->items[i];

		after.wall -= steps; /* as it was read */
		if (is_step(before, &after))
			steps += after.wall - before->wall;
		before->wall += steps;
	}
}

uint64_t gt_clock_wall_time(const gt_clock_samples *samples, uint64_t time)
{
	const struct gt_clock_sample *after = samples->items;
	const struct gt_clock_sample *end = samples->items + samples->count;
	double part;

	while (after < end && after->time <= time)
		after++;
	if (after == samples->items)
		return time + after->wall;
	if (after == end)
		return time + after[-1].wall;
	part = (double)(time - after[-1].time) / (double)(after->time - after[-1].time);
	return time + after[-1].wall +
	       (uint64_t)(int64_t)(part * (double)(int64_t)(after->wall - after[-1].wall));
}

uint64_t gt_clock_time_of(const gt_clock_samples *samples, uint64_t wall)
{
	int64_t time = (int64_t)(wall - samples->items[0].wall);

	/* The difference changes by less than a thousandth: each step has 3 digits more. */
	for (int i = 0; i < 6; i++) {
		uint64_t at = time > 0 ? (uint64_t)time : 1;

		time -= (int64_t)(gt_clock_wall_time(samples, at) - at + (uint64_t)time - wall);
	}
	return time > 0 ? (uint64_t)time : 1;
}
