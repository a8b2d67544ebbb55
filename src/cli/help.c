/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Help of a command, and the command "help". */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define OPTION_COLUMN 26
#define COMMAND_COLUMN 14
#define WIDTH 92

const struct gt_option gt_option_help = {.letter = 'h', .name = "help", .help = "show this help"};

/* Columns of UTF-8 text: bytes that begin a character. */
static size_t width_of(const char *word, size_t length)
{
	size_t width = 0;

	for (size_t i = 0; i < length; i++)
		width += (word[i] & 0xc0) != 0x80;
	return width;
}

/*
 * Text in lines of at most WIDTH columns, all but the first of which begin at `indent`. The first
 * one stands there already up to `column`.
 */
static void put_wrapped(struct gt_strbuf *text, size_t indent, size_t column, const char *plain)
{
	bool first = true;

	while (*plain) {
		size_t length = strcspn(plain, " ");
		size_t width = width_of(plain, length);

		if (!first && column + 1 + width > WIDTH) {
			gt_strbuf_printf(text, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			gt_strbuf_putc(text, ' ');
			column++;
		}
		gt_strbuf_add(text, plain, length);
		column += width;
		first = false;
		plain += length;
		plain += strspn(plain, " ");
	}
	gt_strbuf_putc(text, '\n');
}

/* Paragraphs, with an empty line between them. */
static void put_paragraphs(struct gt_strbuf *text, const char *plain)
{
	while (*plain) {
		size_t length = strcspn(plain, "\n");
		gt_auto_strbuf paragraph = GT_STRBUF_INIT;

		gt_strbuf_add(&paragraph, plain, length);
		put_wrapped(text, 0, 0, gt_strbuf_string(&paragraph));
		plain += length;
		if (*plain) {
			plain++;
			gt_strbuf_putc(text, '\n');
		}
	}
}

static void put_option(struct gt_strbuf *text, const struct gt_option *option)
{
	size_t start = text->length;
	size_t column;

	if (option->letter)
		gt_strbuf_printf(text, "  -%c, --%s", option->letter, option->name);
	else
		gt_strbuf_printf(text, "      --%s", option->name);
	if (option->argument)
		gt_strbuf_printf(text, " %s", option->argument);
	gt_strbuf_pad(text, start, OPTION_COLUMN);
	column = width_of(gt_strbuf_string(text) + start, text->length - start);
	put_wrapped(text, OPTION_COLUMN, column, option->help);
}

void gt_cli_put_help(struct gt_strbuf *text, const struct gt_cli_command *command)
{
	gt_strbuf_printf(text, "Usage: gputap %s %s\n\n", command->name, command->usage);
	put_paragraphs(text, command->description);
	gt_strbuf_puts(text, "\nOptions:\n");
	for (size_t i = 0; i < command->option_count; i++)
		put_option(text, &command->options[i]);
	put_option(text, &gt_option_help);
	if (command->examples)
		gt_strbuf_puts(text, "\nExamples:\n");
	for (const char *const *example = command->examples; example && *example; example++)
		gt_strbuf_printf(text, "  %s\n", *example);
}

static void put_overview(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	gt_strbuf_puts(text, "gputap traces GPU programs at every layer with eBPF.\n\n"
			     "Usage: gputap COMMAND [options]\n\nCommands:\n");
	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(text, "  %-*s %s\n", COMMAND_COLUMN, commands[i]->name,
				 commands[i]->summary);
	gt_strbuf_puts(text, "\n  gputap COMMAND --help   show help for a command\n"
			     "  gputap --version        print the version\n\n"
			     "To begin: gputap trace -- ./your-cuda-program\n");
}

struct help_options {
	bool manual;
	const char *shell;
};

#define AT(field) offsetof(struct help_options, field)

static const struct gt_option options[] = {
	{0, "completion", "SHELL", "print the completion script for SHELL: bash, zsh or fish",
	 GT_OPTION_STRING, AT(shell), NULL},
	{0, "man", NULL, "print the sections COMMANDS and SOURCES of the manual page",
	 GT_OPTION_FLAG, AT(manual), NULL},
};

static const char *const examples[] = {
	"gputap help trace                              # same as gputap trace --help",
	"source <(gputap help --completion bash)        # enable completion in this shell",
	NULL,
};

static int print_text(const struct gt_cli_command *self, const struct help_options *given,
		      const char *about)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const struct gt_cli_command *command = about ? gt_cli_find(about) : NULL;

	if (about && !command)
		return GT_EXIT_USAGE;
	if (given->shell && gt_cli_put_completion(&text, given->shell))
		return gt_cli_usage_error(
			self, "invalid value '%s' for --completion (one of: bash, zsh, fish)",
			given->shell);
	if (given->shell)
		; /* it is in the text */
	else if (given->manual)
		gt_cli_put_manual(&text);
	else if (command)
		gt_cli_put_help(&text, command);
	else
		put_overview(&text);
	fputs(gt_strbuf_string(&text), stdout);
	return text.failed ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_help(const struct gt_cli_command *self, int count, char **arguments)
{
	struct help_options given = {0};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status != GT_GO_ON)
		return status;
	if (rest + 1 < count)
		return gt_cli_usage_error(self, "unexpected argument '%s'", arguments[rest + 1]);
	return print_text(self, &given, rest < count ? arguments[rest] : NULL);
}

const struct gt_cli_command gt_command_help = {
	.name = "help",
	.summary = "Show help for a command",
	.usage = "[options] [COMMAND]",
	.description = "Without COMMAND, lists the commands.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_help,
};
