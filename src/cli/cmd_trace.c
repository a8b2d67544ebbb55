/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "trace": shows calls while they happen, or those of a capture. */
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/exact_grids.h"
#include "cli/gpu_times.h"
#include "cli/interval.h"
#include "cli/programs.h"
#include "cli/target.h"
#include "cli/trace_injection.h"
#include "output/output.h"
#include "probe/source.h"
#include "session/when.h"

struct trace_options {
	struct gt_target_options target;
	struct gt_cli_injection_options injection;
	struct gt_strings inject; /* object files */
	bool counts, summary, times, returns, one_line;
	int time; /* of time_styles; negative: not given */
	uint64_t interval;
};

static const char *const time_styles[] = {"wall", "relative", "ns", NULL};

#define AT(field) offsetof(struct trace_options, field)

static const struct gt_option options[] = {
	GT_TARGET_OPTIONS(AT(target)),
	GT_CALL_OPTIONS(AT(target), "cuda, opencl, hip, level-zero"),
	{'o', "output", "FILE", "write to FILE ('-': stdout); FILE.gtap is a capture for --from",
	 GT_OPTION_STRING, AT(target.output), NULL},
	{0, "json", NULL, "print one JSON object per line; with CMD add -o FILE", GT_OPTION_FLAG,
	 AT(target.json), NULL},
	{'c', "count", NULL,
	 "print only a table of calls, errors and durations at the end, counted in the kernel",
	 GT_OPTION_FLAG, AT(counts), NULL},
	{'s', "summary", NULL, "print that table after the lines", GT_OPTION_FLAG, AT(summary),
	 NULL},
	{0, "interval", "TIME",
	 "with -c or -s: print the table of all calls so far every TIME, too; SIGUSR1 prints it at "
	 "once (without -c and -s: the totals so far)",
	 GT_OPTION_PERIOD, AT(interval), NULL},
	{0, "time", "STYLE",
	 "time stamps: wall (clock), relative (seconds since the start of the tracing) or ns "
	 "(CLOCK_MONOTONIC; default: wall)",
	 GT_OPTION_CHOICE, AT(time), time_styles},
	{'t', "no-time", NULL, "omit time stamps", GT_OPTION_FLAG_OFF, AT(times), NULL},
	{'r', "no-returns", NULL, "omit returns, show only entries", GT_OPTION_FLAG_OFF,
	 AT(returns), NULL},
	{'1', "one-line", NULL,
	 "print one line for each call, as strace does: FUNCTION(ARGUMENTS) = RESULT <DURATION>",
	 GT_OPTION_FLAG, AT(one_line), NULL},
	{0, "inject", "FILE",
	 "insert the GPU programs of this object into the kernels of CMD, as 'gputap run' does; "
	 "may "
	 "be repeated",
	 GT_OPTION_WORDS, AT(inject), NULL},
	{0, "kernel", "KERNEL",
	 "with --inject: only into kernels whose name, mangled or demangled, matches the glob "
	 "KERNEL; may be repeated",
	 GT_OPTION_WORDS, AT(injection.kernels), NULL},
	{0, "set", "MAP[K]=V",
	 "with --inject: set a value of a map before the run, or an array from a file: MAP=@FILE",
	 GT_OPTION_LIST, AT(injection.values), NULL},
	GT_RUN_OPTIONS(AT(target), "16M"),
};

static const char *const examples[] = {
	"gputap trace -- ./vectoradd              # trace a command from its first call",
	"sudo gputap trace -d 4711                # trace a running process",
	"sudo gputap trace -f 'cudaMem*' --failed # failed calls of all processes",
	"gputap trace -e cuda,cublas,nccl -- ./train  # with the libraries above CUDA",
	"gputap trace --inject counter.bpf.o -- ./train  # with GPU programs in its kernels",
	"gputap trace -o run.gtap -- ./train      # record a capture",
	"gputap trace --from run.gtap -c          # analyse it later",
	NULL,
};

/* The outputs of one run. */
struct trace {
	const struct trace_options *given;
	bool has_command, has_run;
	struct {
		const struct gt_output *output;
		void *state;
	} outputs[2];
	size_t output_count;
	struct gt_trace_injection *injection; /* NULL: none */
	struct gt_session *session;
	struct gt_report_interval interval;
};

