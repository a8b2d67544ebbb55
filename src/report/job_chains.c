/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part "chains" of the report "stat": jobs by the calls that submitted them, with the times of
 * their steps, and the longest ones step by step.
 */
#include "analysis/job_chains.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/keyed_rows.h"
#include "base/histogram.h"
#include "layers/padded.h"
#include "output/job_chain.h"
#include "report/gpu_cells.h"
#include "report/stat.h"

#define DEFAULT_LONGEST 10

enum chain_step {
	STEP_SUBMIT, /* from the beginning of the call to the queue */
	STEP_BLOCKED,
	STEP_QUEUED, /* without that */
	STEP_RAN,
	STEP_SIGNAL, /* from the interrupt, or else `done`, to the signaled fence */
	STEP_TOTAL,
	STEPS
};

static const char *const step_names[STEPS] = {
	"submit", "blocked", "queued", "ran", "signal", "total",
};

struct chain_group_key {
	const char *syscall; /* NULL: not seen */
	uint32_t function;   /* of the outermost call */
	uint32_t has_call;
	char names[2 * GT_DRM_NAME_SIZE];
};

struct chain_group {
	struct chain_group_key key;
	uint64_t jobs, errors, interrupts;
	struct gt_histogram steps[STEPS];
};

struct chains_report {
	struct gt_job_chains *chains;
	struct gt_keyed_rows groups; /* of struct chain_group */
	size_t max_longest;
	GT_VEC(struct gt_job_chain) longest; /* the longest first */
	uint64_t jobs, without_call, without_syscall;
};

static uint64_t total_of(const struct gt_job_chain *chain)
{
	return gt_job_chain_end(chain) - gt_job_chain_start(chain);
}

/* The time from one event to a later one; 0 if one was not seen. */
static uint64_t between(uint64_t from, uint64_t to)
{
	return from && to > from ? to - from : 0;
}

static uint64_t time_of_step(const struct gt_job_chain *chain, enum chain_step step)
{
	uint64_t waited = between(chain->queued, chain->run);
	uint64_t completed = chain->interrupt.start ? chain->interrupt.start : chain->done;

	switch (step) {
	case STEP_SUBMIT:
		return between(gt_job_chain_start(chain), chain->queued);
	case STEP_BLOCKED:
		return chain->blocked;
	case STEP_QUEUED:
		return waited > chain->blocked ? waited - chain->blocked : 0;
	case STEP_RAN:
		return between(chain->run, chain->done);
	case STEP_SIGNAL:
		return between(completed, chain->signaled);
	default:
		return total_of(chain);
	}
}

static int add_group(struct chains_report *report, const struct gt_job_chain *chain)
{
	struct chain_group_key key;
	struct chain_group *group;
	int error = 0;

	memset(&key, 0, sizeof(key));
	key.syscall = chain->syscall.name;
	key.function = chain->outermost.function;
	key.has_call = chain->outermost.start != 0;
	memcpy(key.names, chain->names, sizeof(key.names));
	group = gt_keyed_rows_get(&report->groups, &key, sizeof(key), sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->jobs++;
	group->errors += chain->error != 0;
	group->interrupts += chain->interrupt.start != 0;
	for (unsigned step = 0; step < STEPS && !error; step++)
		error = gt_histogram_add(&group->steps[step], time_of_step(chain, step));
	return error;
}

/* Insert a chain if it is among the longest. */
static int add_longest(struct chains_report *report, const struct gt_job_chain *chain)
{
	uint64_t total = total_of(chain);
	size_t at;

	if (report->longest.count == report->max_longest) {
		if (total <= total_of(&report->longest.items[report->max_longest - 1]))
			return 0;
		report->longest.count--;
	}
	if (gt_vec_push(&report->longest, *chain))
		return -ENOMEM;
	at = report->longest.count - 1;
	for (; at && total_of(&report->longest.items[at - 1]) < total; at--)
		report->longest.items[at] = report->longest.items[at - 1];
	report->longest.items[at] = *chain;
	return 0;
}

static int add_chain(void *context, const struct gt_job_chain *chain)
{
	struct chains_report *report = context;
	int error = add_group(report, chain);

	report->jobs++;
	report->without_call += !chain->outermost.start;
	report->without_syscall += !chain->syscall.start;
	return error ? error : add_longest(report, chain);
}

static void release_group(void *opaque)
{
	struct chain_group *group = opaque;

	for (unsigned step = 0; step < STEPS; step++)
		gt_histogram_free(&group->steps[step]);
}

static void chains_close(void *state)
{
	struct chains_report *report = state;

	gt_job_chains_free(report->chains);
	gt_keyed_rows_free(&report->groups, release_group);
	gt_vec_free(&report->longest);
	free(report);
}

static int chains_open(const struct gt_report_options *options, void **ret_state)
{
	struct chains_report *report = calloc(1, sizeof(*report));

	if (!report)
		return -ENOMEM;
	report->max_longest = options->top ? options->top : DEFAULT_LONGEST;
	report->chains = gt_job_chains_new(add_chain, report);
	if (!report->chains || gt_keyed_rows_init(&report->groups)) {
		chains_close(report);
		return -ENOMEM;
	}
	*ret_state = report;
	return 0;
}

static int chains_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	struct chains_report *report = state;

	/* The last event of the stream, or of what was recorded of it so far. */
	return event->kind == GT_EVENT_account ? gt_job_chains_finish(report->chains)
					       : gt_job_chains_take(report->chains, event);
}

/* ---- text --------------------------------------------------------------------------------- */

