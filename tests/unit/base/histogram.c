/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "base/bars.h"
#include "base/histogram.h"
#include "base/ranges.h"
#include "tap.h"

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

TEST("bars of times have both bounds, aligned by characters, and the first may have negative times")
{
	const uint64_t counts[64] = {[0] = 1, [2] = 40, [10] = 3, [63] = 1};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const char *line;

	gt_put_time_bars(&text, counts);
	line = gt_strbuf_string(&text);
	CHECK(strstr(line, "             .. 2 ns                1  #\n") == line);
	CHECK(strstr(
		line,
		"        4 ns .. 8 ns               40  ########################################"
		"\n"));
	CHECK(strstr(line, "        8 ns .. 16 ns               0\n"));
	CHECK(strstr(line, "     1.02 µs .. 2.05 µs             3  ###\n"));
}

TEST("an empty histogram has neither mean nor quantiles")
{
	struct gt_histogram histogram = {0};

	CHECK_INT(gt_histogram_mean(&histogram), 0);
	CHECK_INT(gt_histogram_quantile(&histogram, 0.5), 0);
	CHECK_INT(gt_histogram_power(&histogram, 3), 0);
	gt_histogram_free(&histogram);
}

TEST("a histogram stores small values exactly")
{
	struct gt_histogram histogram = {0};

	for (uint64_t value = 1; value <= 63; value++)
		CHECK_INT(gt_histogram_add(&histogram, value), 0);
	CHECK_INT(histogram.count, 63);
	CHECK_INT(histogram.sum, 63 * 64 / 2);
	CHECK_INT(gt_histogram_mean(&histogram), 32);
	CHECK_INT(gt_histogram_quantile(&histogram, 0.5), 32);
	CHECK_INT(gt_histogram_quantile(&histogram, 0), 1);
	CHECK_INT(gt_histogram_quantile(&histogram, 1), 63);
	gt_histogram_free(&histogram);
}

TEST("a histogram's quantiles are off by less than one part in fifty, at any magnitude")
{
	for (unsigned bits = 14; bits <= 63; bits++) {
		struct gt_histogram histogram = {0};
		uint64_t exact = 1ull << bits;

		/* Evenly from 2^bits to twice that: the median lies at 1.5 times it. */
		for (uint64_t i = 0; i < 1000; i++)
			gt_histogram_add(&histogram, exact + exact / 1000 * i);
		CHECK(gt_histogram_quantile(&histogram, 0.5) > exact / 100 * 147);
		CHECK(gt_histogram_quantile(&histogram, 0.5) / 153 < exact / 100);
		CHECK_INT(gt_histogram_power(&histogram, bits), 1000);
		gt_histogram_free(&histogram);
	}
}

TEST("a histogram's extremes are exact")
{
	struct gt_histogram histogram = {0};

	gt_histogram_add(&histogram, 1000003);
	gt_histogram_add(&histogram, 2000003);
	gt_histogram_add(&histogram, UINT64_MAX);
	CHECK_INT(gt_histogram_quantile(&histogram, 0.01), 1000003);
	CHECK(gt_histogram_quantile(&histogram, 0.99) == UINT64_MAX);
	CHECK(histogram.sum == UINT64_MAX);
	gt_histogram_free(&histogram);
}

TEST("values are counted by powers of two")
{
	struct gt_histogram histogram = {0};

	for (uint64_t value = 0; value < 8; value++)
		gt_histogram_add(&histogram, value);
	gt_histogram_add(&histogram, 4095);
	gt_histogram_add(&histogram, 4096);
	CHECK_INT(gt_histogram_power(&histogram, 0), 2);
	CHECK_INT(gt_histogram_power(&histogram, 1), 2);
	CHECK_INT(gt_histogram_power(&histogram, 2), 4);
	CHECK_INT(gt_histogram_power(&histogram, 11), 1);
	CHECK_INT(gt_histogram_power(&histogram, 12), 1);
	CHECK_INT(gt_histogram_power(&histogram, 64), 0);
	gt_histogram_free(&histogram);
}

TEST("merged histograms equal one histogram of all values")
{
	struct gt_histogram both = {0}, left = {0}, right = {0};

	for (int i = 0; i < 1000; i++) {
		uint64_t value = random_number() >> (random_number() % 60);

		gt_histogram_add(&both, value);
		gt_histogram_add(i % 3 ? &left : &right, value);
	}
	CHECK_INT(gt_histogram_merge(&left, &right), 0);
	CHECK_INT(left.count, both.count);
	CHECK(left.sum == both.sum);
	CHECK(left.min == both.min);
	CHECK(left.max == both.max);
	for (int i = 0; i <= 100; i++)
		CHECK(gt_histogram_quantile(&left, i / 100.0) ==
		      gt_histogram_quantile(&both, i / 100.0));
	gt_histogram_free(&left);
	gt_histogram_free(&right);
	gt_histogram_free(&both);
}

