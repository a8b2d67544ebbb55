/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/analyse.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/flight.h"
#include "analysis/timeline/breakdown.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/interval.h"
#include "cli/why_event.h"
#include "export/export.h"
#include "output/sink.h"

/* Its pages are mapped twice: they are much of the memory that gputap uses. */
#define RING_SIZE (8u << 20)

struct analysis_run {
	struct gt_analyse_options *given;
	struct gt_report_options how;
	const struct gt_report *report;
	void *state;
	void *page; /* --html, of gt_export_html; NULL: none */
	bool has_command;
	struct gt_sink sink;
	const struct gt_names *names; /* as of the last event; NULL: there was none */
	uint64_t now;                 /* of the last event */
	uint64_t problems;            /* at the end */
	struct gt_session *session;
	struct gt_report_interval interval;
};

static int print_report(struct analysis_run *analyse, uint64_t now, bool final)
{
	const struct gt_report_format format = {.now = now,
						.start = gt_session_start(analyse->session),
						.final = final,
						.json = analyse->given->target.json};
	int error;

	analyse->how.final = final;
	error = gt_report_put(analyse->report, analyse->state, &analyse->how, analyse->names,
			      &format, &analyse->sink.text);
	analyse->how.continued = true;
	return error ? error : gt_sink_flush(&analyse->sink);
}

/* Prints a report if an interval is over, by the time of an event or by the clock. */
static int check_interval(struct analysis_run *analyse, uint64_t now)
{
	uint64_t end;

	if (!analyse->names ||
	    !gt_interval_is_over(&analyse->interval, gt_session_start(analyse->session), now, &end))
		return 0;
	return print_report(analyse, end, false);
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct analysis_run *analyse = opaque;
	int error = 0;

	analyse->names = names;
	if (analyse->page) {
		error = gt_export_html.event(analyse->page, names, event);
		if (error)
			return error;
	}
	if (event->clock == GT_CLOCK_MONOTONIC && event->time > analyse->now) {
		/* Sums are collected when no event waits. */
		if (!gt_trace_options_has_sums(&analyse->given->target.trace))
			error = check_interval(analyse, event->time);
		analyse->now = event->time;
	}
	return error ? error : analyse->report->event(analyse->state, names, event);
}

static int check_requests(void *opaque)
{
	struct analysis_run *analyse = opaque;
	uint64_t now = gt_clock_monotonic(), end;
	bool requested = gt_interval_is_requested(&analyse->interval), over;
	int error = 0;

	if (!analyse->names)
		return 0;
	over = gt_interval_is_over(&analyse->interval, gt_session_start(analyse->session), now,
				   &end);
	if (requested || over)
		gt_session_collect(analyse->session);
	if (over)
		error = print_report(analyse, end, false);
	return requested && !error ? print_report(analyse, now, false) : error;
}

static int flush_nothing(void *opaque)
{
	return 0;
}

static void begin_report(void *opaque, struct gt_session *session)
{
	struct analysis_run *analyse = opaque;

	analyse->session = session;
}

/* --html: a page beside the report. */
static int open_page(struct analysis_run *analyse, struct gt_diag *diag)
{
	const struct gt_trace_options *trace = &analyse->given->target.trace;
	const struct gt_export_options page = {
		.output.path = analyse->given->html,
		.capture = trace->from      ? trace->from
			   : trace->command ? trace->command[0]
					    : "system",
	};

	return analyse->given->html ? gt_export_html.open(&page, &analyse->page, diag) : 0;
}

static int open_report(void *opaque, struct gt_diag *diag)
{
	struct analysis_run *analyse = opaque;
	const char *path = analyse->given->target.output;
	const struct gt_output_options output = {
		.path = path && strcmp(path, "-") ? path : NULL,
		.fd = analyse->has_command && !path ? STDERR_FILENO : STDOUT_FILENO,
	};
	int error = gt_sink_open(&analyse->sink, &output, diag);
	if (error)
		return error;
	error = analyse->report->open(&analyse->how, &analyse->state);
	if (error) {
		gt_sink_close(&analyse->sink, NULL);
		return gt_diag(diag, error, "analysis", NULL, "%s", strerror(-error));
	}
	error = open_page(analyse, diag);
	if (error) {
		analyse->report->close(analyse->state);
		gt_sink_close(&analyse->sink, NULL);
		return error;
	}
	gt_interval_begin(&analyse->interval);
	return 0;
}