static int flush_outputs(void *opaque)
{
	struct trace *trace = opaque;
	int error = 0;

	for (size_t i = 0; i < trace->output_count && !error; i++)
		error = trace->outputs[i].output->flush(trace->outputs[i].state);
	return error;
}

/* Print the tables as of a time. *ret_any (NULL: not wanted): whether there are any. */
static int print_tables(struct trace *trace, uint64_t now, bool *ret_any)
{
	/* The lines of earlier events come first. */
	int error = flush_outputs(trace);

	for (size_t i = 0; i < trace->output_count && !error; i++) {
		const struct gt_output *output = trace->outputs[i].output;

		if (!output->report)
			continue;
		error = output->report(trace->outputs[i].state,
				       now - gt_session_start(trace->session));
		if (ret_any)
			*ret_any = true;
	}
	return error;
}

static int check_interval(struct trace *trace, uint64_t now)
{
	uint64_t end;

	return gt_interval_is_over(&trace->interval, gt_session_start(trace->session), now, &end)
		       ? print_tables(trace, end, NULL)
		       : 0;
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct trace *trace = opaque;
	int error = 0;

	if (trace->injection)
		gt_trace_injection_event(trace->injection, names, event);
	/* Sums are collected when no event waits. */
	if (event->clock == GT_CLOCK_MONOTONIC &&
	    !gt_trace_options_has_sums(&trace->given->target.trace))
		error = check_interval(trace, event->time);
	for (size_t i = 0; i < trace->output_count && !error; i++)
		error = trace->outputs[i].output->event(trace->outputs[i].state, names, event);
	return error;
}

/* Print what --interval or SIGUSR1 requests. */
static int print_requested(void *opaque)
{
	struct trace *trace = opaque;
	uint64_t now = gt_clock_monotonic(), end;
	bool requested = gt_interval_is_requested(&trace->interval), any = false;
	bool over =
		gt_interval_is_over(&trace->interval, gt_session_start(trace->session), now, &end);
	int error = 0;

	if (requested || over)
		gt_session_collect(trace->session);
	if (over)
		error = print_tables(trace, end, NULL);
	if (requested && !error)
		error = print_tables(trace, now, &any);
	if (requested && !any)
		gt_target_print_account(trace->session, now);
	return error;
}

static int close_outputs(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct trace *trace = opaque;
	int error = 0;

	for (size_t i = 0; i < trace->output_count; i++) {
		int failed = trace->outputs[i].output->close(trace->outputs[i].state, diag);

		error = error ? error : failed;
	}
	trace->output_count = 0;
	gt_interval_end(&trace->interval);
	return error;
}

static int add_output(struct trace *trace, const struct gt_output *output,
		      const struct gt_output_options *how, struct gt_diag *diag)
{
	size_t i = trace->output_count;
	int error = output->open(how, &trace->outputs[i].state, diag);

	if (error)
		return error;
	trace->outputs[i].output = output;
	trace->output_count++;
	return 0;
}

static const struct gt_output *main_output(const struct trace_options *given)
{
	if (gt_target_makes_capture(&given->target))
		return &gt_output_capture;
	if (given->counts)
		return &gt_output_counts;
	if (given->target.json)
		return &gt_output_json;
	return given->one_line ? &gt_output_one_line : &gt_output_lines;
}

/* Of calls that may turn out not to be wanted nothing is shown before they return. */
static bool has_entries(const struct trace_options *given)
{
	return (main_output(given) == &gt_output_lines ||
		main_output(given) == &gt_output_one_line) &&
	       !given->target.trace.from && !given->target.trace.failed_only &&
	       !given->target.trace.condition;
}

/*
 * Whether the table of functions is all that is wanted: the kernel counts the calls then. A limit
 * of calls needs a record of each, and so does a condition that the kernel cannot test.
 */
static bool needs_only_sums(const struct trace_options *given)
{
	const struct gt_trace_options *trace = &given->target.trace;

	return main_output(given) == &gt_output_counts && !trace->from && !trace->max_events &&
	       gt_when_is_for_kernel(trace->condition);
}

