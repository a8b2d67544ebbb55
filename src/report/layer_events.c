/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of a layer source that has none of its own: its events, and the processes. */
#include "analysis/layer_events.h"

#include <errno.h>

#include "report/report.h"
#include "report/stat.h"

static int layer_events_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_layer_events_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int layer_events_event(void *state, const struct gt_names *names,
			      const struct gt_event *event)
{
	return gt_layer_events_take(state, event);
}

static void put_rate(struct gt_table *table, uint64_t count, uint64_t ns)
{
	gt_strbuf_printf(gt_table_cell(table), "%.1f/s",
			 ns ? (double)count * 1e9 / (double)ns : 0.0);
	gt_table_end_cell(table);
}

/* Whether the table has a column of errors: the last one. */
static bool can_fail(const struct gt_layer_event_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].can_fail)
			return true;
	return false;
}

static void put_events(struct gt_layer_events *events, const struct gt_report_options *options,
		       uint64_t ns, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"EVENT", true},        {"COUNT", false}, {"RATE", false},
		{"TOTAL", false, true}, {"MEAN", false},  {"P50", false},
		{"P99", false},         {"MAX", false},   {"ERRORS", false},
	};
	size_t count;
	const struct gt_layer_event_row *rows = gt_layer_events_rows(events, &count);
	bool has_errors = can_fail(rows, count);
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns) - !has_errors);
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_table_text(&table, rows[i].name);
		gt_table_number(&table, rows[i].count);
		put_rate(&table, rows[i].count, ns);
		gt_report_put_durations(&table, &rows[i].durations);
		if (rows[i].durations.count)
			gt_table_duration(&table, rows[i].durations.max);
		else
			gt_table_text(&table, "-");
		if (has_errors)
			gt_table_number(&table, rows[i].errors);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
}

static void put_processes(struct gt_layer_events *events, const struct gt_report_options *options,
			  const struct gt_names *names, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"COUNT", false}, {"TOTAL", false}};
	size_t count;
	const struct gt_layer_process_row *rows = gt_layer_events_processes(events, &count);
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		if (rows[i].process)
			gt_label_process(gt_table_cell(&table), names, rows[i].process);
		else
			gt_strbuf_putc(gt_table_cell(&table), '-');
		gt_table_end_cell(&table);
		gt_table_number(&table, rows[i].count);
		if (rows[i].total_ns)
			gt_table_duration(&table, rows[i].total_ns);
		else
			gt_table_text(&table, "-");
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
}

static int layer_events_put_text(void *state, const struct gt_report_options *options,
				 const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	uint64_t start = gt_names_start_time(names);
	size_t count;

	gt_layer_events_rows(state, &count);
	if (!count) {
		gt_strbuf_puts(text, "No events.\n");
		return 0;
	}
	put_events(state, options, now > start ? now - start : 0, text);
	gt_strbuf_putc(text, '\n');
	put_processes(state, options, names, text);
	return 0;
}

static int layer_events_put_json(void *state, const struct gt_report_options *options,
				 const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	size_t count;
	const struct gt_layer_event_row *rows = gt_layer_events_rows(state, &count);
	const struct gt_layer_process_row *processes;

	gt_json_array_begin(json, "events");
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", rows[i].name);
		gt_json_u64(json, "count", rows[i].count);
		if (rows[i].can_fail)
			gt_json_u64(json, "errors", rows[i].errors);
		if (rows[i].durations.count) {
			gt_json_u64(json, "total", rows[i].durations.sum);
			gt_report_json_durations(json, "duration", &rows[i].durations);
		}
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	processes = gt_layer_events_processes(state, &count);
	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, processes[i].process,
				       gt_names_process(names, processes[i].process));
		gt_json_u64(json, "count", processes[i].count);
		gt_json_u64(json, "errors", processes[i].errors);
		gt_json_u64(json, "total", processes[i].total_ns);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void layer_events_close(void *state)
{
	gt_layer_events_free(state);
}

const struct gt_report gt_report_layer_events = {
	.name = "layer_events",
	.open = layer_events_open,
	.event = layer_events_event,
	.put_text = layer_events_put_text,
	.put_json = layer_events_put_json,
	.close = layer_events_close,
};
