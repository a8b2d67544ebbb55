/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often each function was called, how often it failed, and how long it took. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/durations.h"
#include "event/event.h"
#include "names/names.h"

struct gt_count {
	const char *name;    /* of the function; belongs to the analysis */
	uint64_t calls;      /* that returned or were abandoned */
	uint64_t errors;     /* that returned an error */
	uint64_t unfinished; /* that were abandoned */
	uint64_t total_ns;   /* of those that returned */
	uint64_t max_ns;
	uint64_t durations[GT_DURATION_BUCKETS]; /* those that returned, by duration */
};

struct gt_counts_analysis;

struct gt_counts_analysis *gt_counts_new(void);
void gt_counts_free(struct gt_counts_analysis *counts);
GT_DEFINE_AUTO(counts, struct gt_counts_analysis, gt_counts_free)

/* Take a `call` event, or the totals so far of a function (`sums`). 0 or -ENOMEM. */
int gt_counts_take(struct gt_counts_analysis *counts, const struct gt_names *names,
		   const struct gt_event *event);
/* The rows so far, longest total time first; they are valid until the next call. 0 or -ENOMEM. */
int gt_counts_rows(struct gt_counts_analysis *counts, const struct gt_count **ret_rows,
		   size_t *ret_count);
/*
 * Return the duration that `fraction` (0 to 1) of the calls do not exceed, in ns, at most 13 % off;
 * 0 if none returned.
 */
uint64_t gt_count_quantile(const struct gt_count *row, double fraction);
