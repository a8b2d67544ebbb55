/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The clock of a context's events, whose differences are those of cuEventElapsedTime, in relation
 * to CLOCK_MONOTONIC. At first its offset is taken as constant: the middle of what its first
 * moments allow. Once there are moments over a second, they are fitted to a line. A clock that does
 * not advance as time does, such as a virtual one, has no line: then the offset stays, and
 * differences of times are exact.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/clock_fit.h"
#include "base/vec.h"

/* A time of the clock, ns, which was between two times of CLOCK_MONOTONIC. */
struct gt_context_moment {
	uint64_t gpu, before, after;
};

/* Zeroed, it has no moments. */
struct gt_context_clock {
	bool is_used;    /* set by the caller once it has converted a time: the offset is final */
	bool is_virtual; /* its moments contradict CLOCK_MONOTONIC */
	/* Internal. */
	GT_VEC(struct gt_context_moment) moments;
	int64_t lowest, highest, offset; /* CLOCK_MONOTONIC - clock */
	struct gt_clock_fit fit;
	bool has_line;
};

void gt_context_clock_clear(struct gt_context_clock *clock);
/* Add a moment: before <= after. 0 or -ENOMEM. */
int gt_context_clock_add(struct gt_context_clock *clock, const struct gt_context_moment *moment);
/* A time of the clock on CLOCK_MONOTONIC, and the bound of its error, ns. There is a moment. */
uint64_t gt_context_clock_host(const struct gt_context_clock *clock, uint64_t gpu);
uint64_t gt_context_clock_error(const struct gt_context_clock *clock);
