/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --max-overhead: which sources are traced for a part of the time only, or dropped, so that the
 * probes cost at most a part of the time. Decisions from measurements alone; the session carries
 * them out.
 *
 * The limit may be exceeded for a while: what is not used is saved up to its amount in 2 s, of
 * which the session begins with 1 s. When the savings are spent and the present cost is above the
 * limit, the most expensive source is reduced, then again the most expensive one, until the rest is
 * expected to be below. Nothing is ever restored, so decisions cannot alternate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_BUDGET_MAX_LEVEL 8 /* 1/256 of the time; then a source is dropped */

/* A source. The caller sets the first six fields; the others are zero at first. */
struct gt_budget_item {
	uint64_t cost;      /* ns so far, while it was traced … */
	uint64_t active;    /* … and how long that was, ns */
	uint64_t idle_cost; /* the same while it was paused: hooks stay in place */
	uint64_t idle;
	bool is_fixed;   /* it is never reduced */
	bool can_sample; /* it can be traced for a part of the time */

	unsigned level; /* traced 1 / 2^level of the time */
	bool is_dropped;
	double rate, idle_rate; /* cost / active and idle_cost / idle, as measured last */
	uint64_t last_cost, last_active, last_idle_cost, last_idle;
};

struct gt_budget {
	double limit;  /* part of the time */
	double saved;  /* ns; negative: spent more than permitted */
	double cost;   /* expected part of the time, after the last decisions */
	double before; /* … before them */
	uint64_t last; /* time of the last update */
};

void gt_budget_begin(struct gt_budget *budget, double limit, uint64_t now);

/* Update rates and savings, and reduce items. Returns whether any was reduced. */
bool gt_budget_update(struct gt_budget *budget, struct gt_budget_item *items, size_t count,
		      uint64_t now);

/* "2%", "0.5%" or "2" as a part (0.02). False: it is no percentage above 0. */
bool gt_budget_parse(const char *text, double *ret_limit);