TEST("a range is found by its first and last address, and by none outside")
{
	gt_auto(ranges) struct gt_ranges *ranges = gt_ranges_new();
	int a, b;

	CHECK_INT(gt_ranges_add(ranges, 1000, 100, &a), 0);
	CHECK_INT(gt_ranges_add(ranges, 1100, 50, &b), 0);
	CHECK(!gt_ranges_find(ranges, 999));
	CHECK(gt_ranges_find(ranges, 1000)->value == &a);
	CHECK(gt_ranges_find(ranges, 1099)->value == &a);
	CHECK(gt_ranges_find(ranges, 1100)->value == &b);
	CHECK(!gt_ranges_find(ranges, 1150));
	CHECK(gt_ranges_from(ranges, 0)->start == 1000);
	CHECK(gt_ranges_from(ranges, 1100)->start == 1100);
	CHECK(!gt_ranges_from(ranges, 1150));
}

TEST("ranges that overlap, are empty or wrap are rejected")
{
	gt_auto(ranges) struct gt_ranges *ranges = gt_ranges_new();

	CHECK_INT(gt_ranges_add(ranges, 1000, 100, ranges), 0);
	CHECK_INT(gt_ranges_add(ranges, 1000, 100, ranges), -EEXIST);
	CHECK_INT(gt_ranges_add(ranges, 999, 2, ranges), -EEXIST);
	CHECK_INT(gt_ranges_add(ranges, 1099, 1, ranges), -EEXIST);
	CHECK_INT(gt_ranges_add(ranges, 0, 5000, ranges), -EEXIST);
	CHECK_INT(gt_ranges_add(ranges, 5000, 0, ranges), -EINVAL);
	CHECK_INT(gt_ranges_add(ranges, UINT64_MAX, 2, ranges), -EINVAL);
	CHECK_INT(gt_ranges_add(ranges, UINT64_MAX, 1, ranges), 0);
	CHECK_INT(gt_ranges_count(ranges), 2);
}

TEST("ten thousand ranges, added and removed at random, are found as in an array")
{
	enum { SLOTS = 4096 };
	static bool there[SLOTS];
	gt_auto(ranges) struct gt_ranges *ranges = gt_ranges_new();
	size_t count = 0;

	for (int i = 0; i < 10000; i++) {
		uint64_t slot = random_number() % SLOTS;

		if (there[slot]) {
			CHECK(gt_ranges_remove(ranges, slot * 16) == &there[slot]);
			count--;
		} else {
			CHECK_INT(gt_ranges_add(ranges, slot * 16, 10, &there[slot]), 0);
			count++;
		}
		there[slot] = !there[slot];
	}
	CHECK_INT(gt_ranges_count(ranges), count);
	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		const struct gt_range *range = gt_ranges_find(ranges, slot * 16 + 9);

		CHECK(!range == !there[slot]);
		CHECK(!range || range->value == &there[slot]);
		CHECK(!gt_ranges_find(ranges, slot * 16 + 10));
	}
	CHECK(!gt_ranges_remove(ranges, 1));
}

/* Of numbers from `first` on, `step` apart. */
static struct gt_histogram make_range(uint64_t first, uint64_t step, unsigned count)
{
	struct gt_histogram histogram = {0};

	for (unsigned i = 0; i < count; i++)
		CHECK_INT(gt_histogram_add(&histogram, first + i * step), 0);
	return histogram;
}

static bool is_near(double value, double expected)
{
	return value > expected * 0.9999 && value < expected * 1.0001;
}

/* Expected: computed from the ranks (R1 - n1 (n1 + 1) / 2) in another language. */
TEST("the rank test has the p values that its definition gives")
{
	struct gt_histogram low = make_range(1, 1, 10), middle = make_range(6, 1, 10),
			    high = make_range(30, 2, 8), one = make_range(3, 0, 6), none = {0};

	CHECK(is_near(gt_histogram_rank_test(&low, &middle), 0.005075392));
	CHECK(is_near(gt_histogram_rank_test(&middle, &low), 0.005075392));
	CHECK(is_near(gt_histogram_rank_test(&low, &high), 0.000448668));
	CHECK(gt_histogram_rank_test(&low, &low) == 1);
	CHECK(gt_histogram_rank_test(&one, &one) == 1);
	CHECK(gt_histogram_rank_test(&low, &none) == 1);
	CHECK(gt_histogram_rank_test(&none, &none) == 1);
	gt_histogram_free(&low);
	gt_histogram_free(&middle);
	gt_histogram_free(&high);
	gt_histogram_free(&one);
}

TEST_MAIN