/* Lines about processes come with -v, and where their source was asked for by its name. */
static bool shows_processes(const struct trace_options *given)
{
	gt_vec_each (source, &given->target.trace.sources.words)
		if (!strcmp(*source, gt_source_process.name))
			return true;
	return given->target.trace.verbose;
}

static enum gt_time_style time_style(const struct trace_options *given)
{
	if (!given->times)
		return GT_TIME_NONE;
	return given->time < 0 ? GT_TIME_WALL : (enum gt_time_style)given->time;
}

static void begin_trace(void *opaque, struct gt_session *session)
{
	struct trace *trace = opaque;

	trace->session = session;
}

static int open_outputs(void *opaque, struct gt_diag *diag)
{
	struct trace *trace = opaque;
	const struct trace_options *given = trace->given;
	const struct gt_output *output = main_output(given);
	const char *path = given->target.output;
	struct gt_output_options how = {
		.path = path && strcmp(path, "-") ? path : NULL,
		.fd = trace->has_command && !path ? STDERR_FILENO : STDOUT_FILENO,
		.time = time_style(given),
		.returns = given->returns,
		.entries = has_entries(given),
		.processes = shows_processes(given),
		.verbose = given->target.trace.verbose,
	};
	int error = add_output(trace, output, &how, diag);

	trace->has_run = true;
	if (error)
		return error;
	gt_interval_begin(&trace->interval);
	if ((given->summary && output != &gt_output_counts) ||
	    (given->counts && output == &gt_output_capture)) {
		how.path = NULL;
		how.fd = trace->has_command && (!path || strcmp(path, "-")) ? STDERR_FILENO
									    : STDOUT_FILENO;
		error = add_output(trace, &gt_output_counts, &how, diag);
	}
	if (error)
		close_outputs(trace, NULL, NULL);
	return error;
}

/* Options of text have no effect on other outputs. GT_EXIT_OK, or the status of an error. */
static int check_text_options(const struct gt_cli_command *self, const struct trace_options *given)
{
	const struct gt_output *output = main_output(given);
	bool is_text = output == &gt_output_lines || output == &gt_output_one_line;
	const char *other = given->target.json             ? "--json"
			    : output == &gt_output_capture ? "-o FILE.gtap (a capture)"
							   : "-c";
	const struct {
		bool given;
		const char *name;
	} texts[] = {
		{!given->returns, "-r"},
		{given->one_line, "-1"},
		{!given->times, "-t"},
		{given->time >= 0, "--time"},
	};

	for (size_t i = 0; i < gt_countof(texts) && !is_text; i++)
		if (texts[i].given)
			return gt_cli_usage_error(self, "%s is for text: it has no effect with %s",
						  texts[i].name, other);
	if (given->one_line && !given->returns)
		return gt_cli_usage_error(self, "-r and -1 cannot be used together");
	if (!given->times && given->time >= 0)
		return gt_cli_usage_error(self, "-t and --time cannot be used together");
	return GT_EXIT_OK;
}

/* Whether -e names known sources alone, and none of calls, which -c counts. */
static bool has_no_calls(const struct gt_strings *sources)
{
	gt_vec_each (name, &sources->words) {
		const struct gt_source *source = gt_source_find(*name);

		if (!source || source->group)
			return false;
	}
	return sources->words.count;
}

static int check_options(const struct gt_cli_command *self, const struct trace_options *given,
			 char *const *command)
{
	if (given->counts && given->target.json)
		return gt_cli_usage_error(self, "-c and --json cannot be used together");
	if (given->target.json && main_output(given) == &gt_output_capture)
		return gt_cli_usage_error(self,
					  "--json and -o FILE.gtap (a capture) cannot be used "
					  "together; record first, then use --from");
	if (given->counts && has_no_calls(&given->target.trace.sources))
		return gt_cli_usage_error(self,
					  "-c counts calls of APIs, and -e enables none of them; "
					  "'gputap stat -e %s' summarizes other events",
					  given->target.trace.sources.words.items[0]);
	if (given->interval && !given->counts && !given->summary)
		return gt_cli_usage_error(self, "--interval is for the table of -c or -s");
	if (given->inject.words.count && !command)
		return gt_cli_usage_error(self, "--inject needs a command: -- CMD");
	if (!given->inject.words.count &&
	    (given->injection.kernels.words.count || given->injection.values.words.count))
		return gt_cli_usage_error(self, "--kernel and --set are for --inject FILE");
	return check_text_options(self, given);
}

