/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue of records between the reader of the ring and the writer of the output. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "failing_alloc.h"
#include "session/spill.h"
#include "tap.h"

#define MIB (1u << 20)

static struct taken {
	uint64_t records, next, wrong;
} taken;

/* Records have the numbers 0, 1, 2 … in all of their words. */
static void put(struct gt_spill *spill, uint64_t number, size_t words)
{
	uint64_t record[GT_SPILL_MAX_RECORD / sizeof(uint64_t)];

	for (size_t i = 0; i < words; i++)
		record[i] = number;
	gt_spill_put(spill, record, words * sizeof(uint64_t));
}

static size_t words_of_record(uint64_t number)
{
	return 1 + (number * 7919) % (GT_SPILL_MAX_RECORD / sizeof(uint64_t));
}

static void take(void *context, void *record, size_t size)
{
	const uint64_t *words = record;

	taken.wrong +=
		size != words_of_record(taken.next) * sizeof(uint64_t) || (uintptr_t)record % 8;
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		taken.wrong += words[i] != taken.next;
	taken.next++;
	taken.records++;
}

static void take_all(struct gt_spill *spill)
{
	while (gt_spill_take(spill, take, NULL))
		;
}

TEST("records come out whole and in their order")
{
	gt_auto(spill) struct gt_spill *spill = gt_spill_new(64 * MIB);

	taken = (struct taken){0};
	for (uint64_t i = 0; i < 1000; i++)
		put(spill, i, words_of_record(i));
	take_all(spill);
	CHECK_INT(taken.records, 1000);
	CHECK_INT(taken.wrong, 0);
	CHECK(!gt_spill_take(spill, take, NULL));
	CHECK_INT(taken.records, 1000);
	CHECK(gt_spill_peak(spill) > 30 * MIB);
}

struct producer {
	struct gt_spill *spill;
	uint64_t records;
	atomic_bool done;
};

static void *produce(void *context)
{
	struct producer *producer = context;

	for (uint64_t i = 0; i < producer->records; i++)
		put(producer->spill, i, words_of_record(i));
	atomic_store(&producer->done, true);
	return NULL;
}

static void pass_between_threads(uint64_t limit)
{
	gt_auto(spill) struct gt_spill *spill = gt_spill_new(limit);
	struct producer producer = {.spill = spill, .records = 5000};
	pthread_t thread;

	taken = (struct taken){0};
	CHECK_INT(pthread_create(&thread, NULL, produce, &producer), 0);
	while (!atomic_load(&producer.done))
		take_all(spill);
	pthread_join(thread, NULL);
	take_all(spill);
	CHECK_INT(taken.records, producer.records);
	CHECK_INT(taken.wrong, 0);
	CHECK(gt_spill_peak(spill) <= (limit < 2 * MIB ? 2 * MIB : limit));
}

TEST("one thread appends while another one takes, and the memory is bounded")
{
	pass_between_threads(8 * MIB);
}

TEST("the smallest queue has two pieces")
{
	pass_between_threads(0);
}

TEST("as many takes as there are pieces pass all that wait, not what is appended meanwhile")
{
	gt_auto(spill) struct gt_spill *spill = gt_spill_new(8 * MIB);
	uint64_t appended, waiting;

	taken = (struct taken){0};
	for (appended = 0; gt_spill_pieces(spill) < 4; appended++)
		put(spill, appended, words_of_record(appended));
	waiting = appended;
	for (size_t pieces = gt_spill_pieces(spill); pieces; pieces--, appended++) {
		gt_spill_take(spill, take, NULL);
		put(spill, appended, words_of_record(appended));
	}
	CHECK(taken.records >= waiting);
	CHECK(taken.records < appended);
	take_all(spill);
	CHECK_INT(taken.records, appended);
	CHECK_INT(taken.wrong, 0);
}

TEST("where memory is short, the queue works with what it has")
{
	gt_auto(spill) struct gt_spill *spill = gt_spill_new(8 * MIB);

	taken = (struct taken){0};
	fail_all_allocations();
	for (uint64_t i = 0; i < 300; i++) {
		put(spill, i, words_of_record(i));
		take_all(spill);
	}
	CHECK(stop_failing() > 0);
	CHECK_INT(taken.records, 300);
	CHECK_INT(taken.wrong, 0);
	CHECK_INT(gt_spill_peak(spill), 2 * MIB);
}

TEST("a queue that cannot be allocated is no queue")
{
	for (uint64_t number = 0; number < 3; number++) {
		fail_allocation(number);
		CHECK(!gt_spill_new(MIB));
		CHECK_INT(stop_failing(), 1);
	}
}

TEST_MAIN
