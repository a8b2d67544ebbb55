/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/bars.h"

#include <inttypes.h>

#include "base/text.h"

enum {
	MAX_BAR = 40,     /* characters */
	BOUND_WIDTH = 12, /* of the bounds of a row */
};

struct bars {
	struct gt_strbuf *text;
	uint64_t max; /* of the counts */
	bool are_times;
};

static void put_spaces(struct gt_strbuf *text, size_t used)
{
	for (; used < BOUND_WIDTH; used++)
		gt_strbuf_putc(text, ' ');
}

/* "µs" has fewer characters than bytes. */
static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

static void put_time_bounds(struct gt_strbuf *text, unsigned power)
{
	gt_auto_strbuf from = GT_STRBUF_INIT, to = GT_STRBUF_INIT;

	if (power)
		gt_format_duration(&from, UINT64_C(1) << power);
	gt_format_duration(&to, power < 63 ? UINT64_C(2) << power : UINT64_MAX);
	put_spaces(text, count_characters(gt_strbuf_string(&from)));
	gt_strbuf_printf(text, "%s .. %s", gt_strbuf_string(&from), gt_strbuf_string(&to));
	put_spaces(text, count_characters(gt_strbuf_string(&to)));
}

static void put_bounds(struct gt_strbuf *text, unsigned power, bool is_open)
{
	uint64_t from = power ? UINT64_C(1) << power : 0;

	if (is_open)
		gt_strbuf_printf(text, "%*" PRIu64 " and up%*s", BOUND_WIDTH, from, BOUND_WIDTH - 3,
				 "");
	else
		gt_strbuf_printf(text, "%*" PRIu64 " .. %-*" PRIu64, BOUND_WIDTH, from, BOUND_WIDTH,
				 (UINT64_C(2) << power) - 1);
}

static void put_bar(const struct bars *bars, unsigned power, uint64_t count, bool is_open)
{
	unsigned length = (unsigned)((double)count * MAX_BAR / (double)bars->max);

	if (bars->are_times)
		put_time_bounds(bars->text, power);
	else
		put_bounds(bars->text, power, is_open);
	gt_strbuf_printf(bars->text, " %8" PRIu64 "%s", count, count ? "  " : "");
	/* What occurs has a bar. */
	for (unsigned i = 0; i < length || (count && !i); i++)
		gt_strbuf_putc(bars->text, '#');
	gt_strbuf_putc(bars->text, '\n');
}

static void put_bars(struct bars *bars, const uint64_t *counts, unsigned size, bool open_end)
{
	unsigned first = 0, end = size;

	for (unsigned power = 0; power < size; power++)
		if (counts[power] > bars->max)
			bars->max = counts[power];
	while (first < end && !counts[first])
		first++;
	while (end > first && !counts[end - 1])
		end--;
	for (unsigned power = first; power < end; power++)
		put_bar(bars, power, counts[power], open_end && power + 1 == size);
}

void gt_put_bars(struct gt_strbuf *text, const uint64_t *counts, unsigned size, bool open_end)
{
	struct bars bars = {.text = text};

	put_bars(&bars, counts, size, open_end);
}

void gt_put_time_bars(struct gt_strbuf *text, const uint64_t counts[64])
{
	struct bars bars = {.text = text, .are_times = true};

	put_bars(&bars, counts, 64, false);
}
