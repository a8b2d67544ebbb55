/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often each function was called, how often it failed, and how long it took. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"
#include "names/names.h"

struct gt_count {
	const char *name;    /* of the function; belongs to the analysis */
	uint64_t calls;      /* that returned or were left */
	uint64_t errors;     /* that returned an error */
	uint64_t unfinished; /* that were left */
	uint64_t total_ns;   /* of those that returned */
	uint64_t max_ns;
};

struct gt_counts_analysis;

struct gt_counts_analysis *gt_counts_new(void);
void gt_counts_free(struct gt_counts_analysis *counts);
GT_DEFINE_AUTO(counts, struct gt_counts_analysis, gt_counts_free)

/* 0 or -ENOMEM. */
int gt_counts_take(struct gt_counts_analysis *counts, const struct gt_names *names,
		   const struct gt_event *event);
/* The rows, longest total time first; they belong to the analysis, which takes no events then. */
const struct gt_count *gt_counts_rows(struct gt_counts_analysis *counts, size_t *ret_count);
