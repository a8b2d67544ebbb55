/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/cycle_clock.h"

#include <errno.h>

#include "base/clock.h"
#include "tap.h"

TEST("a clock of cycles has the times that it is fitted to, and those between and after them")
{
	/* 2.5 GHz, for 1 s. */
	struct gt_cycle_time first = {1000000007, 500}, last = {3500000007, 1000000500};
	struct gt_cycle_clock clock;

	CHECK_INT(gt_cycle_clock_fit(&first, &last, &clock), 0);
	CHECK_INT(gt_cycle_clock_ns(&clock, first.ticks), 500);
	/* The rate is rounded down. */
	CHECK(last.time - gt_cycle_clock_ns(&clock, last.ticks) <= 1);
	CHECK(500000500 - gt_cycle_clock_ns(&clock, 2250000007) <= 1);
	/* A day later, the rate's last bit is less than a microsecond. */
	CHECK(86400000000500 - gt_cycle_clock_ns(&clock, 216001000000007) <= 1000);
}

TEST("times that do not advance, or by less than a tick per nanosecond, have no clock")
{
	struct gt_cycle_time first = {1000, 1000};
	struct gt_cycle_time others[] = {{1000, 2000}, {2000, 1000}, {900, 2000},
					 {3000, 900},  {2000, 2000}, {1999, 2000}};
	struct gt_cycle_clock clock = {.rate = 7};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK_INT(gt_cycle_clock_fit(&first, &others[i], &clock), -EINVAL);
	CHECK_INT(clock.rate, 7);
}

TEST("both clocks are read between readings of each")
{
	uint64_t ticks, time;
	struct gt_cycle_time now;

	if (!gt_cycle_clock_exists())
		SKIP("there is no counter of cycles with a constant rate");
	ticks = gt_cycle_ticks();
	time = gt_clock_monotonic();
	now = gt_cycle_time();
	CHECK(now.time >= time);
	CHECK(now.ticks >= ticks);
	CHECK(now.time <= gt_clock_monotonic());
	CHECK(now.ticks <= gt_cycle_ticks());
}

TEST_MAIN
