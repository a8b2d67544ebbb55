/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The status of a command as a shell reports it (POSIX, "Exit Status for Commands"). */
#pragma once

#include <sys/wait.h>

enum gt_shell_status {
	GT_SHELL_NOT_EXECUTED = 126,
	GT_SHELL_NOT_FOUND = 127,
	GT_SHELL_SIGNAL = 128, /* + the number of the signal that ended it */
};

/* Convert a status of waitpid(2). */
static inline int gt_shell_status(int status)
{
	return WIFSIGNALED(status) ? GT_SHELL_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
