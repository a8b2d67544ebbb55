/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "why": the causes of idle times of GPUs, of one operation, or of calls. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/breakdown.h"

/* The kinds of lists: of each the rows of a process, and what is said where there are none. */
static const struct why_list {
	enum gt_explained_kind kind;
	size_t count; /* offset of the number of rows in struct gt_process_breakdown */
	const char *name, *title;
	const char *missing;
} lists[] = {
#define LIST(kind, member, name, title, missing)                                                   \
	{                                                                                          \
		kind, offsetof(struct gt_process_breakdown, member.count), name, title, missing    \
	}
	LIST(GT_EXPLAIN_GAPS, gaps, "gap", "idle time", NULL),
	LIST(GT_EXPLAIN_CALLS, calls, "call", "call",
	     "no such call was seen: 'gputap stat' lists the functions that were called"),
	LIST(GT_EXPLAIN_SYSCALLS, syscalls, "syscall", "system call",
	     "no such system call was seen: this needs the source syscall (-e)"),
	LIST(GT_EXPLAIN_FAULTS, faults, "fault", "page fault",
	     "no page fault with a known duration was seen: this needs the source fault (-e)"),
	LIST(GT_EXPLAIN_JOBS, jobs, "job", "job",
	     "no job of the DRM scheduler was seen: this needs the source drm (-e)"),
	LIST(GT_EXPLAIN_XIDS, xids, "Xid", "Xid",
	     "no Xid was seen: this needs the source nvidia (-e)"),
#undef LIST
};

struct why_state {
	struct gt_breakdown *breakdown;
	/* As of the last report. */
	const struct gt_process_breakdown *const *rows;
	size_t count;
	const struct gt_idle_gap *explained; /* the operation; NULL: it was not found */
	uint64_t most[gt_countof(lists)];    /* rows of a list of one process */
};

static void why_close(void *opaque)
{
	struct why_state *state = opaque;

	gt_breakdown_free(state->breakdown);
	free(state);
}

static int why_open(const struct gt_report_options *options, void **ret_state)
{
	uint64_t top = options->number > options->top ? options->number : options->top;
	struct why_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->breakdown = gt_breakdown_new(top ? top : GT_BREAKDOWN_TOP);
	if (!state->breakdown) {
		free(state);
		return -ENOMEM;
	}
	gt_breakdown_explain(state->breakdown, options->operation);
	gt_breakdown_explain_events(state->breakdown, &options->events);
	*ret_state = state;
	return 0;
}

static int why_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	const struct why_state *state = opaque;

	return gt_breakdown_take(state->breakdown, names, event);
}

static uint64_t count_of(const struct why_list *list, const struct gt_process_breakdown *row)
{
	return *(const size_t *)((const char *)row + list->count);
}

/* Find the answers of a report. 0 or -ENOMEM. */
static int find_answers(struct why_state *state, const struct gt_names *names, bool final)
{
	int error = gt_breakdown_rows(state->breakdown, names, final, &state->rows, &state->count);

	state->explained = gt_breakdown_explained(state->breakdown);
	memset(state->most, 0, sizeof(state->most));
	for (size_t i = 0; i < state->count && !error; i++)
		for (size_t k = 0; k < gt_countof(lists); k++) {
			uint64_t count = count_of(&lists[k], state->rows[i]);

			if (count > state->most[k])
				state->most[k] = count;
		}
	return error;
}

static void put_explanation(struct gt_strbuf *text, const struct gt_report_options *options,
			    const struct gt_names *names, const struct gt_process_breakdown *row,
			    const struct gt_idle_gap *gap)
{
	gt_put_origin(text, options, names, row);
	gt_put_operation_name(text, row->shown, gap->operation, gap->kernel);
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
	gt_put_idle_cause(text, row->shown, gap);
	gt_strbuf_puts(text, ".\n");
	gt_put_causes(text, row, gap);
}

static void put_process_gaps(struct gt_strbuf *text, const struct gt_report_options *options,
			     const struct gt_names *names, const struct gt_process_breakdown *row)
{
	gt_label_process(text, names, row->process);
	gt_strbuf_printf(text, ": %" PRIu64 " idle gap%s between operations, ", row->idle_gaps,
			 gt_report_plural(row->idle_gaps));
	gt_format_duration(text, row->gpu_idle);
	gt_strbuf_puts(text, " in total\n");
	gt_put_origin(text, options, names, row);
	if (row->host_only)
		gt_strbuf_puts(text, "The GPU's clock is not the host's: causes on the host cannot "
				     "be found.\n");
	for (size_t i = 1; i <= row->gaps.count; i++)
		if (gt_why_shows(options, i - 1))
			put_gap(text, row, i);
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
	bool explains_gaps = options->events.kinds & GT_EXPLAIN_GAPS;
	int error = find_answers(state, names, options->final);

	if (error)
		return error;
	if (options->operation) {
		if (state->explained)
			put_explanation(text, options, names, process_of_explained(state),
					state->explained);
		return 0;
	}
	for (size_t i = 0; i < state->count; i++) {
		gt_put_explained_events(text, options, names, state->rows[i]);
		if (explains_gaps && state->rows[i]->operations &&
		    options->number <= state->rows[i]->gaps.count)
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
		if (gt_why_shows(options, i))
			gt_json_idle_gap(json, NULL, names, row, &row->gaps.items[i]);
	gt_json_array_end(json);
	gt_json_explained_events(json, options, names, row);
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

static int check_list(const struct why_list *list, uint64_t most,
		      const struct gt_report_options *options, struct gt_diag *diag)
{
	if (options->number > most && (most || !list->missing))
		return gt_diag(diag, -ENOENT, "why", NULL,
			       "there is no %s %" PRIu64 ": at most %" PRIu64 " %s%s of a process",
			       list->name, options->number, most, list->title,
			       gt_report_plural(most));
	if (!most && list->missing)
		return gt_diag(diag, -ENOENT, "why", NULL, "%s", list->missing);
	return 0;
}

static bool has_jobs(const struct why_state *state)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->rows[i]->jobs.count)
			return true;
	return false;
}

static int why_check(void *opaque, const struct gt_report_options *options, struct gt_diag *diag)
{
	const struct why_state *state = opaque;
	int error = 0;

	if (options->operation)
		return state->explained ? 0
					: gt_diag(diag, -ENOENT, "why", NULL,
						  "there is no operation #%" PRIu64
						  ": 'gputap report' lists the longest ones",
						  options->operation);
	if (options->events.fence_context || options->events.fence_seqno)
		return has_jobs(state)
			       ? 0
			       : gt_diag(diag, -ENOENT, "why", NULL,
					 "no job with the fence %" PRIu64 ":%" PRIu64
					 " was seen: 'gputap trace -e drm' prints jobs with theirs",
					 options->events.fence_context,
					 options->events.fence_seqno);
	for (size_t i = 0; i < gt_countof(lists) && !error; i++)
		if (options->events.kinds & lists[i].kind)
			error = check_list(&lists[i], state->most[i], options, diag);
	return error;
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
