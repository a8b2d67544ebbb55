/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "why": the causes of idle times of GPUs, of one operation, or of calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/breakdown.h"

struct why_state {
	struct gt_breakdown *breakdown;
	/* As of the last report. */
	const struct gt_process_breakdown *const *rows;
	size_t count;
	const struct gt_idle_gap *explained; /* the operation; NULL: it was not found */
	uint64_t gaps;                       /* the most of a process */
	uint64_t calls, faults, jobs, xids;  /* of all processes */
};

static void why_close(void *opaque)
{
	struct why_state *state = opaque;

	gt_breakdown_free(state->breakdown);
	free(state);
}

static int why_open(const struct gt_report_options *options, void **ret_state)
{
	uint64_t top = options->gap > options->top ? options->gap : options->top;
	struct why_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->breakdown = gt_breakdown_new(top ? top : GT_BREAKDOWN_TOP);
	if (!state->breakdown) {
		free(state);
		return -ENOMEM;
	}
	gt_breakdown_explain(state->breakdown, options->operation);
	gt_breakdown_explain_calls(state->breakdown, options->calls);
	gt_breakdown_explain_events(state->breakdown, options->events);
	*ret_state = state;
	return 0;
}

static int why_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	const struct why_state *state = opaque;

	return gt_breakdown_take(state->breakdown, names, event);
}

/* Find the answers of a report. 0 or -ENOMEM. */
static int find_answers(struct why_state *state, const struct gt_names *names, bool final)
{
	int error = gt_breakdown_rows(state->breakdown, names, final, &state->rows, &state->count);

	state->explained = gt_breakdown_explained(state->breakdown);
	state->gaps = state->calls = state->faults = state->jobs = state->xids = 0;
	for (size_t i = 0; i < state->count && !error; i++) {
		if (state->rows[i]->gaps.count > state->gaps)
			state->gaps = state->rows[i]->gaps.count;
		state->calls += state->rows[i]->calls.count;
		state->faults += state->rows[i]->explained_faults;
		state->jobs += state->rows[i]->explained_jobs;
		state->xids += state->rows[i]->explained_xids;
	}
	return error;
}

static void put_explanation(struct gt_strbuf *text, const struct gt_process_breakdown *row,
			    const struct gt_idle_gap *gap)
{
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

/* The process of the explained operation. */
static const struct gt_process_breakdown *process_of_explained(const struct why_state *state)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->explained && state->rows[i]->process == state->explained->process)
			return state->rows[i];
	return NULL;
}

static int why_put_text(void *opaque, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct why_state *state = opaque;
	bool explains_gaps = !options->calls && !options->events;
	int error = find_answers(state, names, options->final);

	if (error)
		return error;
	if (options->operation) {
		if (state->explained)
			put_explanation(text, process_of_explained(state), state->explained);
		return 0;
	}
	for (size_t i = 0; i < state->count; i++) {
		if (options->calls)
			put_process_calls(text, names, state->rows[i]);
		gt_put_explained_events(text, names, state->rows[i]);
		if (explains_gaps && state->rows[i]->operations)
			put_process_gaps(text, options, names, state->rows[i]);
	}
	if (explains_gaps && (!state->count || !state->rows[0]->operations))
		gt_strbuf_puts(text, "No operation of a GPU was seen.\n");
	return 0;
}

static void json_process(struct gt_json *json, const struct gt_report_options *options,
			 const struct gt_names *names, const struct gt_process_breakdown *row)
{
	gt_json_object_begin(json, NULL);
	gt_report_json_process(json, names, row->process, gt_names_process(names, row->process));
	gt_json_u64(json, "idle", row->gpu_idle);
	gt_json_u64(json, "count", row->idle_gaps);
	gt_json_array_begin(json, "gaps");
	for (size_t i = 0; i < row->gaps.count; i++)
		if (!options->gap || i + 1 == options->gap)
			gt_json_idle_gap(json, NULL, names, row, &row->gaps.items[i]);
	gt_json_array_end(json);
	gt_json_u64(json, "explained_calls", row->explained_calls);
	gt_json_array_begin(json, "calls");
	for (size_t i = 0; i < row->calls.count; i++)
		gt_json_idle_gap(json, NULL, names, row, &row->calls.items[i]);
	gt_json_array_end(json);
	gt_json_explained_events(json, names, row);
	gt_json_object_end(json);
}

static int why_put_json(void *opaque, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct why_state *state = opaque;
	int error = find_answers(state, names, options->final);

	if (error)
		return error;
	if (state->explained)
		gt_json_idle_gap(json, "operation", names, process_of_explained(state),
				 state->explained);
	else
		gt_json_null(json, "operation");
	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < state->count; i++)
		json_process(json, options, names, state->rows[i]);
	gt_json_array_end(json);
	return 0;
}

static int check_events(const struct why_state *state, const struct gt_report_options *options,
			struct gt_diag *diag)
{
	const struct {
		unsigned event;
		uint64_t count;
		const char *what, *source;
	} events[] = {
		{GT_EXPLAIN_FAULTS, state->faults, "page fault with a known duration", "fault"},
		{GT_EXPLAIN_JOBS, state->jobs, "job of the DRM scheduler", "drm"},
		{GT_EXPLAIN_XIDS, state->xids, "Xid", "nvidia"},
	};

	for (size_t i = 0; i < gt_countof(events); i++)
		if ((options->events & events[i].event) && !events[i].count)
			return gt_diag(diag, -ENOENT, "why", NULL,
				       "no %s was seen: this needs the source %s (-e)",
				       events[i].what, events[i].source);
	return 0;
}

static int why_check(void *opaque, const struct gt_report_options *options, struct gt_diag *diag)
{
	const struct why_state *state = opaque;

	if (options->operation && !state->explained)
		return gt_diag(diag, -ENOENT, "why", NULL,
			       "there is no operation #%" PRIu64
			       ": 'gputap report' lists the longest ones",
			       options->operation);
	if (options->gap > state->gaps)
		return gt_diag(diag, -ENOENT, "why", NULL,
			       "there is no gap %" PRIu64 ": at most %" PRIu64
			       " idle time%s of a process",
			       options->gap, state->gaps, state->gaps == 1 ? "" : "s");
	if (options->calls && !state->calls)
		return gt_diag(diag, -ENOENT, "why", NULL,
			       "no call of the functions of --call was seen: 'gputap stat' lists "
			       "those that were called");
	return check_events(state, options, diag);
}

const struct gt_report gt_report_why = {
	.name = "why",
	.open = why_open,
	.event = why_event,
	.put_text = why_put_text,
	.put_json = why_put_json,
	.check = why_check,
	.close = why_close,
};
