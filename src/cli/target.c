/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/target.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "capture/capture.h"
#include "cli/gpu_times.h"
#include "event/kinds.h"
#include "names/machine.h"
#include "probe/api/calls.h"
#include "probe/load.h"
#include "probe/source.h"

/* Without -v, the overhead is printed of runs this long, from this part of the time on. */
#define MUCH_AFTER 1000000000ull
#define MUCH 10
#define SOON_MS 200 /* the command may end without a message this long after the tracing */

static int parse_pids(const struct gt_cli_command *self, struct gt_trace_options *options)
{
	size_t count = options->pids.words.count;

	options->processes = calloc(count + 1, sizeof(*options->processes));
	if (!options->processes) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = options->pids.words.items[i];
		uint64_t number;

		if (gt_parse_u64(text, &number) || !number || number > INT32_MAX)
			return gt_cli_usage_error(self, "invalid process id '%s' for --pid", text);
		options->processes[i] = (pid_t)number;
	}
	options->process_count = count;
	return GT_EXIT_OK;
}

/* The option that the agent cannot apply to calls, with its value, or NULL. */
static const char *find_kernel_option(const struct gt_trace_options *trace)
{
	if (trace->path)
		return "--path";
	if (trace->names.words.count)
		return "--comm";
	if (trace->cgroups_traced.words.count)
		return "--cgroup";
	if (trace->users.words.count)
		return "--uid";
	if (trace->attach)
		return "--attach";
	if (trace->late == GT_LATE_HOLD)
		return "--late-libs hold";
	if (trace->stack == GT_STACK_DWARF)
		return "--stack dwarf";
	return trace->stack == GT_STACK_MIXED ? "--stack mixed" : NULL;
}

static int complete_via_agent(const struct gt_cli_command *self,
			      const struct gt_trace_options *trace, char *const *command)
{
	const char *option = find_kernel_option(trace);

	if (!command)
		return gt_cli_usage_error(self, "--via agent needs a command: -- CMD: the agent "
						"cannot enter a running process");
	if (option)
		return gt_cli_usage_error(self, "--via agent excludes %s: use --via kernel",
					  option);
	return GT_EXIT_OK;
}

/* The agent needs no privilege; it is taken where uprobes are not permitted. */
static void choose_via(struct gt_trace_options *trace)
{
	struct gt_diag why = {0};
	int error = trace->command && !find_kernel_option(trace) ? gt_load_check(&why) : 0;

	trace->via = error == -EPERM || error == -EACCES ? GT_VIA_AGENT : GT_VIA_KERNEL;
	trace->via_is_chosen = trace->via == GT_VIA_AGENT;
}

static bool has_capture_name(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;

	return dot && !strcmp(dot, ".gtap");
}

static bool has_option(const struct gt_cli_command *self, const char *name)
{
	for (size_t i = 0; i < self->option_count; i++)
		if (!strcmp(self->options[i].name, name))
			return true;
	return false;
}

static int report_capture(const struct gt_cli_command *self, const char *path)
{
	if (has_option(self, "from"))
		return gt_cli_usage_error(self, "%s is a capture, not a command: use --from %s",
					  path, path);
	return gt_cli_usage_error(
		self, "%s is a capture, not a command: 'gputap report %s' shows it", path, path);
}

int gt_target_check_output(const char *output, const char *capture)
{
	if (!output || !strcmp(output, "-") || !gt_is_same_file(output, capture))
		return GT_EXIT_OK;
	gt_cli_error("%s is a capture that is read: choose another output file", output);
	return GT_EXIT_FAILED;
}

