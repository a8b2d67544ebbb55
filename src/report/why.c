/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "why": the causes of idle times of GPUs, of one operation, or of calls. */
#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "report/breakdown.h"

static int why_open(const struct gt_report_options *options, void **ret_state)
{
	uint64_t top = options->gap > options->top ? options->gap : options->top;
	struct gt_breakdown *breakdown = gt_breakdown_new(top ? top : GT_BREAKDOWN_TOP);

	if (!breakdown)
		return -ENOMEM;
	gt_breakdown_explain(breakdown, options->operation);
	gt_breakdown_explain_calls(breakdown, options->calls);
	*ret_state = breakdown;
	return 0;
}

static int why_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_breakdown_take(state, names, event);
}

static void put_explanation(struct gt_strbuf *text, const struct gt_report_options *options,
			    const struct gt_process_breakdown *row, const struct gt_idle_gap *gap)
{
	if (!gap) {
		gt_strbuf_printf(text,
				 "There is no operation #%" PRIu64
				 "; 'gputap report' lists the longest ones.\n",
				 options->operation);
		return;
	}
	gt_put_operation_name(text, gap->operation, gap->kernel);
	gt_strbuf_printf(text, " #%" PRIu64 " ended at T+", gap->next);
	gt_format_duration(text, gap->end - row->start);
	gt_strbuf_puts(text, "; before, latest first:\n");
	gt_put_causes(text, row, gap);
}

static void put_gap(struct gt_strbuf *text, const struct gt_process_breakdown *row, size_t number)
{
	const struct gt_idle_gap *gap = &row->gaps.items[number - 1];

	gt_strbuf_printf(text, "gap %zu at T+", number);
	gt_format_duration(text, gap->start - row->start);
	gt_strbuf_puts(text, ": ");
	gt_put_idle_cause(text, gap);
	gt_strbuf_puts(text, ".\n");
	gt_put_causes(text, row, gap);
}

static void put_process_gaps(struct gt_strbuf *text, const struct gt_report_options *options,
			     const struct gt_names *names, const struct gt_process_breakdown *row)
{
	gt_label_process(text, names, row->process);
	gt_strbuf_printf(text, ": %" PRIu64 " %s between operations without a GPU at work, ",
			 row->idle_gaps, row->idle_gaps == 1 ? "time" : "times");
	gt_format_duration(text, row->gpu_idle);
	gt_strbuf_puts(text, " together\n");
	if (row->host_only)
		gt_strbuf_puts(text, "The GPU's clock is not the host's: causes on the host cannot "
				     "be found.\n");
	if (options->gap > row->gaps.count)
		gt_strbuf_printf(text, "There is no gap %" PRIu64 ".\n", options->gap);
	for (size_t i = 1; i <= row->gaps.count; i++)
		if (!options->gap || i == options->gap)
			put_gap(text, row, i);
}

static void put_process_calls(struct gt_strbuf *text, const struct gt_names *names,
			      const struct gt_process_breakdown *row)
{
	if (!row->calls.count)
		return;
	gt_label_process(text, names, row->process);
	gt_strbuf_printf(text, ": the longest of %" PRIu64 " calls\n", row->explained_calls);
	for (size_t i = 0; i < row->calls.count; i++) {
		const struct gt_idle_gap *call = &row->calls.items[i];

		gt_strbuf_printf(text, "call %zu at T+", i + 1);
		gt_format_duration(text, call->start - row->start);
		gt_strbuf_puts(text, ": ");
		gt_put_slow_call(text, call);
		gt_strbuf_puts(text, ".\n");
		gt_put_causes(text, row, call);
	}
}

static void put_calls(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_process_breakdown *const *rows, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		put_process_calls(text, names, rows[i]);
		any |= rows[i]->calls.count;
	}
	if (!any)
		gt_strbuf_puts(text, "No call of these functions was seen.\n");
}

/* The process of the explained operation. */
static const struct gt_process_breakdown *
process_with(const struct gt_process_breakdown *const *rows, size_t count,
	     const struct gt_idle_gap *gap)
{
	for (size_t i = 0; i < count; i++)
		if (gap && rows[i]->process == gap->process)
			return rows[i];
	return NULL;
}

static int why_put_text(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_process_breakdown *const *rows;
	const struct gt_idle_gap *gap;
	size_t count;
	int error = gt_breakdown_rows(state, names, options->final, &rows, &count);

	if (error)
		return error;
	gap = gt_breakdown_explained(state);
	if (options->operation) {
		put_explanation(text, options, process_with(rows, count, gap), gap);
		return 0;
	}
	if (options->calls) {
		put_calls(text, names, rows, count);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i]->operations)
			put_process_gaps(text, options, names, rows[i]);
	if (!count || !rows[0]->operations)
		gt_strbuf_puts(text, "No operation of a GPU was seen.\n");
	return 0;
}

static int why_put_json(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_process_breakdown *const *rows;
	const struct gt_idle_gap *gap;
	size_t count;
	int error = gt_breakdown_rows(state, names, options->final, &rows, &count);

	if (error)
		return error;
	gap = gt_breakdown_explained(state);
	if (gap && process_with(rows, count, gap))
		gt_json_idle_gap(json, "operation", names, process_with(rows, count, gap), gap);
	else
		gt_json_null(json, "operation");
	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < count; i++) {
		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, rows[i]->process,
				       gt_names_process(names, rows[i]->process));
		gt_json_u64(json, "idle", rows[i]->gpu_idle);
		gt_json_u64(json, "count", rows[i]->idle_gaps);
		gt_json_array_begin(json, "gaps");
		for (size_t k = 0; k < rows[i]->gaps.count; k++)
			if (!options->gap || k + 1 == options->gap)
				gt_json_idle_gap(json, NULL, names, rows[i],
						 &rows[i]->gaps.items[k]);
		gt_json_array_end(json);
		gt_json_u64(json, "explained_calls", rows[i]->explained_calls);
		gt_json_array_begin(json, "calls");
		for (size_t k = 0; k < rows[i]->calls.count; k++)
			gt_json_idle_gap(json, NULL, names, rows[i], &rows[i]->calls.items[k]);
		gt_json_array_end(json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void why_close(void *state)
{
	gt_breakdown_free(state);
}

const struct gt_report gt_report_why = {
	.name = "why",
	.open = why_open,
	.event = why_event,
	.put_text = why_put_text,
	.put_json = why_put_json,
	.close = why_close,
};