static int close_report(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct analysis_run *analyse = opaque;
	int error, closed;

	analyse->names = names;
	error = print_report(analyse, analyse->now, true);
	if (analyse->report->problems && names)
		analyse->problems = analyse->report->problems(analyse->state, names, analyse->now);
	if (!error && analyse->report->check)
		error = analyse->report->check(analyse->state, &analyse->how, diag);
	closed = gt_sink_close(&analyse->sink, diag);
	if (analyse->page) {
		int failed = gt_export_html.close(analyse->page, names, diag);

		error = error ? error : failed;
	}
	analyse->report->close(analyse->state);
	gt_interval_end(&analyse->interval);
	return error ? error : closed;
}

/* Trace the functions that a report needs. */
static int choose_functions(const struct gt_report *report, struct gt_trace_options *trace)
{
	int error = 0;

	for (unsigned row = 0; row < gt_api_count() && !error; row++) {
		const struct gt_api_function *function = gt_api_function(row);

		if (function->category != GT_CATEGORY_NONE &&
		    report->needs(gt_operation_kind_of(function)))
			error = gt_strings_add(&trace->functions, function->name,
					       strlen(function->name));
	}
	return error;
}

static int analyse_target(const struct gt_cli_command *self, struct analysis_run *analyse,
			  char *const *command, bool stacks)
{
	const struct gt_run run = {
		.context = analyse,
		.begin = begin_report,
		.open = open_report,
		.event = take_event,
		.flush = flush_nothing,
		.idle = check_requests,
		.close = close_report,
		.prints_totals = !analyse->given->target.json && !analyse->given->target.output,
	};
	struct gt_trace_options *trace = &analyse->given->target.trace;
	int status = gt_target_complete(self, &analyse->given->target, command, stacks);

	if (!status && trace->from)
		status = gt_target_check_output(analyse->given->html, trace->from);
	if (!status && gt_target_makes_capture(&analyse->given->target))
		status = gt_cli_usage_error(self, "-o FILE is the report and cannot be a capture; "
						  "record one by 'gputap trace --stack mixed -o "
						  "FILE.gtap'");
	if (status)
		return status;
	analyse->interval.length = analyse->given->interval;
	analyse->interval.duration = trace->duration;
	gt_interval_prepare(&analyse->interval);
	if (!trace->from && !trace->ring_size && trace->stack != GT_STACK_DWARF)
		trace->ring_size = RING_SIZE;
	if (!trace->from && analyse->report->needs && choose_functions(analyse->report, trace)) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	status = gt_target_run(trace, &run);
	return analyse->problems && analyse->given->error_exitcode
		       ? (int)analyse->given->error_exitcode
		       : status;
}

/*
 * The arguments of a command that takes captures: "[EVENT] [FILE]" unless they follow "--".
 * GT_GO_ON, or the status of an error that was printed. *ret_command is NULL if there is no command
 * to trace.
 */
static int take_files(const struct gt_analysis_command *row, struct analysis_run *analyse,
		      char **arguments, int rest, char *const **ret_command)
{
	struct gt_trace_options *trace = &analyse->given->target.trace;
	const char *number = arguments[rest];
	int named = -ENOENT;

	if (!row->files || !number || !strcmp(arguments[rest - 1], "--"))
		return GT_GO_ON;
	*ret_command = NULL;
	if (row->events)
		named = gt_why_event_parse(number, &analyse->how);
	if (named == -EINVAL)
		return gt_cli_usage_error(&row->command, "invalid event '%s' (" GT_WHY_EVENTS ")",
					  number);
	rest += !named;
	if (!arguments[rest])
		return GT_GO_ON;
	if (!strcmp(arguments[rest], "--")) {
		*ret_command = arguments + rest + 1;
		return GT_GO_ON;
	}
	if (arguments[rest + 1] && row->events && named)
		return gt_cli_usage_error(
			&row->command, "invalid event '%s' (" GT_WHY_EVENTS "; before the capture)",
			arguments[rest]);
	if (arguments[rest + 1])
		return gt_cli_usage_error(&row->command,
					  "unexpected argument '%s' after the capture; a command "
					  "to trace follows '--'",
					  arguments[rest + 1]);
	if (trace->from)
		return gt_cli_usage_error(&row->command, "two captures: '%s' and '%s'", trace->from,
					  arguments[rest]);
	trace->from = arguments[rest];
	return GT_GO_ON;
}