int gt_target_complete(const struct gt_cli_command *self, struct gt_target_options *options,
		       char *const *command, bool callers)
{
	struct gt_trace_options *trace = &options->trace;
	const char *live = gt_trace_options_live(trace);

	if (trace->from && (command || trace->path))
		return gt_cli_usage_error(self, "--from shows a capture: it takes no command and "
						"no path");
	if (command && has_capture_name(*command) && access(*command, X_OK))
		return report_capture(self, *command);
	if (trace->from && live)
		return gt_cli_usage_error(self, "--%s cannot be applied to a capture (--from)",
					  live);
	if (trace->from && gt_target_check_output(options->output, trace->from))
		return GT_EXIT_FAILED;
	if (command && trace->pids.words.count)
		return gt_cli_usage_error(self, "-d and a command exclude each other");
	if (!command && trace->late == GT_LATE_HOLD)
		return gt_cli_usage_error(self, "--late-libs hold requires a command: other "
						"processes cannot be held");
	if (!trace->from && (trace->start || trace->end))
		return gt_cli_usage_error(self, "--%s is for a capture: it needs --from FILE",
					  trace->start ? "start" : "end");
	if (trace->stack_depth > GT_MAX_CALLERS)
		return gt_cli_usage_error(self,
					  "invalid value '%" PRIu64 "' for --stack-depth (1 to %d)",
					  trace->stack_depth, GT_MAX_CALLERS);
	if (trace->gpu_times_default && command && !trace->gpu_times)
		trace->gpu_times = "all";
	if (gt_gpu_times_parse(trace->gpu_times, &trace->gpu_times_period, &trace->gpu_times_exact))
		return gt_cli_usage_error(self,
					  "invalid value '%s' for --gpu-times (one of: off, all, "
					  "exact, sampled=N)",
					  trace->gpu_times);
	if (trace->via == GT_VIA_AGENT && complete_via_agent(self, trace, command))
		return GT_EXIT_USAGE;
	if (trace->full_ring == GT_FULL_RING_DROP && trace->via == GT_VIA_KERNEL)
		return gt_cli_usage_error(self, "--full-ring is for --via agent: the ring of the "
						"kernel always drops");
	if (trace->gpu_times_period && !command)
		return gt_cli_usage_error(self, "--gpu-times needs a command: -- CMD: the agent "
						"that times work cannot enter a running process");
	trace->command = command;
	if (trace->via == GT_VIA_AUTO && !trace->from)
		choose_via(trace);
	if (!trace->from)
		gt_trace_options_resolve(trace, callers);
	return parse_pids(self, trace);
}

void gt_target_free(struct gt_target_options *options)
{
	gt_trace_options_free(&options->trace);
}

bool gt_target_makes_capture(const struct gt_target_options *options)
{
	return has_capture_name(options->output);
}

void gt_target_put_totals(struct gt_strbuf *text, const struct gt_capture_totals *totals,
			  const char *path)
{
	gt_strbuf_printf(text, "%" PRIu64 " event%s in ", totals->events,
			 totals->events == 1 ? "" : "s");
	gt_format_bytes(text, totals->bytes);
	if (totals->events)
		gt_strbuf_printf(text, " (%.1f bytes each)",
				 (double)totals->bytes / (double)totals->events);
	if (totals->start) {
		gt_strbuf_puts(text, ", of ");
		gt_format_duration(text, totals->end - totals->start);
	}
	if (strcmp(path, "-")) {
		gt_strbuf_puts(text, ": ");
		gt_put_printable(text, path);
	}
}

struct running {
	const struct gt_run *run;
	bool is_recorded; /* the events are those of a capture */
	bool is_narrowed; /* and not all of its calls were asked for */
	bool is_verbose;
	const struct gt_strings *sources; /* of -e */
};

/* Of several captures, their names are before what is printed of them. */
static void print_about_capture(const struct gt_run *run, const char *text)
{
	gt_cli_error("%s%s%s", run->capture ? run->capture : "", run->capture ? ": " : "", text);
}

