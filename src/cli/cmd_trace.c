/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "trace": shows calls while they happen, or those of a capture. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "event/kinds.h"
#include "output/output.h"
#include "session/session.h"

struct trace_options {
	struct gt_strings pids, sources, functions;
	const char *path, *output, *from;
	const char *name, *cgroup, *uid, *condition;
	bool failed, json, counts, summary, verbose, times, returns;
	int time, gpu, attach;
	uint64_t duration, max_events, ring_size;
};

static const char *const time_styles[] = {"wall", "relative", "ns", NULL};
static const char *const gpus[] = {"auto", "nvidia", "soft", NULL};
static const char *const ways[] = {"auto", "multi", "perf", NULL};

#define AT(field) offsetof(struct trace_options, field)

static const struct gt_option options[] = {
	{'p', "path", "PATH", "attach to this library or program only", GT_OPTION_STRING, AT(path),
	 NULL},
	{'d', "pid", "PID,…", "trace these processes, their threads and children", GT_OPTION_LIST,
	 AT(pids), NULL},
	{0, "comm", "NAME", "only processes of this name; may end in '*'", GT_OPTION_STRING,
	 AT(name), NULL},
	{0, "cgroup", "PATH", "only processes in this cgroup (v2) or below", GT_OPTION_STRING,
	 AT(cgroup), NULL},
	{0, "uid", "USER", "only this user's processes: a number or a name", GT_OPTION_STRING,
	 AT(uid), NULL},
	{'e', "event", "SOURCE,…", "sources to switch on (default: cuda)", GT_OPTION_LIST,
	 AT(sources), NULL},
	{'f', "function", "NAME,…", "only these calls; globs such as 'cudaMem*' or '*'",
	 GT_OPTION_LIST, AT(functions), NULL},
	{0, "failed", NULL, "only calls that return an error", GT_OPTION_FLAG, AT(failed), NULL},
	{0, "when", "CONDITION", "only calls for which it holds, such as 'duration>1ms'",
	 GT_OPTION_STRING, AT(condition), NULL},
	{0, "duration", "TIME", "end after this time", GT_OPTION_DURATION, AT(duration), NULL},
	{0, "max-events", "N", "end after N calls", GT_OPTION_NUMBER, AT(max_events), NULL},
	{'o', "output", "FILE", "write to FILE ('-': stdout); a name in .gtap makes a capture",
	 GT_OPTION_STRING, AT(output), NULL},
	{0, "from", "FILE", "show a capture instead of what happens now", GT_OPTION_STRING,
	 AT(from), NULL},
	{0, "json", NULL, "one JSON object a line", GT_OPTION_FLAG, AT(json), NULL},
	{'c', "count", NULL, "only a table of calls, errors and times, at the end", GT_OPTION_FLAG,
	 AT(counts), NULL},
	{'s', "summary", NULL, "that table after the lines", GT_OPTION_FLAG, AT(summary), NULL},
	{0, "time", "STYLE", "times as wall (clock), relative or ns", GT_OPTION_CHOICE, AT(time),
	 time_styles},
	{'t', "no-time", NULL, "no times", GT_OPTION_FLAG_OFF, AT(times), NULL},
	{'r', "no-returns", NULL, "no returns, only entries", GT_OPTION_FLAG_OFF, AT(returns),
	 NULL},
	{'v', "verbose", NULL, "all API layers, processes, and what is done to attach",
	 GT_OPTION_FLAG, AT(verbose), NULL},
	{0, "gpu", "WHICH", "GPU of the command: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gpus},
	{0, "attach", "WAY", "attach by auto, multi (uprobe_multi) or perf", GT_OPTION_CHOICE,
	 AT(attach), ways},
	{0, "ring-size", "SIZE", "bytes of the ring between kernel and gputap (default: 16M)",
	 GT_OPTION_SIZE, AT(ring_size), NULL},
};

static const char *const examples[] = {
	"gputap trace -- ./vectoradd              # a command, from its first call",
	"sudo gputap trace -d 4711                # a process that runs",
	"sudo gputap trace -f 'cudaMem*' --failed # what fails, in all processes",
	"gputap trace -o run.gtap -- ./train      # records it",
	"gputap trace --from run.gtap -c          # and looks at it later",
	NULL,
};

/* The outputs of one run, and what the command itself prints. */
struct trace {
	struct gt_names *names;
	struct {
		const struct gt_output *output;
		void *state;
	} outputs[2];
	size_t output_count;
};

static int take_event(void *opaque, const struct gt_event *event)
{
	struct trace *trace = opaque;
	int error = gt_names_take(trace->names, event);

	if (event->kind == GT_EVENT_note) {
		size_t length;
		const char *text = gt_event_text(event, &length);
		gt_auto_strbuf printable = GT_STRBUF_INIT;
		gt_autofree char *copy = strndup(text, length);

		gt_put_printable(&printable, copy ? copy : "");
		gt_cli_error("%s", gt_strbuf_string(&printable));
	}
	for (size_t i = 0; i < trace->output_count && !error; i++)
		error = trace->outputs[i].output->event(trace->outputs[i].state, trace->names,
							event);
	return error;
}

static int flush_outputs(void *opaque)
{
	struct trace *trace = opaque;
	int error = 0;

	for (size_t i = 0; i < trace->output_count && !error; i++)
		error = trace->outputs[i].output->flush(trace->outputs[i].state);
	return error;
}

static int close_outputs(struct trace *trace, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < trace->output_count; i++) {
		int failed = trace->outputs[i].output->close(trace->outputs[i].state, diag);

		error = error ? error : failed;
	}
	trace->output_count = 0;
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

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

static const struct gt_output *main_output(const struct trace_options *given)
{
	if (given->output && ends_in(given->output, ".gtap"))
		return &gt_output_capture;
	if (given->counts)
		return &gt_output_counts;
	return given->json ? &gt_output_json : &gt_output_lines;
}

static int open_outputs(struct trace *trace, const struct trace_options *given, bool has_command,
			struct gt_diag *diag)
{
	const struct gt_output *output = main_output(given);
	struct gt_output_options how = {
		.path = given->output && strcmp(given->output, "-") ? given->output : NULL,
		.fd = has_command && !given->output ? STDERR_FILENO : STDOUT_FILENO,
		.time = given->times ? (enum gt_time_style)given->time : GT_TIME_NONE,
		.returns = given->returns,
		.marks = !given->from,
		.verbose = given->verbose,
	};
	int error = add_output(trace, output, &how, diag);

	if (error)
		return error;
	if (given->summary || (given->counts && output == &gt_output_capture)) {
		how.path = NULL;
		error = add_output(trace, &gt_output_counts, &how, diag);
	}
	return error;
}

static int parse_pids(const struct trace_options *given, pid_t **ret_pids, size_t *ret_count)
{
	size_t count = given->pids.words.count;
	pid_t *pids = calloc(count + 1, sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t number;

		if (gt_parse_u64(given->pids.words.items[i], &number) || !number ||
		    number > INT32_MAX) {
			gt_cli_usage_error(&gt_command_trace, "'%s' is no process id",
					   given->pids.words.items[i]);
			free(pids);
			return -EINVAL;
		}
		pids[i] = number;
	}
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}

static struct gt_session_options session_options(const struct trace_options *given,
						 char *const *command, const pid_t *pids,
						 size_t pid_count)
{
	bool live_text = main_output(given) == &gt_output_lines && !given->from;

	return (struct gt_session_options){
		.from = given->from,
		.command = command,
		.pids = pids,
		.pid_count = pid_count,
		.path = given->path,
		.sources = given->sources.words.items,
		.source_count = given->sources.words.count,
		.functions = given->functions.words.items,
		.function_count = given->functions.words.count,
		.name = given->name,
		.cgroup = given->cgroup,
		.uid = given->uid,
		.condition = given->condition,
		.failed_only = given->failed,
		.marks = live_text && !given->failed && !given->condition,
		.verbose = given->verbose,
		.way = given->attach,
		.ring_size = given->ring_size,
		.duration_ns = given->duration,
		.max_events = given->max_events,
		.gpu = given->gpu,
	};
}

/* What was counted: always on stderr, so that no form of output hides a loss. */
static void print_totals(const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!account) {
		gt_cli_error("the capture was broken off: it has no totals");
		return;
	}
	gt_strbuf_printf(&text,
			 "%" PRIu64 " calls: %" PRIu64 " complete, %" PRIu64 " unfinished, %" PRIu64
			 " lost",
			 (uint64_t)account->made, (uint64_t)account->complete,
			 (uint64_t)account->unfinished, (uint64_t)account->lost);
	if (account->filtered)
		gt_strbuf_printf(&text, ", %" PRIu64 " left out by the conditions",
				 (uint64_t)account->filtered);
	if (account->orphans)
		gt_strbuf_printf(&text, "; %" PRIu64 " more had begun before",
				 (uint64_t)account->orphans);
	if (account->marks_lost)
		gt_strbuf_printf(&text, "; %" PRIu64 " [ENTER] lines lost",
				 (uint64_t)account->marks_lost);
	if (account->others_lost)
		gt_strbuf_printf(&text, "; %" PRIu64 " other events lost",
				 (uint64_t)account->others_lost);
	if (account->lost || account->marks_lost || account->others_lost)
		gt_strbuf_puts(&text, " (a bigger --ring-size loses less)");
	gt_cli_error("%s", gt_strbuf_string(&text));
}

