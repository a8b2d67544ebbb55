/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counter of cycles of this machine's CPUs, in terms of CLOCK_MONOTONIC: x86-64's time stamp
 * counter, where it has a constant rate in all states of power (Intel SDM, volume 3, 18.17.1) and
 * the process may read it (PR_SET_TSC).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Both clocks at the same time, as nearly as they can be read. */
struct gt_cycle_time {
	uint64_t ticks;
	uint64_t time; /* CLOCK_MONOTONIC in ns */
};

/* Later times are time + ((ticks - start.ticks) * rate >> 64). */
struct gt_cycle_clock {
	struct gt_cycle_time start;
	uint64_t rate; /* ns per tick, in units of 2^-64 */
};

/* Whether there is such a counter. */
bool gt_cycle_clock_exists(void);
/* Only where it exists. */
uint64_t gt_cycle_ticks(void);
struct gt_cycle_time gt_cycle_time(void);
/*
 * The clock through two times; the longer between them, the more exact it is. 0; -EINVAL: the
 * counter does not advance by more than a tick per ns.
 */
int gt_cycle_clock_fit(const struct gt_cycle_time *first, const struct gt_cycle_time *last,
		       struct gt_cycle_clock *ret_clock);
/* Ticks from the start on as CLOCK_MONOTONIC, in ns. */
uint64_t gt_cycle_clock_ns(const struct gt_cycle_clock *clock, uint64_t ticks);
