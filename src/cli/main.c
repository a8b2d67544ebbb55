/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* Options that stand for a command. */
static const struct {
	const char *option, *command;
} spellings[] = {
	{"--help", "help"},
	{"-h", "help"},
};

static int run_command(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : "help";
	const struct gt_cli_command *command;

	if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
		printf("gputap %s\n", GT_VERSION);
		return GT_EXIT_OK;
	}
	for (size_t i = 0; i < gt_countof(spellings); i++)
		if (!strcmp(name, spellings[i].option))
			name = spellings[i].command;
	if (name[0] == '-') {
		gt_cli_error("unknown option '%s' before the command (try 'gputap help')", name);
		return GT_EXIT_USAGE;
	}
	command = gt_cli_find(name);
	if (!command)
		return GT_EXIT_USAGE;
	return count > 1 ? command->run(command, count - 1, arguments + 1)
			 : command->run(command, 1, (char *[]){(char *)name, NULL});
}

/*
 * Open those of descriptors 0 to 2 that are closed, before any other file gets such a number and
 * receives what is meant for a terminal. Their mode makes their use fail as that of a closed one.
 */
static int open_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -errno;
	return 0;
}

/*
 * Keep freed memory for what is allocated next. Otherwise the kernel's BTF, which libbpf reads for
 * each object, returns megabytes to the kernel each time, which gets them back as page faults.
 * MMAP_THRESHOLD is the most that glibc itself would adapt to: mallopt(3).
 */
static void keep_freed_memory(void)
{
	enum { MMAP_THRESHOLD = 32 << 20, TRIM_THRESHOLD = 64 << 20 };

	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
}

int main(int count, char **arguments)
{
	keep_freed_memory();
	if (open_standard_descriptors() || gt_cli_begin_output())
		return GT_EXIT_FAILED; /* there may be no descriptor to print to */
	signal(SIGPIPE, SIG_IGN);      /* a pipe that closes is an error like others: EPIPE */
	return gt_cli_finish_output(run_command(count, arguments));
}
