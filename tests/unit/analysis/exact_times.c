/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exact times of kernels: grids are matched to launches whose intervals contain them. */
#include "analysis/exact_times.h"

#include <errno.h>

#include "base/vec.h"
#include "tap.h"

enum {
	US = 1000,
	MS = 1000000,
	MAX_LAUNCHES = 128,
};
#define OFFSET ((uint64_t)-5000000123456) /* clock of the context - GPU's timer */
#define HOST 9000000000000ull             /* CLOCK_MONOTONIC - clock of the context */

static struct gt_exact_launch launches[MAX_LAUNCHES];
static uint64_t firsts[MAX_LAUNCHES], lasts[MAX_LAUNCHES]; /* that are right; 0: none */
static size_t launch_count;
static struct gt_exact_times *times;
static struct gt_exact_clock clock_of_context;
static uint64_t next_id;

static void begin(void)
{
	gt_exact_times_free(times);
	times = gt_exact_times_new();
	clock_of_context =
		(struct gt_exact_clock){.host_offset = (int64_t)HOST, .host_error = 20 * US};
	launch_count = 0;
	next_id = 1;
}

/* A grid, on the clock of the context, whose record arrives in the poll of 5 ms after its end. */
static void put_grid(uint64_t id, uint32_t kernel, uint64_t first, uint64_t last)
{
	uint64_t poll = (last + HOST) / (5 * MS) * (5 * MS);
	const struct gt_exact_grid grid = {
		.launch = id,
		.first = first - OFFSET,
		.last = last - OFFSET,
		.not_before = poll,
		.not_after = poll + 5 * MS,
		.kernel = kernel,
	};

	CHECK_INT(gt_exact_times_add(times, &grid), 0);
}

static void put_launch(uint64_t function, uint64_t start, uint64_t end, uint64_t first,
		       uint64_t last)
{
	launches[launch_count] = (struct gt_exact_launch){
		.start = start,
		.end = end,
		.submitted = start + HOST,
		.returned = start + HOST + US,
		.function = function,
		.is_settled = true,
	};
	firsts[launch_count] = first;
	lasts[launch_count++] = last;
}

/* A launch of a kernel and its grid, some time after the event before it and before the one after.
 */
static void put_both(uint32_t kernel, uint64_t start, uint64_t end, uint64_t before, uint64_t after)
{
	put_grid(next_id++, kernel, start + before, end - after);
	put_launch(1000 + kernel, start, end, start + before, end - after);
}

/* Match them, and compare with what is right. Returns how many are exact. */
static size_t match(void)
{
	size_t exact = 0;

	gt_exact_times_match(times, &clock_of_context, launches, launch_count);
	for (size_t i = 0; i < launch_count; i++) {
		const struct gt_exact_launch *launch = &launches[i];

		CHECK_INT(launch->is_exact, firsts[i] != 0);
		if (!launch->is_exact)
			continue;
		exact++;
		CHECK(launch->first + launch->error >= firsts[i] &&
		      launch->first <= firsts[i] + launch->error);
		CHECK(launch->last + launch->error >= lasts[i] &&
		      launch->last <= lasts[i] + launch->error);
		CHECK(launch->start <= launch->first && launch->last <= launch->end);
	}
	launch_count = 0;
	return exact;
}

TEST("the grids of a stream are those of its launches, to some microseconds")
{
	begin();
	for (uint64_t i = 0; i < 50; i++)
		put_both(7, 10 * MS + i * MS, 10 * MS + i * MS + 900 * US, (3 + i % 40) * US,
			 (2 + i % 33) * US);
	CHECK_INT(match(), 50);
	CHECK(launches[0].error < 5 * US);
	/* The offset is known now: a single launch is as exact. */
	put_both(8, 90 * MS, 95 * MS, 4 * MS, 500 * US);
	CHECK_INT(match(), 1);
	CHECK(launches[0].error < 5 * US);
}

TEST("grids without a launch, of graphs and of streams in capture, are those of no launch")
{
	begin();
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t start = 10 * MS + i * MS;

		put_grid(next_id++, 1, start, start + 90 * US);
		put_both(2, start + 100 * US, start + 300 * US, 5 * US, 4 * US);
		put_grid(next_id++, 1, start + 310 * US, start + 400 * US);
	}
	CHECK_INT(match(), 40);
}

TEST("launches of kernels that are not patched have no grid")
{
	begin();
	for (uint64_t i = 0; i < 10; i++)
		put_launch(77, MS + i * 100 * US, MS + i * 100 * US + 20 * US, 0, 0);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t start = 10 * MS + i * MS;

		put_both(2, start, start + 300 * US, 5 * US, 4 * US);
		put_launch(77, start + 310 * US, start + 330 * US, 0, 0);
	}
	CHECK_INT(match(), 20);
}

