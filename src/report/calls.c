/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the sources of API calls in 'gputap stat': calls by function. */
#include <errno.h>

#include "analysis/counts.h"
#include "report/report.h"
#include "report/stat.h"

static int calls_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_counts_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int calls_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_counts_take(state, names, event);
}

static void put_row(struct gt_table *table, const struct gt_count *row)
{
	uint64_t returned = row->calls - row->unfinished;

	gt_table_text(table, row->name);
	gt_table_number(table, row->calls);
	gt_table_number(table, row->errors);
	gt_table_number(table, row->unfinished);
	gt_table_duration(table, row->total_ns);
	gt_table_duration(table, returned ? row->total_ns / returned : 0);
	gt_table_duration(table, gt_count_quantile(row, 0.5));
	gt_table_duration(table, gt_count_quantile(row, 0.99));
	gt_table_duration(table, row->max_ns);
}

static int calls_put_text(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"FUNCTION", true}, {"CALLS", false},
		{"ERRORS", false},  {"UNFINISHED", false, true},
		{"TOTAL", false},   {"MEAN", false},
		{"P50", false},     {"P99", false},
		{"MAX", false},
	};
	const struct gt_count *rows;
	struct gt_table table;
	size_t count;

	if (gt_counts_rows(state, &rows, &count))
		return -ENOMEM;
	if (!count) {
		gt_strbuf_puts(text, "No calls.\n");
		return 0;
	}
	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++)
		put_row(&table, &rows[i]);
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
	return 0;
}

static int calls_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_count *rows;
	size_t count;

	if (gt_counts_rows(state, &rows, &count))
		return -ENOMEM;
	gt_json_array_begin(json, "functions");
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", rows[i].name);
		gt_json_u64(json, "calls", rows[i].calls);
		gt_json_u64(json, "errors", rows[i].errors);
		gt_json_u64(json, "unfinished", rows[i].unfinished);
		gt_json_u64(json, "total", rows[i].total_ns);
		gt_json_u64(json, "p50", gt_count_quantile(&rows[i], 0.5));
		gt_json_u64(json, "p99", gt_count_quantile(&rows[i], 0.99));
		gt_json_u64(json, "max", rows[i].max_ns);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void calls_close(void *state)
{
	gt_counts_free(state);
}

const struct gt_report gt_report_calls = {
	.name = "calls",
	.open = calls_open,
	.event = calls_event,
	.put_text = calls_put_text,
	.put_json = calls_put_json,
	.close = calls_close,
};
