/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The relation of a GPU's clock (%globaltimer) to CLOCK_MONOTONIC: one line, host = a + b * gpu,
 * from what cause and effect require of it. No moment is known on both clocks. But a launching
 * call begins before the first instruction of its kernel, and the last instruction of a kernel is
 * executed before a call that waits for it returns:
 *
 *	host time before GPU time    the line is not below this point
 *	GPU time before host time    the line is not above this point
 *
 * All lines between the two sets of points are possible (their convex hulls bound them: Duda et
 * al., "Estimating global time in distributed systems", 1987). The fit is the one in the middle,
 * and its error bound is the distance to the outermost ones. Points that contradict each other are
 * counted; no point is changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct gt_clock_point {
	int64_t gpu, host; /* ns after those of the first point */
};

struct gt_clock_points {
	GT_VEC(struct gt_clock_point) items;
	uint64_t count; /* ever added */
};

struct gt_clock_fit {
	/* Set by the caller: the GPU's clock advances in steps of so many ns, at least 1. */
	uint64_t step;

	/* Results of gt_clock_fit_solve. */
	int64_t offset;         /* GPU's clock - CLOCK_MONOTONIC at the first point, ns */
	double drift;           /* ppm by which the GPU's clock is fast */
	double error;           /* the bound of the line's error between the points, ns */
	double drift_error;     /* the same of the drift, ppm */
	uint64_t violations;    /* points that contradict the fit; the bounds are void then */
	double worst_violation; /* ns */

	uint64_t ignored; /* points that are decades from the first one */

	/* Internal. */
	struct gt_clock_points before, after; /* whose host time, or GPU time, is the earlier one */
	uint64_t first_gpu, first_host;
	int64_t earliest, latest; /* GPU times of points */
	double a, c;              /* host - gpu = a + c * gpu, relative to the first point */
};

enum {
	GT_CLOCK_FIT_MAX_DRIFT = 1000, /* ppm: the crystals of computers are better than this */
};

/* A zeroed fit is empty. */
void gt_clock_fit_clear(struct gt_clock_fit *fit);

/* Add what is known: `host`, on CLOCK_MONOTONIC, was before `gpu`, or after it. 0 or -ENOMEM. */
int gt_clock_fit_add_before(struct gt_clock_fit *fit, uint64_t host, uint64_t gpu);
int gt_clock_fit_add_after(struct gt_clock_fit *fit, uint64_t gpu, uint64_t host);

/*
 * Compute the results. 0; -ENODATA: there are no points of one of the two kinds, so that the offset
 * is not bounded; -ENOMEM.
 */
int gt_clock_fit_solve(struct gt_clock_fit *fit);
/* The host's time of a GPU time, by the solved fit. */
uint64_t gt_clock_fit_host(const struct gt_clock_fit *fit, uint64_t gpu);
