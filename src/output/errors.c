/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "errors": calls that failed, and what else is odd. */
#include "analysis/errors.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/findings.h"
#include "base/text.h"
#include "output/report.h"
#include "output/stack.h"

struct state {
	struct gt_report_options options;
	struct gt_errors *errors;
	struct gt_findings *findings;
};

static void errors_close(void *opaque)
{
	struct state *state = opaque;

	gt_errors_free(state->errors);
	gt_findings_free(state->findings);
	free(state);
}

static int errors_open(const struct gt_report_options *options, void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->options = *options;
	state->errors = gt_errors_new(options->by);
	state->findings = gt_findings_new();
	if (!state->errors || !state->findings) {
		errors_close(state);
		return -ENOMEM;
	}
	*ret_state = state;
	return 0;
}

static int errors_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct state *state = opaque;
	int error = gt_errors_take(state->errors, names, event);

	return error ? error : gt_findings_take(state->findings, names, event);
}

static const struct gt_column columns[] = {
	{"COUNT", false}, {"FUNCTION", true}, {"ERROR", true}, {"", true},
	{"PID", false},   {"PROCESS", true},  {"BY", true},
};

static void put_row(struct gt_table *table, const struct gt_names *names, enum gt_by by,
		    const struct gt_error *row)
{
	gt_table_number(table, row->count);
	gt_table_text(table, row->function);
	gt_table_text(table, row->result);
	gt_table_text(table, row->sticky ? "sticky" : "");
	gt_table_number(table, row->process);
	gt_put_printable(gt_table_cell(table), row->process_name);
	gt_table_end_cell(table);
	gt_report_put_group(table, names, by, &row->group);
}

static void put_finding(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_finding *finding)
{
	gt_strbuf_putc(text, '\n');
	gt_strbuf_printf(text, "%" PRIu32 " ", finding->process);
	gt_put_printable(text, finding->process_name);
	gt_strbuf_puts(text, ": ");
	gt_put_printable(text, finding->evidence);
	gt_strbuf_puts(text, ".\n");
	gt_put_stack(text, names, finding->process, finding->stack, 2);
	gt_strbuf_printf(text, "  %s\n", finding->advice);
}

static int errors_text(void *opaque, const struct gt_names *names, uint64_t now,
		       struct gt_strbuf *text)
{
	struct state *state = opaque;
	/* A row is one process's anyhow. */
	enum gt_by by = state->options.by == GT_BY_PROCESS ? GT_BY_NOTHING : state->options.by;
	struct gt_column shown[gt_countof(columns)];
	const struct gt_error *const *rows;
	const struct gt_finding *findings;
	struct gt_table table;
	size_t count;
	int error = gt_errors_rows(state->errors, &rows, &count);

	if (error)
		return error;
	if (!count)
		gt_strbuf_puts(text, "No call failed.\n");
	gt_table_begin(&table, shown, gt_report_columns(columns, gt_countof(columns), by, shown));
	for (size_t i = 0; i < count && gt_report_shows(state->options.top, i); i++)
		put_row(&table, names, by, rows[i]);
	if (count)
		gt_table_put(&table, text);
	else
		gt_strbuf_free(&table.cells);
	gt_report_put_rest(text, state->options.top, count);
	error = gt_findings_rows(state->findings, &findings, &count);
	for (size_t i = 0; !error && i < count && gt_report_shows(state->options.top, i); i++)
		put_finding(text, names, &findings[i]);
	if (!error && count)
		gt_strbuf_putc(text, '\n');
	return error;
}

static void json_error(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		       const struct gt_error *row)
{
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "function", row->function);
	gt_json_string(json, "error", row->result);
	gt_json_bool(json, "sticky", row->sticky);
	gt_json_u64(json, "pid", row->process);
	gt_json_string(json, "process", row->process_name);
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "first", row->first);
	gt_json_u64(json, "last", row->last);
	if (by != GT_BY_PROCESS) {
		struct gt_group group = row->group;

		group.process = 0; /* it stands above */
		if (by == GT_BY_STACK)
			gt_json_stack(json, "stack", names, row->process, row->stack);
		else
			gt_report_json_group(json, names, by, &group);
	}
	gt_json_object_end(json);
}

static void json_finding(struct gt_json *json, const struct gt_names *names,
			 const struct gt_finding *finding)
{
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "finding", finding->name);
	gt_json_u64(json, "pid", finding->process);
	gt_json_string(json, "process", finding->process_name);
	if (finding->function)
		gt_json_string(json, "function", finding->function);
	else
		gt_json_null(json, "function");
	gt_json_stack(json, "stack", names, finding->process, finding->stack);
	gt_json_u64(json, "count", finding->count);
	gt_json_u64(json, "bytes", finding->bytes);
	gt_json_u64(json, "time", finding->ns);
	gt_json_string(json, "evidence", finding->evidence);
	gt_json_string(json, "advice", finding->advice);
	gt_json_object_end(json);
}

static int errors_json(void *opaque, const struct gt_names *names, uint64_t now,
		       struct gt_json *json)
{
	struct state *state = opaque;
	const struct gt_error *const *rows;
	const struct gt_finding *findings;
	size_t count;
	int error = gt_errors_rows(state->errors, &rows, &count);

	if (error)
		return error;
	gt_json_string(json, "by", gt_by_name(state->options.by));
	gt_json_array_begin(json, "errors");
	for (size_t i = 0; i < count && gt_report_shows(state->options.top, i); i++)
		json_error(json, names, state->options.by, rows[i]);
	gt_json_array_end(json);
	error = gt_findings_rows(state->findings, &findings, &count);
	if (error)
		return error;
	gt_json_array_begin(json, "findings");
	for (size_t i = 0; i < count && gt_report_shows(state->options.top, i); i++)
		json_finding(json, names, &findings[i]);
	gt_json_array_end(json);
	return 0;
}

const struct gt_report gt_report_errors = {
	.name = "errors",
	.open = errors_open,
	.event = errors_event,
	.put_text = errors_text,
	.put_json = errors_json,
	.close = errors_close,
};
