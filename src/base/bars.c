/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/bars.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	MAX_BAR = 40, /* characters */
};

static void put_bar(struct gt_strbuf *text, unsigned power, uint64_t count, uint64_t max,
		    bool is_open)
{
	unsigned length = (unsigned)((double)count * MAX_BAR / (double)max);
	char last[24] = "";

	if (!is_open)
		snprintf(last, sizeof(last), "%" PRIu64, (UINT64_C(2) << power) - 1);
	gt_strbuf_printf(text, "%12" PRIu64 " .. %-12s %8" PRIu64, power ? UINT64_C(1) << power : 0,
			 last, count);
	gt_strbuf_puts(text, count ? "  " : "");
	/* What occurs has a bar. */
	for (unsigned i = 0; i < length || (count && !i); i++)
		gt_strbuf_putc(text, '#');
	gt_strbuf_putc(text, '\n');
}

void gt_put_bars(struct gt_strbuf *text, const uint64_t *counts, unsigned size, bool open_end)
{
	unsigned first = 0, end = size;
	uint64_t max = 0;

	for (unsigned power = 0; power < size; power++)
		if (counts[power] > max)
			max = counts[power];
	while (first < end && !counts[first])
		first++;
	while (end > first && !counts[end - 1])
		end--;
	for (unsigned power = first; power < end; power++)
		put_bar(text, power, counts[power], max, open_end && power + 1 == size);
}