/* A note of a capture is about the recording. */
static void print_note(const struct gt_event *event, bool is_recorded, const struct gt_run *run)
{
	size_t length;
	const char *text = gt_event_text(event, &length);
	gt_auto_strbuf printable = GT_STRBUF_INIT, line = GT_STRBUF_INIT;
	gt_autofree char *copy = strndup(text, length);

	gt_put_printable(&printable, copy ? copy : "");
	gt_strbuf_printf(&line, "%s%s", is_recorded ? "recorded: " : "",
			 gt_strbuf_string(&printable));
	print_about_capture(run, gt_strbuf_string(&line));
}

/* The machine on which a capture was made. */
static void print_machine(const struct gt_event *event)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_put_machine(&text, (const void *)event);
	gt_cli_error("recorded by %s", gt_strbuf_string(&text));
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct running *running = opaque;

	if (event->kind == GT_EVENT_note) {
		/* The lines of earlier events come first. */
		int error = running->run->flush(running->run->context);

		if (!running->run->is_quiet)
			print_note(event, running->is_recorded, running->run);
		if (error)
			return error;
	}
	if (event->kind == GT_EVENT_machine && running->is_recorded && running->is_verbose)
		print_machine(event);
	return running->run->event(running->run->context, names, event);
}

static int idle(void *opaque)
{
	struct running *running = opaque;
	int error = running->run->idle ? running->run->idle(running->run->context) : 0;

	return error ? error : running->run->flush(running->run->context);
}

static void put_gaps(struct gt_strbuf *text, const struct gt_names *names)
{
	gt_auto_strbuf gaps = GT_STRBUF_INIT;

	gt_put_gaps(&gaps, names);
	if (gaps.length)
		gt_strbuf_printf(text, "; %s", gt_strbuf_string(&gaps));
}

/* Calls are those that probes of the kernel saw, unless the text names another method. */
static void put_calls(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event_account *account)
{
	const char *via = gt_names_via(names);

	gt_strbuf_printf(text, "%" PRIu64 " call%s", (uint64_t)account->made,
			 account->made == 1 ? "" : "s");
	if (via && strcmp(via, "kernel") != 0)
		gt_strbuf_printf(text, " via %s", strcmp(via, "both") ? via : "kernel and agent");
	gt_strbuf_printf(text, ": %" PRIu64 " complete, %" PRIu64 " unfinished, %" PRIu64 " lost",
			 (uint64_t)account->complete, (uint64_t)account->unfinished,
			 (uint64_t)account->lost);
	if (account->filtered)
		gt_strbuf_printf(text, ", %" PRIu64 " filtered", (uint64_t)account->filtered);
}

/* A source that was not asked for by its name is not worth a line where it saw nothing. */
static bool is_worth_showing(const struct gt_known_totals *totals, const struct running *running)
{
	gt_vec_each (name, &running->sources->words)
		if (!strcmp(*name, totals->source))
			return true;
	return running->is_verbose || totals->recorded || totals->lost || totals->unsampled ||
	       totals->evicted || totals->unattributed;
}

static void put_layers(struct gt_strbuf *text, const struct gt_names *names,
		       const struct running *running)
{
	bool continued = !gt_names_has_only_layers(names);
	size_t count;
	const struct gt_known_totals *totals = gt_names_totals(names, &count);

	for (size_t i = 0; i < count; i++) {
		if (!is_worth_showing(&totals[i], running) && (continued || i + 1 < count))
			continue;
		gt_strbuf_puts(text, continued ? "; " : "");
		gt_put_totals(text, &totals[i]);
		continued = true;
	}
}

static void put_other_counts(struct gt_strbuf *text, const struct gt_event_account *account)
{
	if (account->orphans)
		gt_strbuf_printf(text, "; %" PRIu64 " more began before the probes were attached",
				 (uint64_t)account->orphans);
	if (account->entries_lost)
		gt_strbuf_printf(text, "; %" PRIu64 " [ENTER] line%s lost",
				 (uint64_t)account->entries_lost,
				 account->entries_lost == 1 ? "" : "s");
	if (account->others_lost)
		gt_strbuf_printf(text, "; %" PRIu64 " other event%s lost",
				 (uint64_t)account->others_lost,
				 account->others_lost == 1 ? "" : "s");
}

