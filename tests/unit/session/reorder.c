/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events in the order of their times. */
#include "session/reorder.h"
#include "tap.h"

/* An event whose process is its number. */
static void put(struct gt_reorder *reorder, uint64_t time, unsigned number)
{
	const struct gt_event event = {.time = time, .process = number, .size = sizeof(event)};

	CHECK_INT(gt_reorder_put(reorder, &event), 0);
}

/* The number of the next event; 0: none. */
static unsigned next(struct gt_reorder *reorder, uint64_t until)
{
	const struct gt_event *event = gt_reorder_next(reorder, until);

	return event ? event->process : 0;
}

TEST("events come in the order of their times, and of one time as they were added")
{
	gt_auto(reorder) struct gt_reorder *reorder = gt_reorder_new();

	put(reorder, 10, 1);
	put(reorder, 30, 2);
	put(reorder, 20, 3);
	put(reorder, 30, 4);
	put(reorder, 5, 5);
	CHECK_INT(gt_reorder_latest(reorder), 30);
	for (unsigned i = 0; i < 5; i++)
		CHECK_INT(next(reorder, UINT64_MAX), ((unsigned[]){5, 1, 3, 2, 4})[i]);
	CHECK_INT(next(reorder, UINT64_MAX), 0);
}

TEST("events after the given time stay")
{
	gt_auto(reorder) struct gt_reorder *reorder = gt_reorder_new();

	put(reorder, 10, 1);
	put(reorder, 20, 2);
	CHECK_INT(next(reorder, 9), 0);
	CHECK_INT(next(reorder, 10), 1);
	CHECK_INT(next(reorder, 19), 0);
	put(reorder, 15, 3);
	CHECK_INT(next(reorder, 19), 3);
	CHECK_INT(next(reorder, 20), 2);
	CHECK_INT(next(reorder, 20), 0);
}

TEST("many events in a random order, added and removed by turns, are sorted")
{
	gt_auto(reorder) struct gt_reorder *reorder = gt_reorder_new();
	uint64_t state = 1, last = 0, taken = 0;

	for (unsigned i = 0; i < 20000; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		/* At most 100 late. */
		put(reorder, 1000 + i * 10 + (state >> 33) % 100, i + 1);
		for (const struct gt_event *event;
		     i >= 20 && (event = gt_reorder_next(reorder, i * 10 + 800));) {
			CHECK(event->time >= last);
			last = event->time;
			taken++;
		}
	}
	while (next(reorder, UINT64_MAX))
		taken++;
	CHECK_INT(taken, 20000);
}

TEST_MAIN
