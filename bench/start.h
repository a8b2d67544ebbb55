/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starts the program that measures under gputap. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS 16

/*
 * Starts `gputap COMMAND -v -d PID ARGUMENTS…` on this process; returns when it is attached, which
 * it says with -v. 0 or -Exxx; the caller ends it by SIGINT.
 */
static inline int start_gputap(const char *const *arguments, pid_t *ret_pid)
{
	const char *all[MAX_ARGUMENTS + 5];
	char self[16], line[512] = "";
	FILE *messages;
	int ends[2], count = 0;

	snprintf(self, sizeof(self), "%d", getpid());
	all[count++] = GPUTAP;
	all[count++] = *arguments++;
	all[count++] = "-v";
	all[count++] = "-d";
	all[count++] = self;
	while (*arguments && count < MAX_ARGUMENTS + 4)
		all[count++] = *arguments++;
	all[count] = NULL;
	if (pipe(ends) < 0)
		return -errno;
	*ret_pid = fork();
	if (!*ret_pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		execv(GPUTAP, (char *const *)all);
		_exit(127);
	}
	close(ends[1]);
	messages = fdopen(ends[0], "r");
	while (messages && fgets(line, sizeof(line), messages) && !strstr(line, "attached "))
		;
	/* The pipe stays open: gputap's totals go there. */
	return strstr(line, "attached ") ? 0 : -ESRCH;
}