static void put_call_cells(struct gt_table *table, const char *call, const char *syscall)
{
	gt_table_text(table, call ? call : "-");
	gt_table_text(table, syscall ? syscall : "-");
}

static void put_groups(const struct chains_report *report, const struct gt_names *names,
		       const struct gt_report_options *options, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"CALL", true},    {"SYSTEM CALL", true},   {"DEVICE", true},  {"RING", true},
		{"JOBS", false},   {"ERRORS", false, true}, {"SUBMIT", false}, {"BLOCKED", false},
		{"QUEUED", false}, {"RAN", false},          {"SIGNAL", false}, {"TOTAL", false},
		{"P99", false},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &report->groups.rows) {
		const struct chain_group *group = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		put_call_cells(&table,
			       group->key.has_call ? gt_names_function(names, group->key.function)
						   : NULL,
			       group->key.syscall);
		gt_table_padded(&table, group->key.names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
		gt_table_padded(&table, group->key.names, GT_DRM_NAME_SIZE);
		gt_table_number(&table, group->jobs);
		gt_table_number(&table, group->errors);
		for (unsigned step = 0; step < STEPS; step++)
			gt_table_duration(&table, gt_histogram_quantile(&group->steps[step], 0.5));
		gt_table_duration(&table, gt_histogram_quantile(&group->steps[STEP_TOTAL], 0.99));
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, report->groups.rows.count);
}

static void put_error_cell(struct gt_table *table, const struct gt_job_chain *chain)
{
	if (chain->canceled)
		gt_strbuf_puts(gt_table_cell(table), "canceled");
	else if (chain->error)
		gt_put_errno(gt_table_cell(table), chain->error);
	else if (chain->timed_out)
		gt_strbuf_puts(gt_table_cell(table), "timeout");
	gt_table_end_cell(table);
}

static void put_longest(const struct chains_report *report, const struct gt_names *names,
			struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"JOB", true},     {"PROCESS", true},     {"THREAD", false}, {"RING", true},
		{"CALL", true},    {"SYSTEM CALL", true}, {"SUBMIT", false}, {"BLOCKED", false},
		{"QUEUED", false}, {"RAN", false},        {"SIGNAL", false}, {"TOTAL", false},
		{"IRQ", false},    {"ERROR", true, true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (chain, &report->longest) {
		gt_strbuf_printf(gt_table_cell(&table), "%" PRIu64 ":%" PRIu64, chain->context,
				 chain->seqno);
		gt_table_end_cell(&table);
		gt_table_process(&table, names, chain->process);
		gt_table_id(&table, chain->thread);
		gt_table_padded(&table, chain->names, GT_DRM_NAME_SIZE);
		put_call_cells(&table,
			       chain->outermost.start
				       ? gt_names_function(names, chain->outermost.function)
				       : NULL,
			       chain->syscall.name);
		for (unsigned step = 0; step < STEPS; step++)
			gt_table_duration(&table, time_of_step(chain, step));
		if (chain->interrupt.start)
			gt_table_number(&table, chain->interrupt.irq);
		else
			gt_table_text(&table, "-");
		put_error_cell(&table, chain);
	}
	gt_table_put(&table, text);
}

static int chains_put_text(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct chains_report *report = state;

	if (!report->jobs) {
		gt_strbuf_puts(text, "No jobs of the DRM scheduler ended.\n");
		return 0;
	}
	gt_strbuf_puts(text, "Medians of each step, by the calls that submitted the jobs:\n");
	put_groups(report, names, options, text);
	gt_strbuf_puts(text, "\nThe longest:\n");
	put_longest(report, names, text);
	if (report->without_call)
		gt_strbuf_printf(text, "%" PRIu64 " of %" PRIu64 " jobs in no traced call.\n",
				 report->without_call, report->jobs);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_group(struct gt_json *json, const struct gt_names *names,
		       const struct chain_group *group)
{
	gt_json_object_begin(json, NULL);
	if (group->key.has_call)
		gt_json_string(json, "call", gt_names_function(names, group->key.function));
	else
		gt_json_null(json, "call");
	if (group->key.syscall)
		gt_json_string(json, "syscall", group->key.syscall);
	else
		gt_json_null(json, "syscall");
	gt_json_padded_name(json, "device", group->key.names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
	gt_json_padded_name(json, "ring", group->key.names, GT_DRM_NAME_SIZE);
	gt_json_u64(json, "jobs", group->jobs);
	gt_json_u64(json, "errors", group->errors);
	gt_json_u64(json, "interrupts", group->interrupts);
	for (unsigned step = 0; step < STEPS; step++)
		gt_report_json_durations(json, step_names[step], &group->steps[step]);
	gt_json_object_end(json);
}

static int chains_put_json(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct chains_report *report = state;

	gt_json_u64(json, "jobs", report->jobs);
	gt_json_u64(json, "without_call", report->without_call);
	gt_json_u64(json, "without_syscall", report->without_syscall);
	gt_json_array_begin(json, "groups");
	gt_vec_each (item, &report->groups.rows)
		json_group(json, names, *item);
	gt_json_array_end(json);
	gt_json_array_begin(json, "longest");
	gt_vec_each (chain, &report->longest) {
		gt_json_object_begin(json, NULL);
		gt_json_job_chain(json, names, chain);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

const struct gt_report gt_report_job_chains = {
	.name = "chains",
	.open = chains_open,
	.event = chains_event,
	.put_text = chains_put_text,
	.put_json = chains_put_json,
	.close = chains_close,
};
