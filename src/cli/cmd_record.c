/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "record": events of all sources into a capture, or a flight recorder. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "capture/capture.h"
#include "cli/cli.h"
#include "cli/recorder.h"
#include "cli/target.h"
#include "event/kinds.h"
#include "probe/load.h"
#include "probe/source.h"

#define DEFAULT_FILE "gputap.gtap"
#define MIN_RING (256u << 10)
#define DEFAULT_MAX_FILES 16
#define TRIGGER_INTERVAL_NS GT_SECOND_NS  /* from one file to the next */
#define PROGRESS_INTERVAL_NS GT_SECOND_NS /* of the line on a terminal */

struct record_options {
	struct gt_target_options target;
	struct gt_strings triggers;
	uint64_t ring, max_files;
	bool quiet;
};

#define AT(field) offsetof(struct record_options, field)

static const struct gt_option options[] = {
	GT_TARGET_OPTIONS(AT(target)),
	GT_CALL_OPTIONS(AT(target), "all"),
	{'o', "output", "FILE", "the capture to write (default: " DEFAULT_FILE "; '-': stdout)",
	 GT_OPTION_STRING, AT(target.output), NULL},
	{0, "ring", "SIZE",
	 "keep only the last SIZE bytes, compressed, in memory, and write them out upon --trigger",
	 GT_OPTION_BYTES, AT(ring), NULL},
	{0, "trigger", "TRIGGER,…",
	 "with --ring: write FILE.1.gtap, FILE.2.gtap … upon xid (an error of the GPU), error or "
	 "error=NAME (a call that returns it; globs), slow=TIME (a call that takes as long), "
	 "signal "
	 "(SIGUSR2), exit (default: signal,exit)",
	 GT_OPTION_LIST, AT(triggers), NULL},
	{0, "max-files", "N", "with --ring: write at most N files (default: 16)", GT_OPTION_COUNT,
	 AT(max_files), NULL},
	{'q', "quiet", NULL, "print only errors and what was lost", GT_OPTION_FLAG, AT(quiet),
	 NULL},
	GT_RUN_OPTIONS(AT(target), "16M"),
};

static const char *const examples[] = {
	"gputap record -- ./train                  # to gputap.gtap",
	"sudo gputap record -e cuda,sched -d 4711 --duration 10s -o run.gtap",
	"gputap record --ring 64M --trigger xid,error,slow=100ms -o fault.gtap -- ./server",
	"gputap record --from run.gtap --start 2s --end 3s -o part.gtap  # a part of a capture",
	"gputap info run.gtap                      # what a capture has",
	NULL,
};

struct recording {
	const struct record_options *given;
	const char *path;
	bool has_command, is_terminal, has_line;
	bool all_sources;                 /* without -e */
	struct gt_capture_writer *writer; /* NULL: with a ring */
	struct gt_capture_ring *ring;
	struct gt_triggers triggers;
	struct gt_session *session;      /* NULL: a capture is read */
	int signals;                     /* readable when SIGUSR2 came; -1: not wanted */
	unsigned files;                  /* that were written out */
	uint64_t suppressed;             /* triggers that came too soon, or after the last file */
	uint64_t triggered;              /* when the last file was written, ns; 0: none was */
	uint64_t start, shown;           /* of the recording; of the line on the terminal */
	uint64_t first, last;            /* times of the command's events, ns; 0: there was none */
	uint64_t lost;                   /* events for which there was no memory */
	struct gt_capture_totals totals; /* of the file, once it is written */
};

/* ---- messages ----------------------------------------------------------------------------- */

/* The command that shows a capture best. */
static const char *hint(void)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(commands[i]->name, "report"))
			return "gputap report";
	return "gputap trace --from";
}

static void clear_line(struct recording *recording)
{
	if (recording->has_line)
		fputs("\r\033[K", stderr);
	recording->has_line = false;
}

/* A line about the progress on a terminal, unless a command may write to it. */
static void show_progress(struct recording *recording)
{
	uint64_t now = gt_clock_monotonic();
	gt_auto_strbuf bytes = GT_STRBUF_INIT;

	if (!recording->is_terminal || now - recording->shown < PROGRESS_INTERVAL_NS)
		return;
	recording->shown = now;
	if (recording->writer) {
		struct gt_capture_totals totals = gt_capture_written(recording->writer);

		gt_format_bytes(&bytes, totals.bytes);
		fprintf(stderr, "\rgputap: %" PRIu64 " s, %" PRIu64 " events, %s\033[K",
			(now - recording->start) / GT_SECOND_NS, totals.events,
			gt_strbuf_string(&bytes));
	} else {
		struct gt_capture_ring_state state = gt_capture_ring_state(recording->ring);

		gt_format_bytes(&bytes, state.bytes);
		fprintf(stderr,
			"\rgputap: %" PRIu64 " s, %" PRIu64
			" events in the ring, %s, %u files\033[K",
			(now - recording->start) / GT_SECOND_NS, state.events,
			gt_strbuf_string(&bytes), recording->files);
	}
	fflush(stderr);
	recording->has_line = true;
}

