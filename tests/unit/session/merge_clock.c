/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Times of one machine on the clock of another. */
#include "session/merge_clock.h"
#include "tap.h"

#define SECOND 1000000000ull

static gt_clock_samples samples;

static void begin(const struct gt_clock_sample *given, size_t count)
{
	gt_vec_free(&samples);
	samples = (gt_clock_samples){0};
	for (size_t i = 0; i < count; i++)
		gt_vec_push(&samples, given[i]);
	gt_clock_samples_finish(&samples);
}

#define BEGIN(...)                                                                                 \
	begin((const struct gt_clock_sample[]){__VA_ARGS__},                                       \
	      sizeof((const struct gt_clock_sample[]){__VA_ARGS__}) /                              \
		      sizeof(struct gt_clock_sample))

TEST("one sample shifts all times alike")
{
	BEGIN({10 * SECOND, 5000});
	CHECK_INT(gt_clock_wall_time(&samples, 1), 5001);
	CHECK_INT(gt_clock_wall_time(&samples, 20 * SECOND), 20 * SECOND + 5000);
	CHECK_INT(gt_clock_time_of(&samples, 5001), 1);
	CHECK_INT(gt_clock_time_of(&samples, 20 * SECOND + 5000), 20 * SECOND);
}

TEST("a drift is interpolated between samples, which need not be sorted, and ends with them")
{
	BEGIN({20 * SECOND, 1003000}, {10 * SECOND, 1000000});
	CHECK_INT(gt_clock_wall_time(&samples, 5 * SECOND), 5 * SECOND + 1000000);
	CHECK_INT(gt_clock_wall_time(&samples, 10 * SECOND), 10 * SECOND + 1000000);
	CHECK_INT(gt_clock_wall_time(&samples, 15 * SECOND), 15 * SECOND + 1001500);
	CHECK_INT(gt_clock_wall_time(&samples, 20 * SECOND), 20 * SECOND + 1003000);
	CHECK_INT(gt_clock_wall_time(&samples, 30 * SECOND), 30 * SECOND + 1003000);
}

TEST("the time of a wall time is the inverse, within a nanosecond")
{
	BEGIN({10 * SECOND, 1700000000 * SECOND}, {20 * SECOND, 1700000000 * SECOND + 9000000},
	      {30 * SECOND, 1700000000 * SECOND + 1000000});
	for (uint64_t time = 1; time < 40 * SECOND; time += 777777777) {
		uint64_t again = gt_clock_time_of(&samples, gt_clock_wall_time(&samples, time));

		CHECK(again + 1 >= time && again <= time + 1);
	}
}

TEST("times stay in their order where clocks drift")
{
	uint64_t before = 0;

	BEGIN({10 * SECOND, 9000000}, {20 * SECOND, 0}, {30 * SECOND, 9000000});
	for (uint64_t time = 9 * SECOND; time < 31 * SECOND; time += 999983) {
		uint64_t wall = gt_clock_wall_time(&samples, time);

		CHECK(wall > before);
		before = wall;
	}
}

TEST("where the wall clock was set, its later time holds for all earlier times")
{
	BEGIN({10 * SECOND, 100 * SECOND}, {20 * SECOND, 100 * SECOND + 2000},
	      {30 * SECOND, 50 * SECOND}, {40 * SECOND, 50 * SECOND + 1000});
	CHECK_INT(gt_clock_wall_time(&samples, 30 * SECOND), 80 * SECOND);
	CHECK_INT(gt_clock_wall_time(&samples, 25 * SECOND), 75 * SECOND);
	CHECK_INT(gt_clock_wall_time(&samples, 10 * SECOND), 60 * SECOND - 2000);
	CHECK_INT(gt_clock_wall_time(&samples, 45 * SECOND), 95 * SECOND + 1000);
}

TEST("a wall time before the machine was booted is its first nanosecond")
{
	BEGIN({10 * SECOND, 100 * SECOND});
	CHECK_INT(gt_clock_time_of(&samples, 7 * SECOND), 1);
	gt_vec_free(&samples);
}

TEST_MAIN
