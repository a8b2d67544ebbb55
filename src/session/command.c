/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/installed.h"
#include "session/companion.h"
#include "session/signals.h"

/* On the software GPU compilers get an option by which cubins carry their PTX (lineinfo.c). */
static int preload_lineinfo(struct gt_environment *environment)
{
	gt_autofree char *path = NULL;

	/* Without it, only programs that compile cubins at run time have no kernels. */
	if (gt_installed_file("src/agent", "", "libgputap-lineinfo.so", &path, NULL))
		return 0;
	return gt_environment_preload(environment, path);
}

/* Without CAP_SYS_ADMIN it never works, which `doctor` shows: only -v reports it each time. */
static void note_no_hold(const struct gt_trace_options *options, int error,
			 const struct gt_diag *why, struct gt_event_queue *events)
{
	if (options->verbose || error != -EACCES)
		gt_event_queue_note(events,
				    "the first calls into libraries that the command opens later "
				    "may be missed: %s",
				    why->text);
}

/* A companion must know whether there will be a filter: that is tried out in a process before. */
static int prepare_hold(struct gt_session_command *command, bool is_checked, struct gt_diag *why)
{
	int failure = is_checked ? gt_hold_check(why) : 0;

	return failure ? failure : gt_hold_new(&command->hold, why);
}

/* Fork the process, with a filter if it is to be held. */
static int fork_command(struct gt_session_command *command, const struct gt_trace_options *options,
			bool hold, struct gt_event_queue *events, struct gt_diag *diag)
{
	struct gt_child_setup setup = {0};
	struct gt_diag why = {0};
	int error, failure = hold ? prepare_hold(command, options->companion, &why) : 0;

	if (command->hold)
		setup = (struct gt_child_setup){gt_hold_install, command->hold};
	if (options->companion) {
		error = options->companion->prepare(options->companion->context,
						    &command->environment, command->hold, diag);
		if (error)
			return error;
	}
	error = gt_child_make(command->files.paths[0], options->command,
			      command->environment.variables, &setup, &command->child, diag);
	if (error || !hold)
		return error;
	if (!failure)
		failure = gt_hold_start(command->hold, &why);
	if (!failure)
		return 0;
	gt_hold_close(gt_take(command->hold));
	if (options->late == GT_LATE_HOLD)
		return gt_diag(diag, failure, "hold", NULL, "--late-libs hold: %s", why.text);
	note_no_hold(options, failure, &why, events);
	return 0;
}

int gt_session_command_start(struct gt_session_command *command,
			     const struct gt_trace_options *options, bool hold,
			     struct gt_event_queue *events, struct gt_diag *diag)
{
	const struct gt_companion *companion = options->companion;
	char *const *arguments = options->command;
	int error = gt_environment_make(arguments[0], options->gpu, &command->environment,
					&command->files, diag);

	/* The collector of a companion finds the PTX of cubins without it. */
	if (!error && command->environment.soft_gpu && !companion)
		error = preload_lineinfo(&command->environment);
	if (error)
		return error;
	command->name = arguments[0];
	if (command->environment.remark)
		gt_event_queue_note(events, "%s", command->environment.remark);
	if (command->files.by_shell)
		gt_event_queue_note(events,
				    "%s is a text file without a '#!' line: %s runs it as a script",
				    command->name, command->files.paths[command->files.count - 1]);
	error = fork_command(command, options, hold, events, diag);
	if (!error && companion)
		error = companion->attach(companion->context, &command->files,
					  &command->environment, command->child.pidfd, diag);
	return error;
}

void gt_session_command_report(struct gt_session_command *command, struct gt_event_queue *events)
{
	char line[GT_SOFT_REPORT_SIZE];

	while (gt_soft_reports_next(command->environment.reports, line))
		gt_event_queue_note(events, "the software GPU: %s", line);
}

void gt_session_command_reap(struct gt_session_command *command, struct gt_event_queue *events)
{
	int status;

	if (command->ended || !command->child.pid ||
	    waitpid(command->child.pid, &status, WNOHANG) != command->child.pid)
		return;
	command->ended = true;
	command->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		gt_event_queue_note(events, "%s was killed by signal %d (%s)", command->name,
				    WTERMSIG(status), strsignal(WTERMSIG(status)));
}

bool gt_session_command_signal(struct gt_session_command *command, int number, bool alone)
{
	bool is_end = gt_signals_is_end(number);

	if (!command->child.pid || command->ended)
		return is_end;
	gt_signals_pass(command->child.pid, number, alone);
	return is_end && command->signals++ > 0;
}

void gt_session_command_free(struct gt_session_command *command)
{
	gt_child_release(&command->child);
	gt_hold_close(gt_take(command->hold));
	gt_command_free(&command->files);
	gt_environment_free(&command->environment);
}
