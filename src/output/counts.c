/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "counts": a table of the functions at the end. */
#include <errno.h>
#include <inttypes.h>

#include "analysis/counts.h"
#include "base/text.h"
#include "output/sink.h"

struct counts_output {
	struct gt_sink sink;
	struct gt_counts_analysis *counts;
	bool continued; /* tables were printed before: the last one is headed, too */
};

static int counts_open(const struct gt_output_options *options, void **ret_state,
		       struct gt_diag *diag)
{
	struct counts_output *state = calloc(1, sizeof(*state));
	int error;

	if (state)
		state->counts = gt_counts_new();
	if (!state || !state->counts) {
		free(state);
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	}
	error = gt_sink_open(&state->sink, options, diag);
	if (error) {
		gt_counts_free(state->counts);
		free(state);
		return error;
	}
	*ret_state = state;
	return 0;
}

static int counts_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct counts_output *state = opaque;

	return gt_counts_take(state->counts, names, event);
}

static int counts_flush(void *opaque)
{
	return 0;
}

/* Right-aligned in so many columns; µ is two bytes and one column. */
static void put_duration(struct gt_strbuf *text, uint64_t ns, int width)
{
	gt_auto_strbuf duration = GT_STRBUF_INIT;
	int columns = 0;

	gt_format_duration(&duration, ns);
	for (const char *c = gt_strbuf_string(&duration); *c; c++)
		columns += (*c & 0xc0) != 0x80;
	gt_strbuf_printf(text, "%*s%s", columns < width ? width - columns : 0, "",
			 gt_strbuf_string(&duration));
}

static void put_row(struct gt_strbuf *text, const struct gt_count *row)
{
	uint64_t returned = row->calls - row->unfinished;

	gt_strbuf_printf(text, "%10" PRIu64 " %8" PRIu64, row->calls, row->errors);
	put_duration(text, row->total_ns, 10);
	put_duration(text, returned ? row->total_ns / returned : 0, 10);
	put_duration(text, gt_count_quantile(row, 0.5), 10);
	put_duration(text, gt_count_quantile(row, 0.99), 10);
	put_duration(text, row->max_ns, 10);
	gt_strbuf_printf(text, "  %s", row->name);
	if (row->unfinished)
		gt_strbuf_printf(text, " (%" PRIu64 " unfinished)", row->unfinished);
	gt_strbuf_putc(text, '\n');
}

static int put_table(struct counts_output *state)
{
	const struct gt_count *rows;
	size_t count;

	if (gt_counts_rows(state->counts, &rows, &count))
		return -ENOMEM;
	gt_strbuf_printf(&state->sink.text, "%10s %8s%10s%10s%10s%10s%10s  %s\n", "CALLS", "ERRORS",
			 "TOTAL", "MEAN", "P50", "P99", "MAX", "FUNCTION");
	for (size_t i = 0; i < count; i++)
		put_row(&state->sink.text, &rows[i]);
	return 0;
}

/* All calls so far, not those of an interval. */
static int counts_report(void *opaque, uint64_t since)
{
	struct counts_output *state = opaque;
	int error;

	gt_strbuf_printf(&state->sink.text, "After %" PRIu64 ".%03u s:\n", since / 1000000000,
			 (unsigned)(since % 1000000000 / 1000000));
	error = put_table(state);
	gt_strbuf_putc(&state->sink.text, '\n');
	state->continued = true;
	return error ? error : gt_sink_flush(&state->sink);
}

static int counts_close(void *opaque, struct gt_diag *diag)
{
	struct counts_output *state = opaque;
	int error, closed;

	if (state->continued)
		gt_strbuf_puts(&state->sink.text, "At the end:\n");
	error = put_table(state);
	closed = gt_sink_close(&state->sink, diag);
	gt_counts_free(state->counts);
	free(state);
	return closed ? closed : error;
}

const struct gt_output gt_output_counts = {
	.name = "counts",
	.help = "a table of calls, errors and times by function",
	.open = counts_open,
	.event = counts_event,
	.flush = counts_flush,
	.report = counts_report,
	.close = counts_close,
};