/*
 * Extend the time of the command: what gputap does before and after it has no process, and what
 * names things may come earlier than the start of their process.
 */
static void note_time(struct recording *recording, const struct gt_event *event)
{
	uint64_t duration = 0, begun;

	if (!recording->has_command || !event->process || !event->time ||
	    event->clock != GT_CLOCK_MONOTONIC ||
	    (gt_capture_names(event) && event->kind != GT_EVENT_process))
		return;
	gt_event_duration(event, &duration);
	begun = duration < event->time ? event->time - duration : 1;
	if (!recording->first || begun < recording->first)
		recording->first = begun;
	if (event->time > recording->last)
		recording->last = event->time;
}

static void print_summary(const struct recording *recording)
{
	struct gt_capture_totals totals = recording->totals;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (recording->first) {
		totals.start = recording->first;
		totals.end = recording->last;
	}
	gt_target_put_totals(&text, &totals, recording->path);
	gt_cli_error("recorded %s", gt_strbuf_string(&text));
	if (strcmp(recording->path, "-"))
		gt_cli_error("show it with: %s %s", hint(), recording->path);
}

static void print_ring_summary(const struct recording *recording)
{
	struct gt_capture_ring_state state = gt_capture_ring_state(recording->ring);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "%u file%s written", recording->files,
			 recording->files == 1 ? "" : "s");
	if (recording->suppressed)
		gt_strbuf_printf(&text,
				 "; %" PRIu64 " more trigger%s without a file (within 1 s of the "
				 "one before, or beyond --max-files)",
				 recording->suppressed, recording->suppressed == 1 ? "" : "s");
	gt_strbuf_printf(&text, "; %" PRIu64 " events left the ring", state.evicted);
	if (state.names_lost)
		gt_strbuf_printf(&text, "; %" PRIu64 " names were dropped (use a larger --ring)",
				 state.names_lost);
	gt_cli_error("%s", gt_strbuf_string(&text));
}

/* Which sources are recorded by default, and why others are not. */
static void print_sources(const struct gt_session *session)
{
	const char *enabled, *unavailable;

	gt_session_sources(session, &enabled, &unavailable);
	gt_cli_error("recording %s", enabled);
	if (*unavailable)
		gt_cli_error("not available: %s; see 'gputap doctor'", unavailable);
}

/* ---- the flight recorder ------------------------------------------------------------------ */

/* Write the ring to the next file. */
static int write_ring(struct recording *recording, const char *why, bool has_account,
		      struct gt_diag *diag)
{
	gt_auto_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
	struct gt_capture_totals totals = {0};
	struct gt_event_account account;
	int error;

	if (recording->files >= recording->given->max_files) {
		recording->suppressed++;
		return 0;
	}
	gt_put_numbered_path(&path, recording->path, recording->files + 1);
	has_account = has_account || !recording->session;
	if (!has_account)
		gt_session_account(recording->session, &account);
	error = gt_capture_ring_save(recording->ring, gt_strbuf_string(&path),
				     has_account ? NULL : &account.head, &totals, diag);
	if (error)
		return error;
	recording->files++;
	recording->triggered = gt_clock_monotonic();
	gt_target_put_totals(&text, &totals, gt_strbuf_string(&path));
	clear_line(recording);
	if (!recording->given->quiet)
		gt_cli_error("%s: %s", why, gt_strbuf_string(&text));
	return 0;
}

static int trigger(struct recording *recording, const char *why)
{
	if (!recording->triggered ||
	    gt_clock_monotonic() - recording->triggered >= TRIGGER_INTERVAL_NS)
		return write_ring(recording, why, false, NULL);
	recording->suppressed++;
	return 0;
}

static int put_in_ring(struct recording *recording, const struct gt_names *names,
		       const struct gt_event *event)
{
	gt_auto_strbuf why = GT_STRBUF_INIT;

	recording->lost += gt_capture_ring_put(recording->ring, event) != 0;
	return gt_triggers_match(&recording->triggers, names, event, &why)
		       ? trigger(recording, gt_strbuf_string(&why))
		       : 0;
}

