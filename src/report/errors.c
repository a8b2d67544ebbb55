/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "errors": calls that failed, and what else is odd. */
#include "analysis/errors.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/findings.h"
#include "base/text.h"
#include "event/kinds.h"
#include "output/stack.h"
#include "report/report.h"

#define MAX_FINDINGS 5 /* of a kind, without --top */

struct errors_report {
	struct gt_errors *errors;
	struct gt_findings *findings;
	bool any_call;
};

static void errors_close(void *opaque)
{
	struct errors_report *state = opaque;

	gt_errors_free(state->errors);
	gt_findings_free(state->findings);
	free(state);
}

static int errors_open(const struct gt_report_options *options, void **ret_state)
{
	struct errors_report *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
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
	struct errors_report *state = opaque;
	int error;

	state->any_call |= event->kind == GT_EVENT_call;
	error = gt_errors_take(state->errors, names, event);
	return error ? error : gt_findings_take(state->findings, names, event);
}

static const struct gt_column columns[] = {
	{"COUNT", false}, {"FUNCTION", true}, {"ERROR", true},        {"", true},
	{"PID", false},   {"PROCESS", true},  {"KERNEL", true, true}, {"BY", true},
};

static void put_row(struct gt_table *table, const struct gt_report_labels *labels,
		    const void *opaque)
{
	const struct gt_error *row = opaque;

	gt_table_number(table, row->count);
	gt_table_text(table, row->function);
	gt_table_text(table, row->result);
	gt_table_text(table, row->sticky ? "sticky" : "");
	gt_table_id(table, row->process);
	gt_put_printable(gt_table_cell(table), row->process_name);
	gt_label_container(gt_table_cell(table), labels->names, row->process);
	gt_table_end_cell(table);
	if (row->kernel_name)
		gt_label_kernel(gt_table_cell(table), labels->kernels, row->kernel_name, 0);
	else
		gt_put_printable(gt_table_cell(table), row->kernel ? row->kernel : "");
	gt_table_end_cell(table);
	gt_report_put_group(table, labels, labels->by, &row->group);
}

static void put_finding(struct gt_strbuf *text, const struct gt_report_options *options,
			const struct gt_names *names, const struct gt_finding *finding)
{
	gt_strbuf_putc(text, '\n');
	gt_put_id(text, finding->process);
	gt_strbuf_putc(text, ' ');
	gt_put_printable(text, finding->process_name);
	gt_label_container(text, names, finding->process);
	gt_strbuf_puts(text, ": ");
	gt_put_printable(text, finding->evidence);
	gt_strbuf_puts(text, ".\n");
	gt_put_stack(text, names, finding->process, finding->stack, 2, options->verbose);
	if (finding->stacks > 1)
		gt_strbuf_printf(text, "  … by %" PRIu64 " call stacks, of which this is one\n",
				 finding->stacks);
	gt_strbuf_printf(text, "  %s\n", finding->advice);
}

/* How many findings of the first one's kind there are: rows are sorted by kind. */
static size_t count_kind(const struct gt_finding *findings, size_t count)
{
	size_t same = 0;

	while (same < count && findings[same].kind == findings[0].kind)
		same++;
	return same;
}

static void put_kind(struct gt_strbuf *text, const struct gt_report_options *options,
		     const struct gt_names *names, const struct gt_finding *findings, size_t count)
{
	uint64_t most = options->top ? options->top : MAX_FINDINGS;
	size_t i;

	for (i = 0; i < count && i < most; i++)
		put_finding(text, options, names, &findings[i]);
	if (i < count)
		gt_strbuf_printf(text, "\n… and %zu more finding%s of this kind (%s; --top N)\n",
				 count - i, gt_report_plural(count - i), findings[0].name);
}

