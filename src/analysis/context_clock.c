/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/context_clock.h"

#include <errno.h>

#include "base/clock.h"

enum {
	MAX_MOMENTS = 64, /* then every second one is forgotten */
	STEP_NS = 500,    /* the resolution of events that CUDA documents */
};

#define DRIFTS_AFTER_NS GT_SECOND_NS /* earlier, the drift is less than its error */

void gt_context_clock_clear(struct gt_context_clock *clock)
{
	gt_vec_free(&clock->moments);
	gt_clock_fit_clear(&clock->fit);
	*clock = (struct gt_context_clock){0};
}

static void forget_every_second(struct gt_context_clock *clock)
{
	size_t kept = 0;

	for (size_t i = 0; i < clock->moments.count; i += 2)
		clock->moments.items[kept++] = clock->moments.items[i];
	clock->moments.count = kept;
}

static int fit_line(struct gt_context_clock *clock)
{
	int error = 0;

	gt_clock_fit_clear(&clock->fit);
	clock->fit.step = STEP_NS;
	gt_vec_each (moment, &clock->moments)
		if (gt_clock_fit_add_before(&clock->fit, moment->before, moment->gpu) ||
		    gt_clock_fit_add_after(&clock->fit, moment->gpu, moment->after))
			error = -ENOMEM;
	if (!error)
		error = gt_clock_fit_solve(&clock->fit);
	clock->has_line = !error && !clock->fit.violations;
	clock->is_virtual |= !error && clock->fit.violations;
	return error;
}

/* Whether a moment differs from the earlier ones by more than any clock's drift. */
static bool is_beyond_drift(const struct gt_context_clock *clock,
			    const struct gt_context_moment *moment, int64_t lowest, int64_t highest)
{
	uint64_t first = clock->moments.items[0].gpu;
	uint64_t elapsed = moment->gpu > first ? moment->gpu - first : 0;
	int64_t drift = (int64_t)(elapsed / (1000000 / GT_CLOCK_FIT_MAX_DRIFT)) + STEP_NS;

	return lowest - clock->highest > drift || clock->lowest - highest > drift;
}

/* What a moment allows the offset to be, while it is taken as constant. */
static void bound_offset(struct gt_context_clock *clock, const struct gt_context_moment *moment)
{
	int64_t lowest = (int64_t)(moment->before - moment->gpu),
		highest = (int64_t)(moment->after - moment->gpu);

	if (clock->moments.count == 1) {
		clock->lowest = lowest;
		clock->highest = highest;
	} else if (is_beyond_drift(clock, moment, lowest, highest)) {
		clock->is_virtual = true;
	} else if (lowest <= clock->highest && highest >= clock->lowest) {
		clock->lowest = lowest > clock->lowest ? lowest : clock->lowest;
		clock->highest = highest < clock->highest ? highest : clock->highest;
	}
	clock->offset = clock->lowest + (clock->highest - clock->lowest) / 2;
}

int gt_context_clock_add(struct gt_context_clock *clock, const struct gt_context_moment *moment)
{
	uint64_t first;

	if (clock->moments.count == MAX_MOMENTS)
		forget_every_second(clock);
	if (gt_vec_push(&clock->moments, *moment))
		return -ENOMEM;
	if (!clock->is_used)
		bound_offset(clock, moment);
	first = clock->moments.items[0].gpu;
	if (moment->gpu > first && moment->gpu - first >= DRIFTS_AFTER_NS)
		return fit_line(clock);
	return 0;
}

/* The furthest that the constant offset is from what the moments allow. */
static uint64_t offset_error(const struct gt_context_clock *clock)
{
	int64_t error = 0;

	gt_vec_each (moment, &clock->moments) {
		int64_t below = (int64_t)(moment->after - moment->gpu) - clock->offset,
			above = clock->offset - (int64_t)(moment->before - moment->gpu);
		int64_t outside = below < above ? -below : -above;
		int64_t inside = clock->highest - clock->offset;

		if (outside > error)
			error = outside;
		if (inside > error)
			error = inside;
	}
	return (uint64_t)error + STEP_NS;
}

uint64_t gt_context_clock_host(const struct gt_context_clock *clock, uint64_t gpu)
{
	return clock->has_line ? gt_clock_fit_host(&clock->fit, gpu)
			       : gpu + (uint64_t)clock->offset;
}

uint64_t gt_context_clock_error(const struct gt_context_clock *clock)
{
	return clock->has_line ? (uint64_t)clock->fit.error + STEP_NS : offset_error(clock);
}