void gt_target_print_account(const struct gt_session *session, uint64_t now)
{
	uint64_t since = now - gt_session_start(session);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_event_account account;

	gt_session_account(session, &account);
	gt_strbuf_printf(&text, "after %" PRIu64 ".%03u s: ", since / 1000000000,
			 (unsigned)(since % 1000000000 / 1000000));
	put_calls(&text, gt_session_names(session), &account);
	put_other_counts(&text, &account);
	gt_cli_error("%s", gt_strbuf_string(&text));
}

/* Where only some calls of a capture are shown, the losses are nevertheless those of all. */
static void print_totals(const struct gt_names *names, const struct running *running)
{
	const struct gt_event_account *account = gt_names_account(names);
	gt_auto_strbuf text = GT_STRBUF_INIT, gaps = GT_STRBUF_INIT;

	if (!account) {
		print_about_capture(running->run, "the capture is truncated: it has no totals");
		gt_put_gaps(&gaps, names);
		if (gaps.length)
			gt_strbuf_printf(&text, "incomplete: %s", gt_strbuf_string(&gaps));
		if (text.length)
			print_about_capture(running->run, gt_strbuf_string(&text));
		return;
	}
	if (gt_names_is_incomplete(names))
		gt_strbuf_puts(&text, "incomplete: ");
	if (!gt_names_has_only_layers(names))
		put_calls(&text, names, account);
	put_layers(&text, names, running);
	put_other_counts(&text, account);
	if (account->lost || account->entries_lost || account->others_lost)
		gt_strbuf_printf(&text, " (%s)",
				 running->is_narrowed        ? "of all that was recorded"
				 : running->run->loss_remedy ? running->run->loss_remedy
							     : "use a larger --ring-size");
	put_gaps(&text, names);
	print_about_capture(running->run, gt_strbuf_string(&text));
}

/* With -v, or where probes took much of the time. */
static void print_overhead(const struct gt_names *names, const struct running *running)
{
	const struct gt_event_overhead *overhead = gt_names_overhead(names);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_event_overhead updated;
	uint64_t cost;

	if (!overhead)
		return;
	if (!running->is_recorded) {
		updated = gt_overhead_until_now(overhead);
		overhead = &updated;
	}
	cost = overhead->run_time + overhead->trap_time;
	if (!running->is_verbose &&
	    (overhead->elapsed < MUCH_AFTER || cost < overhead->elapsed / MUCH))
		return;
	gt_put_overhead(&text, overhead);
	if (!running->is_verbose)
		gt_strbuf_puts(&text, "; --max-overhead limits that of the probes");
	gt_cli_error("%s", gt_strbuf_string(&text));
}

/* The exit status without that of a command. As in a shell for a command that cannot be run. */
static int exit_status(int error, const struct gt_diag *diag)
{
	if (error == -EINVAL)
		return GT_EXIT_USAGE;
	if (error && !strcmp(diag->stage, "command"))
		return error == -ENOENT ? GT_EXIT_NO_COMMAND : GT_EXIT_NO_EXECUTION;
	return error ? GT_EXIT_FAILED : GT_EXIT_OK;
}

/* Whether the output has printed the totals and the gaps, and nothing is lost. */
static bool totals_were_printed(const struct gt_run *run, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	return run->prints_totals &&
	       (!account || (!account->lost && !account->entries_lost && !account->others_lost));
}

/* Whether nothing is to be printed of totals, since nothing is lost. */
static bool is_silent(const struct gt_run *run, const struct gt_names *names)
{
	return run->is_quiet && gt_names_account(names) && !gt_names_is_incomplete(names);
}

