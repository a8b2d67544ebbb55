/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The manual page's sections of commands and sources; the rest of the page is man/gputap.1.in. */
#include <ctype.h>

#include "cli/cli.h"
#include "probe/source.h"

/* Text in which nothing is taken for a request or a special character: man(7), groff_char(7). */
static void put_text(struct gt_strbuf *text, const char *plain)
{
	bool at_start = true;

	for (; *plain; plain++) {
		if (at_start && (*plain == '.' || *plain == '\''))
			gt_strbuf_puts(text, "\\&");
		at_start = *plain == '\n';
		switch (*plain) {
		case '\\':
			gt_strbuf_puts(text, "\\e");
			break;
		case '\n':
			gt_strbuf_puts(text, "\n.PP\n");
			break;
		case '-':
			gt_strbuf_puts(text, "\\-");
			break;
		case '\'':
			gt_strbuf_puts(text, "\\(aq");
			break;
		case '^':
			gt_strbuf_puts(text, "\\(ha");
			break;
		case '~':
			gt_strbuf_puts(text, "\\(ti");
			break;
		case '`':
			gt_strbuf_puts(text, "\\(ga");
			break;
		default:
			gt_strbuf_putc(text, *plain);
		}
	}
}

/* Summaries and helps are sentences without their first capital and last full stop. */
static void put_sentence(struct gt_strbuf *text, const char *plain)
{
	gt_strbuf_putc(text, toupper((unsigned char)plain[0]));
	put_text(text, plain + 1);
	gt_strbuf_puts(text, ".\n");
}

static void put_option(struct gt_strbuf *text, const struct gt_option *option)
{
	gt_strbuf_puts(text, ".TP\n");
	if (option->letter)
		gt_strbuf_printf(text, "\\fB\\-%c\\fR, ", option->letter);
	gt_strbuf_puts(text, "\\fB\\-\\-");
	put_text(text, option->name);
	gt_strbuf_puts(text, "\\fR");
	if (option->argument) {
		gt_strbuf_puts(text, " \\fI");
		put_text(text, option->argument);
		gt_strbuf_puts(text, "\\fR");
	}
	gt_strbuf_putc(text, '\n');
	put_sentence(text, option->help);
}

static void put_command(struct gt_strbuf *text, const struct gt_cli_command *command)
{
	gt_strbuf_printf(text, ".SS \"gputap %s\"\n\\fBgputap %s\\fR ", command->name,
			 command->name);
	put_text(text, command->usage);
	gt_strbuf_puts(text, "\n.PP\n");
	put_sentence(text, command->summary);
	put_text(text, command->description);
	gt_strbuf_putc(text, '\n');
	for (size_t i = 0; i < command->option_count; i++)
		put_option(text, &command->options[i]);
	put_option(text, &gt_option_help);
	if (!command->examples)
		return;
	gt_strbuf_puts(text, ".PP\nExamples:\n.PP\n.EX\n");
	for (const char *const *example = command->examples; *example; example++) {
		put_text(text, *example);
		gt_strbuf_putc(text, '\n');
	}
	gt_strbuf_puts(text, ".EE\n");
}

static void put_source(struct gt_strbuf *text, const struct gt_source *source)
{
	gt_strbuf_puts(text, ".TP\n\\fB");
	put_text(text, source->name);
	gt_strbuf_puts(text, "\\fR\n");
	put_sentence(text, source->summary);
	gt_strbuf_puts(text, "Needs ");
	put_text(text, source->needs);
	gt_strbuf_puts(text, ".\n");
}

static void put_sources(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);

	gt_strbuf_puts(text,
		       ".SH SOURCES\nWhat \\fB\\-e\\fR enables, in \\fBtrace\\fR, "
		       "\\fBstat\\fR, \\fBrecord\\fR and others. \\fBgputap doctor\\fR reports "
		       "which of these work on a machine; layers.md describes their events.\n");
	for (size_t i = 0; i < count; i++)
		put_source(text, sources[i]);
}

void gt_cli_put_manual(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	for (size_t i = 0; i < count; i++)
		put_command(text, commands[i]);
	put_sources(text);
}
