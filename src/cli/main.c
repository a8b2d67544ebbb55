/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Options before the command: what people try first. */
static const struct {
	const char *option, *command;
} spellings[] = {
	{"--help", "help"},
	{"-h", "help"},
};

int main(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : "help";
	const struct gt_cli_command *command;

	signal(SIGPIPE, SIG_IGN); /* a pipe that closes is an error like others: EPIPE */
	if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
		printf("gputap %s\n", GT_VERSION);
		return GT_EXIT_OK;
	}
	for (size_t i = 0; i < gt_countof(spellings); i++)
		if (!strcmp(name, spellings[i].option))
			name = spellings[i].command;
	if (name[0] == '-') {
		gt_cli_error("unknown option '%s': a command comes first (try 'gputap help')",
			     name);
		return GT_EXIT_USAGE;
	}
	command = gt_cli_find(name);
	if (!command)
		return GT_EXIT_USAGE;
	return count > 1 ? command->run(command, count - 1, arguments + 1)
			 : command->run(command, 1, (char *[]){(char *)name, NULL});
}