static void choose_report(const struct gt_analysis_command *row, struct analysis_run *analyse)
{
	const struct gt_analyse_options *given = analyse->given;

	analyse->how.by = row->by[given->by];
	analyse->how.top = given->top;
	analyse->how.max_copies = given->max_copies;
	analyse->how.chains = given->chains;
	analyse->how.captured = given->target.trace.from;
	analyse->how.verbose = given->target.trace.verbose;
}

/* The kinds of events that options of `why` name: enum gt_explained_kind. */
static unsigned kinds_of_options(const struct gt_analyse_options *given)
{
	return (given->idle || given->gap ? GT_EXPLAIN_GAPS : 0) |
	       (given->calls.words.count ? GT_EXPLAIN_CALLS : 0) |
	       (given->syscalls.words.count ? GT_EXPLAIN_SYSCALLS : 0) |
	       (given->faults ? GT_EXPLAIN_FAULTS : 0) | (given->jobs ? GT_EXPLAIN_JOBS : 0) |
	       (given->xids ? GT_EXPLAIN_XIDS : 0);
}

/* Take what `why` is to explain from the options, unless an event was named. */
static int choose_events(const struct gt_analysis_command *row, struct analysis_run *analyse)
{
	const struct gt_analyse_options *given = analyse->given;
	struct gt_report_options *how = &analyse->how;
	unsigned kinds = kinds_of_options(given);
	bool is_named = how->operation || how->events.kinds;

	if (given->gap && !is_named)
		how->number = given->gap;
	if ((is_named && (given->gap || kinds & ~how->events.kinds)) ||
	    (given->gap && kinds != GT_EXPLAIN_GAPS))
		return gt_cli_usage_error(&row->command,
					  "EVENT or --gap N explains one event: omit the "
					  "options that explain others");
	if (!is_named)
		how->events.kinds = kinds ? kinds : GT_EXPLAIN_GAPS;
	how->events.calls = &given->calls;
	how->events.syscalls = &given->syscalls;
	return GT_GO_ON;
}

/* The sources of chains, unless others were chosen. */
static int add_chain_sources(struct gt_trace_options *trace)
{
	static const char *const names[] = {"cuda",    "opencl", "hip",  "level-zero",
					    "syscall", "drm",    "fence"};
	int error = 0;

	if (trace->sources.words.count || trace->from)
		return 0;
	for (size_t i = 0; i < gt_countof(names) && !error; i++)
		error = gt_strings_add(&trace->sources, names[i], strlen(names[i]));
	return error;
}

static int run_report(const struct gt_analysis_command *row, struct analysis_run *analyse,
		      char *const *command)
{
	struct gt_analyse_options *given = analyse->given;
	int status = row->events ? choose_events(row, analyse) : GT_GO_ON;

	if (status != GT_GO_ON)
		return status;
	choose_report(row, analyse);
	analyse->has_command = command;
	given->target.trace.failures = row->failures;
	given->target.trace.gpu_times_default = row->gpu_times;
	given->target.trace.sums = row->sums && !given->chains && !given->target.trace.from;
	if (given->chains && add_chain_sources(&given->target.trace)) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	return analyse_target(&row->command, analyse, command,
			      row->stacks || given->html || analyse->how.by == GT_BY_STACK);
}

int gt_analyse_run(const struct gt_cli_command *self, int count, char **arguments)
{
	/* The command is the first member of its row. */
	const struct gt_analysis_command *row = (const void *)self;
	struct gt_analyse_options given = {.max_copies = GT_FLIGHT_DEFAULT};
	struct analysis_run analyse = {.given = &given, .report = row->report};
	char *const *command = NULL;
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON && given.error_exitcode > 255)
		status = gt_cli_usage_error(
			self, "invalid value '%" PRIu64 "' for --error-exitcode (1 to 255)",
			given.error_exitcode);
	if (status == GT_GO_ON) {
		command = rest < count ? arguments + rest : NULL;
		status = take_files(row, &analyse, arguments, rest, &command);
	}
	if (status == GT_GO_ON)
		status = run_report(row, &analyse, command);
	gt_strings_free(&given.calls);
	gt_strings_free(&given.syscalls);
	gt_target_free(&given.target);
	return status;
}