/* Run the session with the programs, then print what they collected. */
static int trace_with_programs(struct trace *trace, const struct gt_run *run,
			       struct trace_options *given)
{
	const char *path = given->target.output;
	bool is_text_file = path && strcmp(path, "-") && main_output(given) != &gt_output_capture;
	gt_auto(trace_injection) struct gt_trace_injection *injection = NULL;
	gt_autofree char *exact = NULL;
	struct gt_diag diag = {0};
	int status;

	given->injection.json = given->target.json;
	given->injection.verbose = given->target.trace.verbose;
	given->injection.threads = GT_CLI_INJECTION_THREADS;
	given->injection.event_bytes =
		gt_gpu_times_ring(&given->target.trace, given->target.trace.gpu_times_period);
	if (given->target.trace.gpu_times_exact && gt_exact_grids_object(&exact, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	given->injection.own = exact;
	status = gt_trace_injection_open(&given->injection, &given->inject, &injection);
	if (status != GT_GO_ON)
		return status;
	trace->injection = injection;
	given->target.trace.companion = gt_trace_injection_companion(injection);
	status = gt_target_run(&given->target.trace, run);
	/* The session was not opened. */
	if (!trace->has_run)
		return status;
	if (gt_trace_injection_print(injection, is_text_file ? path : NULL,
				     path && !strcmp(path, "-") ? STDOUT_FILENO : STDERR_FILENO) &&
	    !status)
		status = GT_EXIT_FAILED;
	return status;
}

static int trace_target(const struct gt_cli_command *self, struct trace_options *given,
			char *const *command)
{
	struct trace trace = {.given = given, .has_command = command};
	const struct gt_run run = {
		.context = &trace,
		.begin = begin_trace,
		.open = open_outputs,
		.event = take_event,
		.flush = flush_outputs,
		.idle = print_requested,
		.close = close_outputs,
		.loss_remedy = main_output(given) == &gt_output_capture
				       ? "use a larger --ring-size, or trace fewer functions: -f"
				       : "use a larger --ring-size, a capture (-o FILE.gtap), -c, "
					 "or trace fewer functions: -f",
	};
	int status;

	status = check_options(self, given, command);
	if (status)
		return status;
	status = gt_target_complete(self, &given->target, command, false);
	if (status)
		return status;
	given->target.trace.entries = has_entries(given);
	given->target.trace.sums = needs_only_sums(given);
	given->target.trace.capture = gt_target_makes_capture(&given->target);
	trace.interval.length = given->interval;
	trace.interval.duration = given->target.trace.duration;
	gt_interval_prepare(&trace.interval);
	return given->inject.words.count ? trace_with_programs(&trace, &run, given)
					 : gt_target_run(&given->target.trace, &run);
}

static int run_trace(const struct gt_cli_command *self, int count, char **arguments)
{
	struct trace_options given = {.time = -1, .times = true, .returns = true};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON)
		status = trace_target(self, &given, rest < count ? arguments + rest : NULL);
	gt_target_free(&given.target);
	gt_strings_free(&given.inject);
	gt_strings_free(&given.injection.kernels);
	gt_strings_free(&given.injection.values);
	return status;
}

const struct gt_cli_command gt_command_trace = {
	.name = "trace",
	.summary = "Trace CUDA calls of a command, a process or the whole system",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"Prints a line when a call begins ([ENTER]) and one when it returns ([EXIT]), "
		"with arguments, result and duration. With CMD, runs the command and exits with "
		"its status; the lines go to stderr, otherwise to stdout. Without CMD and -d, "
		"traces all processes. Calls traced by default: those of the runtime API (of the "
		"driver API where no runtime is used) that allocate, copy, launch, synchronize "
		"or change state; 'gputap list --functions' lists them, -f '*' traces all. "
		"Without an NVIDIA driver, CMD uses the software GPU (see "
		"--gpu). The totals at the end account for every call: made = complete + "
		"unfinished + lost + filtered by a condition. They begin with \"incomplete:\" if "
		"something was lost, or calls may have been missed since probes were not in place "
		"in time.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_trace,
};
