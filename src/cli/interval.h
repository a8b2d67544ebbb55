/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * When a command prints what it has so far: every --interval, and when SIGUSR1 arrives. Intervals
 * count from the start of the session, as --duration does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_report_interval {
	uint64_t length;   /* ns; 0: none */
	uint64_t duration; /* of the session, ns; 0: no limit. No interval ends then or later. */
	uint64_t next;     /* end of the current interval; 0: not known yet */
	bool requested;    /* SIGUSR1 arrived before the last look */
	int signals;       /* readable when SIGUSR1 came; -1: not begun */
};

/* Before the session is opened: from now on, SIGUSR1 does not end gputap. */
void gt_interval_prepare(struct gt_report_interval *interval);
/* Take SIGUSR1 from now on: after the command was started, which does not inherit this. */
void gt_interval_begin(struct gt_report_interval *interval);
/*
 * Whether an interval is over at a time; *ret_end is its end. `start` is that of the session.
 * Intervals that passed without a call of this function are one.
 */
bool gt_interval_is_over(struct gt_report_interval *interval, uint64_t start, uint64_t now,
			 uint64_t *ret_end);
/*
 * Whether SIGUSR1 came before the last call, since which all events before the signal were read
 * (gt_session's `idle`); one that came after it is reported by the next call.
 */
bool gt_interval_is_requested(struct gt_report_interval *interval);
void gt_interval_end(struct gt_report_interval *interval);
