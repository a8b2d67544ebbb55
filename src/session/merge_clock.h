/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The CLOCK_MONOTONIC of a machine in relation to that of another, by CLOCK_REALTIME: from all
 * `clock` events of the machine's captures. Between two of them the difference of its clocks is
 * interpolated, so that a drift is corrected; before the first and after the last one it is theirs.
 * A difference that changes faster than clocks are slewed (1000 ppm) is a step: CLOCK_REALTIME was
 * set, and what it has been since then holds for all earlier times, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct gt_clock_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t wall; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

typedef GT_VEC(struct gt_clock_sample) gt_clock_samples;

/* Sort samples and remove steps from them, before they are used. */
void gt_clock_samples_finish(gt_clock_samples *samples);
/* CLOCK_REALTIME at a time. There must be a sample. */
uint64_t gt_clock_wall_time(const gt_clock_samples *samples, uint64_t time);
/* The time at which CLOCK_REALTIME was `wall`; 1 if it was before 1. There must be a sample. */
uint64_t gt_clock_time_of(const gt_clock_samples *samples, uint64_t wall);
