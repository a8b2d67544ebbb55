/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options and run of all commands that take events from a session: trace, and the commands that
 * print a report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "event/event.h"
#include "launch/gpu.h"
#include "names/names.h"
#include "probe/options.h"
#include "session/session.h"

struct gt_target_options {
	struct gt_trace_options trace;
	const char *output;
	bool json;
};

/* clang-format off */
#define GT_LAST_TARGET_OPTION(at, kind, field, letter, name, value, choices, scope, help) \
	{letter, name, value, help, GT_OPTION_##kind, \
	 (at) + offsetof(struct gt_target_options, trace.field), choices}
#define GT_TARGET_OPTION(at, ...) GT_LAST_TARGET_OPTION(at, __VA_ARGS__),
/* clang-format on */

/*
 * Rows of a command's option table, from src/probe/options.h; `at` is the offset of its struct
 * gt_target_options, `sources` and `ring` the texts of its defaults of -e and --ring-size. The
 * command itself has rows for `output` and `json`.
 */
#define GT_TARGET_OPTIONS(at)                                                                      \
	GT_TRACE_OPTIONS_OF_TARGET(GT_TARGET_OPTION, GT_LAST_TARGET_OPTION, at)
#define GT_CALL_OPTIONS(at, sources)                                                               \
	GT_TRACE_OPTIONS_OF_CALLS(GT_TARGET_OPTION, GT_LAST_TARGET_OPTION, at, sources)
#define GT_RUN_OPTIONS(at, ring)                                                                   \
	GT_TRACE_OPTIONS_OF_CAPTURE(GT_TARGET_OPTION, at) GT_LIVE_RUN_OPTIONS(at, ring)
/* Without --from and its range: of a command that shows only what happens now. */
#define GT_LIVE_RUN_OPTIONS(at, ring)                                                              \
	GT_TRACE_OPTIONS_OF_RUN(GT_TARGET_OPTION, GT_LAST_TARGET_OPTION, at, ring)

/*
 * Check the options and complete them for a session; `command` is NULL if none was given, `callers`
 * whether the command prints callers. GT_EXIT_OK, or the status of an error that was printed.
 */
int gt_target_complete(const struct gt_cli_command *self, struct gt_target_options *options,
		       char *const *command, bool callers);
/*
 * Check that an output file (NULL or "-": none) is not the capture that is read, which opening it
 * would empty. GT_EXIT_OK, or the status of an error that was printed.
 */
int gt_target_check_output(const char *output, const char *capture);
void gt_target_free(struct gt_target_options *options);
/* Whether -o names a file for a capture: its name ends in ".gtap". */
bool gt_target_makes_capture(const struct gt_target_options *options);

struct gt_capture_totals;

/* Add what was written to a capture, and where: "12 events in 1.2 KiB …, of 3.4 ms: FILE". */
void gt_target_put_totals(struct gt_strbuf *text, const struct gt_capture_totals *totals,
			  const char *path);

/* The handlers of a command for the events of a session. */
struct gt_run {
	void *context;
	/* Called with the session, which outlives `close`, before `open`; may be NULL. */
	void (*begin)(void *context, struct gt_session *session);
	/* Called once the session is open, and so its target valid. */
	int (*open)(void *context, struct gt_diag *diag);
	/* `names` already knows the event. */
	int (*event)(void *context, const struct gt_names *names, const struct gt_event *event);
	/* Write out what is buffered. Also called between events. */
	int (*flush)(void *context);
	/* Called when no event waits, at least 20 times a second, before `flush`; may be NULL. */
	int (*idle)(void *context);
	/* Called at the end of every run that was opened. */
	int (*close)(void *context, const struct gt_names *names, struct gt_diag *diag);
	bool prints_totals; /* its report includes the totals */
	bool is_quiet;      /* print neither notes nor totals without a loss */
	/* Which of several captures is read: the name before its notes. NULL: there is only one. */
	const char *capture;
	/* How to avoid losses, "use …"; NULL: by a larger ring alone. */
	const char *loss_remedy;
};

/*
 * Run a session to its end. Notes, errors and the totals go to stderr, so that no output format
 * hides a loss; totals without a loss are not printed if the command prints them. Returns the exit
 * status: the traced command's, if there is one.
 */
int gt_target_run(const struct gt_trace_options *given, const struct gt_run *run);
/* Print the account of a live session so far, at a time `now`, to stderr. */
void gt_target_print_account(const struct gt_session *session, uint64_t now);