static void json_error(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		       const void *opaque)
{
	const struct gt_error *row = opaque;

	gt_json_string(json, "function", row->function);
	gt_json_string(json, "error", row->result);
	gt_json_bool(json, "sticky", row->sticky);
	if (row->kernel)
		gt_json_string(json, "kernel", row->kernel);
	else
		gt_json_null(json, "kernel");
	gt_report_json_process(json, names, row->process, row->process_name);
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "first", row->first);
	gt_json_u64(json, "last", row->last);
	gt_report_json_group(json, names, by, &row->group);
}

static const char *name_of_kernel(const void *row)
{
	return ((const struct gt_error *)row)->kernel_name;
}

static const struct gt_report_rows form = {
	.key = "errors",
	.columns = columns,
	.column_count = gt_countof(columns),
	.group = offsetof(struct gt_error, group),
	.by_process = true,
	.kernel = name_of_kernel,
	.put = put_row,
	.json = json_error,
};

static int errors_text(void *opaque, const struct gt_report_options *options,
		       const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct errors_report *state = opaque;
	const struct gt_error *const *rows;
	const struct gt_finding *findings;
	size_t count;
	int error = gt_errors_rows(state->errors, names, &rows, &count);

	if (error)
		return error;
	if (count)
		gt_report_put_rows(&form, options, names, rows, count, text);
	else
		gt_strbuf_puts(text, !state->any_call    ? "No failed call was seen.\n"
				     : options->captured ? "No recorded call failed.\n"
							 : "No call failed.\n");
	error = gt_findings_rows(state->findings, names, &findings, &count);
	for (size_t i = 0; !error && i < count; i += count_kind(findings + i, count - i))
		put_kind(text, options, names, findings + i, count_kind(findings + i, count - i));
	if (!error && count)
		gt_strbuf_putc(text, '\n');
	return error;
}

static void json_finding(struct gt_json *json, const struct gt_names *names,
			 const struct gt_finding *finding)
{
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "finding", finding->name);
	gt_report_json_process(json, names, finding->process, finding->process_name);
	if (finding->function)
		gt_json_string(json, "function", finding->function);
	else
		gt_json_null(json, "function");
	gt_json_stack(json, "stack", names, finding->process, finding->stack);
	gt_json_u64(json, "stacks", finding->stacks);
	gt_json_u64(json, "count", finding->count);
	gt_json_u64(json, "bytes", finding->bytes);
	gt_json_u64(json, "time", finding->ns);
	gt_json_string(json, "evidence", finding->evidence);
	gt_json_string(json, "advice", finding->advice);
	gt_json_object_end(json);
}

static int errors_json(void *opaque, const struct gt_report_options *options,
		       const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct errors_report *state = opaque;
	const struct gt_error *const *rows;
	const struct gt_finding *findings;
	size_t count;
	int error = gt_errors_rows(state->errors, names, &rows, &count);

	if (error)
		return error;
	gt_report_json_rows(&form, options, names, rows, count, json);
	error = gt_findings_rows(state->findings, names, &findings, &count);
	if (error)
		return error;
	gt_json_array_begin(json, "findings");
	for (size_t i = 0, of_kind = 0; i < count; i++) {
		of_kind = i && findings[i].kind == findings[i - 1].kind ? of_kind + 1 : 0;
		if (gt_report_shows(options->top, of_kind))
			json_finding(json, names, &findings[i]);
	}
	gt_json_array_end(json);
	return 0;
}

static uint64_t errors_problems(void *opaque, const struct gt_names *names, uint64_t now)
{
	struct errors_report *state = opaque;
	const struct gt_error *const *rows;
	uint64_t problems = 0;
	size_t count;

	if (gt_errors_rows(state->errors, names, &rows, &count))
		return 0;
	for (size_t i = 0; i < count; i++)
		problems += rows[i]->count;
	return problems;
}

const struct gt_report gt_report_errors = {
	.name = "errors",
	.open = errors_open,
	.event = errors_event,
	.put_text = errors_text,
	.put_json = errors_json,
	.problems = errors_problems,
	.close = errors_close,
};