/* Of a trace whose command gave none. A command that cannot be run gives what a shell gives. */
static int exit_status(int error, const struct gt_diag *diag)
{
	if (error == -EINVAL)
		return GT_EXIT_USAGE;
	if (error && !strcmp(diag->stage, "command"))
		return error == -ENOENT ? GT_EXIT_NO_COMMAND : GT_EXIT_NO_EXECUTION;
	return error ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int trace_session(const struct gt_session_options *how, const struct trace_options *given)
{
	gt_auto(session) struct gt_session *session = NULL;
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct trace trace = {.names = names};
	struct gt_diag diag = {0};
	int error = names ? gt_session_open(how, &session, &diag) : -ENOMEM;
	int status;

	if (!error)
		error = open_outputs(&trace, given, how->command, &diag);
	if (!error) {
		error = gt_session_run(session, take_event, flush_outputs, &trace, &diag);
		/* A pipe whose reader is gone ends the tracing and is no failure. */
		if (error == -EPIPE)
			error = 0;
		status = close_outputs(&trace, &diag);
		error = error || status == -EPIPE ? error : status;
		print_totals(names);
	}
	close_outputs(&trace, NULL);
	if (error) {
		if (!gt_diag_is_set(&diag))
			gt_diag(&diag, error, "trace", NULL, "%s", strerror(-error));
		gt_cli_diag(&diag);
	}
	status = session ? gt_session_wait(session) : 0;
	return status ? status : exit_status(error, &diag);
}

static int check_usage(const struct trace_options *given, bool has_command)
{
	const struct gt_cli_command *self = &gt_command_trace;

	if (given->from && (has_command || given->path))
		return gt_cli_usage_error(self, "--from shows a capture: it takes no command and "
						"no path");
	if (has_command && given->pids.words.count)
		return gt_cli_usage_error(self, "-d and a command exclude each other");
	if (given->counts && given->json)
		return gt_cli_usage_error(self, "-c and --json exclude each other");
	return GT_EXIT_OK;
}

static int run_trace(const struct gt_cli_command *self, int count, char **arguments)
{
	struct trace_options given = {.times = true, .returns = true};
	gt_autofree pid_t *pids = NULL;
	size_t pid_count = 0;
	int rest, status = GT_EXIT_USAGE;

	switch (gt_cli_parse(self, count, arguments, &given, &rest)) {
	case GT_PARSED_HELP:
		status = GT_EXIT_OK;
		break;
	case GT_PARSED_WRONG:
		break;
	case GT_PARSED_RUN:
		status = check_usage(&given, rest < count);
		if (!status && parse_pids(&given, &pids, &pid_count))
			status = GT_EXIT_USAGE;
		if (!status) {
			struct gt_session_options how = session_options(
				&given, rest < count ? arguments + rest : NULL, pids, pid_count);

			status = trace_session(&how, &given);
		}
	}
	gt_strings_free(&given.pids);
	gt_strings_free(&given.sources);
	gt_strings_free(&given.functions);
	return status;
}

const struct gt_cli_command gt_command_trace = {
	.name = "trace",
	.summary = "shows the CUDA calls of a command, a process, or all processes",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"Prints a line when a call begins ([ENTER]) and one when it returns ([EXIT]), "
		"with\n"
		"arguments, result and duration. With CMD it runs that and exits with its status; "
		"the\n"
		"lines go to stderr then, and to stdout otherwise. Without CMD and -d it traces "
		"all\n"
		"processes. Where no NVIDIA driver is, CMD gets the software GPU (see --gpu).\n"
		"The totals at the end count every call: made = complete + unfinished + lost.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_trace,
};
