/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests that need a process of their own that has not used CUDA yet. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

enum {
	HANG_SECONDS = 300, /* time limit of a child, for hangs on the slowest machine */
};

/* Run a function in a new child. Returns its exit status, or -1 for a signal or a hang. */
static inline int in_child(int (*run)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		alarm(HANG_SECONDS);
		_exit(run());
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
