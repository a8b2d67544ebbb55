/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/command.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/installed.h"

/* On the software GPU compilers get an option by which cubins carry their PTX (lineinfo.c). */
static int preload_lineinfo(struct gt_environment *environment)
{
	gt_autofree char *path = NULL;

	/* Without it, only programs that compile cubins at run time have no kernels. */
	if (gt_installed_file("src/agent", "", "libgputap-lineinfo.so", &path, NULL))
		return 0;
	return gt_environment_prepend(environment, "LD_PRELOAD", ':', path);
}

int gt_session_command_start(struct gt_session_command *command,
			     const struct gt_trace_options *options, struct gt_event_queue *events,
			     struct gt_diag *diag)
{
	char *const *arguments = options->command;
	int error = gt_environment_make(arguments[0], options->gpu, &command->environment,
					&command->files, diag);

	if (!error && command->environment.soft_gpu)
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
	return gt_child_make(command->files.paths[0], arguments, command->environment.variables,
			     &command->child, diag);
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
	if (!command->child.pid || command->ended)
		return true;
	if (alone || getpgid(command->child.pid) != getpgrp())
		kill(command->child.pid, number);
	return command->signals++ > 0;
}

void gt_session_command_free(struct gt_session_command *command)
{
	gt_child_release(&command->child);
	gt_command_free(&command->files);
	gt_environment_free(&command->environment);
}