static int run_session(struct gt_session *session, struct running *running, struct gt_diag *diag)
{
	const struct gt_names *names = gt_session_names(session);
	const struct gt_run *run = running->run;
	bool stopped, read_in_part;
	int closed, error;

	error = gt_session_run(session, take_event, idle, running, diag);
	stopped = error && error != -EBADMSG;
	/* A pipe whose reader is gone ends the session and is no failure. */
	if (error == -EPIPE)
		error = 0;
	closed = run->close(run->context, names, diag);
	if (!run->is_quiet)
		print_overhead(names, running);
	/* Of a capture that was read in part, since the output failed, the totals are not known. */
	read_in_part = running->is_recorded && stopped && !gt_names_account(names);
	if (!read_in_part && !totals_were_printed(run, names) && !is_silent(run, names))
		print_totals(names, running);
	return error || closed == -EPIPE ? error : closed;
}

/* Return the command's exit status. Print messages while it continues, unless it ends soon. */
static int wait_for_command(struct gt_session *session, const struct gt_trace_options *options)
{
	struct gt_session_command_state command;
	enum gt_session_wait wait = gt_session_wait(session, SOON_MS, &command);

	if (wait == GT_SESSION_WAIT_LATE &&
	    (options->duration || options->max_events || command.signals))
		gt_cli_error(
			"tracing has ended; waiting for PID %d (%s), which continues (Ctrl-C is "
			"passed on to it)",
			(int)command.pid, command.name);
	while (wait != GT_SESSION_WAIT_ENDED) {
		if (wait == GT_SESSION_WAIT_SIGNAL)
			gt_cli_error("passed signal %d (%s) on; waiting for PID %d (%s)",
				     command.signal, strsignal(command.signal), (int)command.pid,
				     command.name);
		wait = gt_session_wait(session, -1, &command);
	}
	return command.status;
}

/* Open a session, and what times the work of the GPU beside it. */
static int open_session(struct gt_trace_options *options, struct gt_gpu_times **ret_times,
			struct gt_session **ret_session, struct gt_diag *diag)
{
	int error = 0;

	options->sums = gt_trace_options_has_sums(options);
	if (options->via_is_chosen)
		gt_cli_error("no privilege for uprobes: the agent in the processes of the command "
			     "records the calls (--via agent; root: --via kernel)");
	if (options->gpu_times_period || options->via == GT_VIA_AGENT)
		error = gt_gpu_times_open(options, options->gpu_times_period, ret_times, diag);
	if (*ret_times)
		options->companion = gt_gpu_times_companion(*ret_times);
	if (error && options->gpu_times_default && options->via != GT_VIA_AGENT) {
		gt_cli_error("the GPU's times are not recorded: %s", diag->text);
		*diag = (struct gt_diag){0};
		error = 0;
	}
	return error ? error : gt_session_open(options, ret_session, diag);
}

int gt_target_run(const struct gt_trace_options *given, const struct gt_run *run)
{
	struct gt_trace_options changed = *given, *options = &changed;
	/* The session ends before what it uses. */
	gt_auto(gpu_times) struct gt_gpu_times *times = NULL;
	gt_auto(session) struct gt_session *session = NULL;
	struct running running = {
		.run = run,
		.is_recorded = options->from,
		.is_verbose = options->verbose,
		.sources = &given->sources,
		.is_narrowed = options->from &&
			       (options->process_count || options->functions.words.count ||
				options->names.words.count || options->duration || options->start ||
				options->end),
	};
	struct gt_diag diag = {0};
	int error = open_session(options, &times, &session, &diag);
	int status = GT_EXIT_OK;
	bool opened = false;

	if (!error && run->begin)
		run->begin(run->context, session);
	if (!error)
		error = run->open(run->context, &diag);
	if (!error) {
		opened = true;
		error = run_session(session, &running, &diag);
	}
	if (error) {
		if (!gt_diag_is_set(&diag))
			gt_diag(&diag, error, "session", NULL, "%s", strerror(-error));
		gt_cli_diag(&diag);
	}
	/* A command that was not resumed would never end. */
	if (opened)
		status = wait_for_command(session, options);
	return status ? status : exit_status(error, &diag);
}
