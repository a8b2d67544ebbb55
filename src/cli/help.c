/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Help of a command, and the command "help". */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "cli/cli.h"

#define OPTION_COLUMN 28

static void put_option(struct gt_strbuf *text, const struct gt_option *option)
{
	size_t start = text->length;

	if (option->letter)
		gt_strbuf_printf(text, "  -%c, --%s", option->letter, option->name);
	else
		gt_strbuf_printf(text, "      --%s", option->name);
	if (option->argument)
		gt_strbuf_printf(text, " %s", option->argument);
	gt_strbuf_pad(text, start, OPTION_COLUMN);
	gt_strbuf_printf(text, "%s\n", option->help);
}

void gt_cli_print_help(const struct gt_cli_command *command)
{
	static const struct gt_option help = {
		.letter = 'h', .name = "help", .help = "show this help"};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "Usage: gputap %s %s\n\n%s\n", command->name, command->usage,
			 command->description);
	gt_strbuf_puts(&text, "\nOptions:\n");
	for (size_t i = 0; i < command->option_count; i++)
		put_option(&text, &command->options[i]);
	put_option(&text, &help);
	if (command->examples)
		gt_strbuf_puts(&text, "\nExamples:\n");
	for (const char *const *example = command->examples; example && *example; example++)
		gt_strbuf_printf(&text, "  %s\n", *example);
	fputs(gt_strbuf_string(&text), stdout);
}

static void print_overview(void)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	printf("gputap shows what a GPU program does, at every layer, by eBPF.\n\n"
	       "Usage: gputap COMMAND [options]\n\nCommands:\n");
	for (size_t i = 0; i < count; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n  gputap COMMAND --help   tells of one command\n"
	       "  gputap --version        prints the version\n\n"
	       "Begin with: gputap trace -- ./your-cuda-program\n");
}

static int run_help(const struct gt_cli_command *self, int count, char **arguments)
{
	const struct gt_cli_command *command;
	int rest;

	switch (gt_cli_parse(self, count, arguments, NULL, &rest)) {
	case GT_PARSED_HELP:
		return GT_EXIT_OK;
	case GT_PARSED_WRONG:
		return GT_EXIT_USAGE;
	case GT_PARSED_RUN:
		break;
	}
	if (rest >= count) {
		print_overview();
		return GT_EXIT_OK;
	}
	command = gt_cli_find(arguments[rest]);
	if (!command)
		return GT_EXIT_USAGE;
	gt_cli_print_help(command);
	return GT_EXIT_OK;
}

const struct gt_cli_command gt_command_help = {
	.name = "help",
	.summary = "tells what the commands do",
	.usage = "[COMMAND]",
	.description = "Without COMMAND it lists the commands.",
	.run = run_help,
};