static void block_signal(struct recording *recording)
{
	sigset_t signals;

	/* The command has been started: it does not inherit this. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	recording->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the session -------------------------------------------------------------------------- */

static void begin_recording(void *opaque, struct gt_session *session)
{
	struct recording *recording = opaque;

	if (!recording->given->target.trace.from)
		recording->session = session;
	if (recording->all_sources && !recording->given->quiet)
		print_sources(session);
}

static int open_recording(void *opaque, struct gt_diag *diag)
{
	struct recording *recording = opaque;

	recording->start = recording->shown = gt_clock_monotonic();
	recording->is_terminal =
		isatty(STDERR_FILENO) && !recording->has_command && !recording->given->quiet;
	if (!recording->given->ring)
		return gt_capture_create(recording->path, &recording->writer, diag);
	recording->ring = gt_capture_ring_new(recording->given->ring);
	if (!recording->ring)
		return gt_diag(diag, -ENOMEM, "capture", NULL, "out of memory");
	if (recording->triggers.signal)
		block_signal(recording);
	return 0;
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct recording *recording = opaque;

	note_time(recording, event);
	return recording->ring ? put_in_ring(recording, names, event)
			       : gt_capture_write(recording->writer, event);
}

static int flush_recording(void *opaque)
{
	struct recording *recording = opaque;
	struct signalfd_siginfo info;

	show_progress(recording);
	if (recording->writer)
		return gt_capture_flush(recording->writer);
	if (recording->signals >= 0 &&
	    read(recording->signals, &info, sizeof(info)) == sizeof(info))
		return trigger(recording, "SIGUSR2");
	return 0;
}

static int close_recording(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct recording *recording = opaque;
	int error = 0;

	clear_line(recording);
	if (recording->writer) {
		error = gt_capture_finish(recording->writer, &recording->totals, diag);
		if (!error && !recording->given->quiet)
			print_summary(recording);
		return error;
	}
	if (recording->triggers.exit)
		error = write_ring(recording, "end of the recording", true, diag);
	if (recording->lost)
		gt_cli_error("%" PRIu64 " blocks of events were lost: out of memory",
			     recording->lost);
	if (!recording->given->quiet)
		print_ring_summary(recording);
	gt_capture_ring_free(recording->ring);
	if (recording->signals >= 0)
		close(recording->signals);
	return error;
}

/* Before the session begins, SIGUSR2 does nothing. exec(2) restores the default. */
static void ignore_signal(int number)
{
}

static int check_ring(const struct gt_cli_command *self, struct recording *recording)
{
	const struct record_options *given = recording->given;

	if (!given->ring && (given->triggers.words.count || given->max_files))
		return gt_cli_usage_error(self,
					  "--%s is for a flight recorder: it needs --ring SIZE",
					  given->max_files ? "max-files" : "trigger");
	if (!given->ring)
		return GT_EXIT_OK;
	if (given->ring < MIN_RING)
		return gt_cli_usage_error(self, "--ring is too small: at least 256K");
	if (!strcmp(recording->path, "-"))
		return gt_cli_usage_error(self, "--ring writes several files: -o '-' cannot be "
						"used with it");
	return gt_triggers_parse(self, &given->triggers, &recording->triggers);
}

/* Without -e: every source that works here. */
static int choose_sources(struct gt_trace_options *trace, bool *ret_default)
{
	*ret_default = !trace->from && !trace->sources.words.count;
	return *ret_default
		       ? gt_strings_add(&trace->sources, GT_ALL_SOURCES, strlen(GT_ALL_SOURCES))
		       : 0;
}

static int record_target(const struct gt_cli_command *self, struct record_options *given,
			 char *const *command)
{
	struct recording recording = {
		.given = given,
		.path = given->target.output ? given->target.output : DEFAULT_FILE,
		.has_command = command,
		.signals = -1,
	};
	const struct gt_run run = {
		.context = &recording,
		.open = open_recording,
		.event = take_event,
		.flush = flush_recording,
		.close = close_recording,
		.begin = begin_recording,
		.is_quiet = given->quiet,
		.loss_remedy =
			"use a larger --ring-size, or trace fewer functions or sources: -f, -e",
	};
	const struct sigaction nothing = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
	struct gt_trace_options *trace = &given->target.trace;
	bool is_default;
	int status = check_ring(self, &recording);

	if (!given->max_files)
		given->max_files = DEFAULT_MAX_FILES;
	trace->gpu_times_default = true;
	if (!status)
		status = gt_target_complete(self, &given->target, command, true);
	if (status)
		return status;
	if (choose_sources(trace, &is_default)) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	gt_load_set_verbose(trace->verbose);
	recording.all_sources = is_default;
	trace->capture = !trace->from;
	if (recording.triggers.signal)
		sigaction(SIGUSR2, &nothing, NULL);
	return gt_target_run(trace, &run);
}

static int run_record(const struct gt_cli_command *self, int count, char **arguments)
{
	struct record_options given = {0};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON)
		status = record_target(self, &given, rest < count ? arguments + rest : NULL);
	gt_target_free(&given.target);
	gt_strings_free(&given.triggers);
	return status;
}

const struct gt_cli_command gt_command_record = {
	.name = "record",
	.summary = "Record the events of a command, a process or the whole system in a capture",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"Writes the events of all sources that work here, or of those of -e, into one "
		"file, "
		"compressed and with a checksum and the times of each block: calls, the kernel's "
		"own "
		"events, callers, names, the machine, the losses. All commands with --from read "
		"it, on "
		"any machine. If gputap is killed, at most the last second is lost. With --ring, "
		"nothing is written until a --trigger: then the last SIZE bytes of events are, and "
		"the recording continues; a file is complete in itself. With --from, copies a part "
		"of a capture.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_record,
};
