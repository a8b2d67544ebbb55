/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/counts.h"

#include "analysis.h"

static struct gt_counts_analysis *counts;
static const struct gt_count *rows;
static size_t row_count;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_counts_take(analysis, names, event);
}

static void start(void)
{
	gt_counts_free(counts);
	counts = gt_counts_new();
	STREAM_INTO(counts, take);
}

static void look(void)
{
	CHECK_INT(gt_counts_rows(counts, &rows, &row_count), 0);
}

/* The totals so far of a function, with its calls in two buckets. */
static void feed_sums(uint32_t function, uint64_t short_calls, uint64_t long_calls)
{
	uint64_t durations[GT_DURATION_BUCKETS] = {0};
	struct gt_event_sums *event;

	durations[gt_duration_bucket(1000)] = short_calls;
	durations[gt_duration_bucket(64000)] = long_calls;
	event = (void *)gt_event_new(GT_EVENT_sums, (const char *)durations,
				     (gt_duration_bucket(64000) + 1) * sizeof(*durations));
	event->function = function;
	event->errors = 1;
	event->unfinished = 2;
	event->total = short_calls * 1000 + long_calls * 64000;
	event->longest = 64000;
	feed_event(&event->head);
	free(event);
}

TEST("the buckets of durations follow each other without a gap, a quarter wide at most")
{
	for (uint32_t i = 0; i + 1 < GT_DURATION_BUCKETS; i++) {
		uint64_t first = gt_duration_of_bucket(i), next = gt_duration_of_bucket(i + 1);

		CHECK(first < next);
		CHECK(i < 4 || 4 * (next - first) <= first);
		CHECK_INT(gt_duration_bucket(first), i);
		CHECK_INT(gt_duration_bucket(next - 1), i);
	}
	CHECK_INT(gt_duration_bucket(UINT64_MAX), GT_DURATION_BUCKETS - 1);
}

TEST("quantiles are at most 13 % off")
{
	start();
	for (uint64_t i = 1; i <= 1000; i++) {
		stream.duration = i * 1000;
		launch(0xaaa, 1, 32, 0, 0);
	}
	look();
	CHECK_INT(row_count, 1);
	CHECK(gt_count_quantile(rows, 0.5) > 500000 * 0.87);
	CHECK(gt_count_quantile(rows, 0.5) < 500000 * 1.13);
	CHECK(gt_count_quantile(rows, 0.99) > 990000 * 0.87);
	CHECK(gt_count_quantile(rows, 0.99) <= 1000000);
	CHECK(gt_count_quantile(rows, 1) > 1000000 * 0.87);
}

TEST("the quantiles of one call are its duration, and the last of few is the longest")
{
	start();
	stream.duration = 28999;
	launch(0xaaa, 1, 32, 0, 0);
	look();
	CHECK_INT(gt_count_quantile(rows, 0.5), 28999);
	CHECK_INT(gt_count_quantile(rows, 0.99), 28999);
	stream.duration = 40000;
	launch(0xaaa, 1, 32, 0, 0);
	look();
	CHECK(gt_count_quantile(rows, 0.5) < 33000);
	CHECK_INT(gt_count_quantile(rows, 0.99), 40000);
}

TEST("totals of the kernel replace earlier ones")
{
	start();
	feed_sums(7, 10, 0);
	feed_sums(7, 90, 10);
	feed_sums(8, 1, 0);
	look();
	CHECK_INT(row_count, 2);
	CHECK_INT(rows[0].calls, 102);
	CHECK_INT(rows[0].unfinished, 2);
	CHECK_INT(rows[0].errors, 1);
	CHECK_INT(rows[0].total_ns, 90 * 1000 + 10 * 64000);
	CHECK_INT(rows[0].max_ns, 64000);
	CHECK(gt_count_quantile(&rows[0], 0.5) < 2000);
	CHECK(gt_count_quantile(&rows[0], 0.99) > 50000);
}

TEST("a function of which no call returned has quantiles of 0")
{
	start();
	feed_sums(7, 0, 0);
	look();
	CHECK_INT(rows[0].calls, 2);
	CHECK_INT(gt_count_quantile(&rows[0], 0.5), 0);
}

TEST_MAIN
