/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures what the probes of a session cost. The kernel measures BPF programs only on request, and
 * each run takes longer meanwhile, so it does for a part of the time: the first 100 ms, then 40 ms
 * of each second; always with --max-overhead. Totals are extrapolated.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/queue.h"
#include "probe/cost.h"
#include "session/opened.h"

struct gt_overhead {
	bool always;
	bool has_thread; /* one measures the price of a trap */
	pthread_t thread;
	bool denied;               /* the kernel does not measure for this user */
	int stats;                 /* a descriptor while the kernel measures; -1 */
	uint64_t start;            /* of the session */
	uint64_t window, until;    /* begin and end of the current measurement, or of the pause */
	uint64_t measured;         /* ns, without the current measurement */
	struct gt_probe_cost base; /* at its begin */
	struct gt_probe_cost cost; /* in all measurements before */
};

/* Begin, at a time of CLOCK_MONOTONIC. Must be ended, also after an error. */
void gt_overhead_begin(struct gt_overhead *overhead, const gt_opened_list *sources, bool always,
		       uint64_t now);
/* To be called often: begins and ends measurements. */
void gt_overhead_tick(struct gt_overhead *overhead, const gt_opened_list *sources, uint64_t now);
/*
 * Emit an `overhead` event with the cost up to now, before the sources are closed. `hooks` is what
 * the agent's hooks have cost since the beginning; NULL: there are none.
 */
void gt_overhead_emit(struct gt_overhead *overhead, const gt_opened_list *sources,
		      const struct gt_probe_cost *hooks, struct gt_event_queue *events,
		      uint64_t now);
void gt_overhead_end(struct gt_overhead *overhead);

/* The time that a cost takes from the traced processes: programs and traps, ns. */
uint64_t gt_overhead_ns(const struct gt_probe_cost *cost);