TEST("launches in two streams that overlap are matched by their kernels and the order of launches")
{
	begin();
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t start = 10 * MS + i * 10 * MS;

		/* The second one waits for the first. */
		put_both(1, start, start + 2 * MS, 20 * US, 30 * US);
		put_both(2, start + 10 * US, start + 4 * MS, 2 * MS, 20 * US);
		/* Of one kernel. */
		put_both(3, start + 5 * MS, start + 8 * MS, 20 * US, MS);
		put_both(3, start + 5 * MS + 10 * US, start + 8 * MS + 10 * US, 2 * MS, 20 * US);
	}
	CHECK_INT(match(), 80);
}

TEST("a function is not matched to grids of another function's kernel")
{
	begin();
	put_both(1, 10 * MS, 11 * MS, 5 * US, 5 * US);
	put_both(2, 12 * MS, 13 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 2);
	/* The record of kernel 1 was lost. */
	put_launch(1001, 20 * MS, 23 * MS, 0, 0);
	put_both(2, 20 * MS + 10 * US, 22 * MS, 50 * US, 10 * US);
	launches[1].function = 1002;
	/* A handle that was never seen is that of a new kernel, or of one of several handles. */
	CHECK_INT(match(), 1);
}

TEST("launches by several threads at a time that could change grids are not exact")
{
	begin();
	put_both(1, 2 * MS, 3 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 1);
	put_both(1, 10 * MS, 18 * MS, MS, 5 * MS);
	put_both(1, 10 * MS + 10 * US, 18 * MS + 10 * US, 4 * MS, 2 * MS);
	launches[0].returned += 100 * US;
	firsts[0] = firsts[1] = 0;
	CHECK_INT(match(), 0);
	/* Not if one of them has no room for the other one's grid. */
	put_both(1, 20 * MS, 22 * MS, MS, 50 * US);
	put_both(1, 20 * MS + 10 * US, 28 * MS, 4 * MS, 2 * MS);
	launches[0].returned += 100 * US;
	CHECK_INT(match(), 2);
}

TEST("a launch is final when it is settled, and until then may have another grid")
{
	begin();
	put_both(1, 2 * MS, 3 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 1);
	/* Launched first, and reported last. */
	put_grid(next_id++, 1, 11 * MS, 12 * MS);
	put_both(1, 10 * MS + 10 * US, 18 * MS, 4 * MS, 2 * MS);
	launches[0].is_settled = false;
	firsts[0] = 0;
	CHECK_INT(match(), 0);
	put_launch(1001, 10 * MS, 19 * MS, 11 * MS, 12 * MS);
	put_launch(1001, 10 * MS + 10 * US, 18 * MS, 14 * MS + 10 * US, 16 * MS);
	CHECK_INT(match(), 2);
}

TEST("an offset that proves wrong is searched for again")
{
	uint64_t offset;

	begin();
	put_both(1, 10 * MS, 11 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 1);
	offset = 3 * MS;
	clock_of_context.lowest += (int64_t)offset;
	clock_of_context.highest += (int64_t)offset;
	put_both(1, 20 * MS, 21 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 1);
}

/* The start of one of many grids, each of 50 us. */
static uint64_t start_of(uint64_t number)
{
	return 20 * MS + number * 100 * US;
}

static void put_launch_of(uint64_t number, bool is_kept)
{
	uint64_t first = start_of(number), last = first + 50 * US;

	put_launch(1002, first - 5 * US, last + 5 * US, is_kept ? first : 0, is_kept ? last : 0);
}

TEST("of more grids without a launch than 18432, the last 16384 are kept and the first are not")
{
	begin();
	put_both(1, 10 * MS, 11 * MS, 5 * US, 5 * US);
	CHECK_INT(match(), 1);
	for (uint64_t i = 0; i < 20000; i++)
		put_grid(next_id++, 2, start_of(i), start_of(i) + 50 * US);
	put_launch_of(0, false);
	put_launch_of(20000 - 16384, true);
	put_launch_of(19999, true);
	CHECK_INT(match(), 2);
}

TEST("values from a hostile process do no harm, and are errors where they are impossible")
{
	const uint64_t values[] = {0, 1, INT64_MAX, UINT64_MAX / 2 + 2, UINT64_MAX};
	struct gt_exact_grid grid = {.first = 2, .last = 1};

	begin();
	CHECK_INT(gt_exact_times_add(times, &grid), -EINVAL);
	for (size_t i = 0; i < 625; i++) {
		grid = (struct gt_exact_grid){
			.launch = values[i % 5],
			.first = values[i / 5 % 5],
			.last = values[i / 25 % 5],
			.not_after = values[i / 125],
		};
		CHECK_INT(gt_exact_times_add(times, &grid),
			  (int64_t)(grid.last - grid.first) < 0 ? -EINVAL : 0);
		launches[0] = (struct gt_exact_launch){.start = values[i / 125],
						       .end = values[i / 25 % 5],
						       .function = values[i % 5],
						       .is_settled = true};
		clock_of_context.host_offset = (int64_t)values[i / 5 % 5];
		clock_of_context.host_error = values[i % 5];
		gt_exact_times_match(times, &clock_of_context, launches, 1);
	}
	/* Many grids that nothing is matched to. */
	for (uint64_t i = 0; i < 100000; i++)
		put_grid(i, 1, OFFSET + MS, OFFSET + 2 * MS);
	begin();
}

TEST_MAIN
