/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion of command lines, written out for each shell from the tables of commands and options.
 * A shell's template says how it asks for a kind of value; the tables say where which one stands.
 */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "probe/source.h"

/* What a value is. */
enum completion_value {
	VALUE_NONE, /* nothing that could be offered */
	VALUE_FILE,
	VALUE_PROCESS,
	VALUE_USER,
	VALUE_SOURCE,
	VALUE_FUNCTION,
	VALUE_COMMAND, /* of gputap */
	VALUE_PROGRAM, /* any command line */
	VALUE_SHELL,
	VALUE_ACTION,
	VALUE_COUNT,
};

/* The words for values in options and usages. */
static const struct {
	const char *word;
	enum completion_value value;
} words[] = {
	{"PATH", VALUE_FILE},       {"FILE", VALUE_FILE},       {"PID,…", VALUE_PROCESS},
	{"PID", VALUE_PROCESS},     {"ACTION", VALUE_ACTION},   {"USER", VALUE_USER},
	{"SOURCE,…", VALUE_SOURCE}, {"NAME,…", VALUE_FUNCTION}, {"GLOB", VALUE_FUNCTION},
	{"COMMAND", VALUE_COMMAND}, {"CMD", VALUE_PROGRAM},     {"SHELL", VALUE_SHELL},
	{"DIR", VALUE_FILE},
};

static enum completion_value value_of(const char *word)
{
	for (size_t i = 0; i < gt_countof(words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].value;
	return VALUE_NONE;
}

/* What stands behind a command's options, by the words of its usage. */
static enum completion_value operand_of(const struct gt_cli_command *command)
{
	for (size_t i = 0; i < gt_countof(words); i++)
		if (strstr(command->usage, words[i].word))
			return words[i].value;
	return VALUE_NONE;
}

static void put_sources(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);

	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(text, "%s%s", i ? " " : "", sources[i]->name);
}

static void put_commands(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(text, "%s%s", i ? " " : "", commands[i]->name);
}

static void put_choices(struct gt_strbuf *text, const struct gt_option *option)
{
	for (size_t i = 0; option->choices[i]; i++)
		gt_strbuf_printf(text, "%s%s", i ? " " : "", option->choices[i]);
}

/* Text within single quotes of a shell; `special` characters get a backslash before them. */
static void put_quoted(struct gt_strbuf *text, const char *plain, const char *special)
{
	for (; *plain; plain++) {
		if (*plain == '\'') {
			gt_strbuf_puts(text, "'\\''");
			continue;
		}
		if (strchr(special, *plain))
			gt_strbuf_putc(text, '\\');
		gt_strbuf_putc(text, *plain);
	}
}

/* In bash: a statement that fills COMPREPLY. */
static const char *const bash_values[VALUE_COUNT] = {
	[VALUE_NONE] = ":",
	[VALUE_FILE] = "_gputap_files",
	[VALUE_PROCESS] = "_gputap_words \"$(cd /proc && echo [0-9]*)\"",
	[VALUE_USER] = "mapfile -t COMPREPLY < <(compgen -u -- \"$cur\")",
	[VALUE_SOURCE] = "_gputap_words \"$sources\"",
	[VALUE_FUNCTION] =
		("_gputap_words \"$(\"${COMP_WORDS[0]}\" list --functions 2>/dev/null |\n"
		 "\t\t\tawk '{ print $NF }')\""),
	[VALUE_COMMAND] = "_gputap_words \"$commands\"",
	[VALUE_PROGRAM] = "_gputap_files",
	[VALUE_SHELL] = "_gputap_words 'bash zsh fish'",
	[VALUE_ACTION] = "_gputap_words 'list on off set'",
};

static const char bash_begin[] =
	"# shellcheck shell=bash\n"
	"# Completes gputap's command lines in bash; made by 'gputap help --completion bash'.\n"
	"_gputap_files() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"}\n"
	"\n"
	"# The last word of a list that is separated by commas.\n"
	"_gputap_words() {\n"
	"\tlocal before=\n"
	"\t[[ $cur != *,* ]] || before=${cur%,*},\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\")\n"
	"}\n"
	"\n"
	"_gputap() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]} options='' i\n";

static const char bash_middle[] = "\tCOMPREPLY=()\n"
				  "\t[[ $cur != = ]] || cur=\n"
				  "\t[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
				  "\tif ((COMP_CWORD == 1)); then\n"
				  "\t\t_gputap_words \"$commands --help --version\"\n"
				  "\t\treturn\n"
				  "\tfi\n"
				  "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
				  "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
				  "\t\t\tif declare -F _command_offset >/dev/null; then\n"
				  "\t\t\t\t_command_offset $((i + 1))\n"
				  "\t\t\telse\n"
				  "\t\t\t\t_gputap_files\n"
				  "\t\t\tfi\n"
				  "\t\t\treturn\n"
				  "\t\tfi\n"
				  "\tdone\n"
				  "\tcase $command:$prev in\n";

static void put_bash_value(struct gt_strbuf *text, const struct gt_cli_command *command,
			   const struct gt_option *option)
{
	if (!option->argument)
		return;
	gt_strbuf_printf(text, "\t%s:--%s", command->name, option->name);
	if (option->letter)
		gt_strbuf_printf(text, " | %s:-%c", command->name, option->letter);
	gt_strbuf_puts(text, ")\n\t\t");
	if (option->choices) {
		gt_strbuf_puts(text, "_gputap_words '");
		put_choices(text, option);
		gt_strbuf_puts(text, "'");
	} else {
		gt_strbuf_puts(text, bash_values[value_of(option->argument)]);
	}
	gt_strbuf_puts(text, "\n\t\treturn\n\t\t;;\n");
}

static void put_bash_operands(struct gt_strbuf *text, const struct gt_cli_command *command)
{
	gt_strbuf_printf(text, "\t%s)\n\t\toptions='", command->name);
	for (size_t i = 0; i < command->option_count; i++)
		gt_strbuf_printf(text, "--%s ", command->options[i].name);
	gt_strbuf_printf(text, "--help'\n\t\t[[ $cur == -* ]] || %s\n\t\t;;\n",
			 bash_values[operand_of(command)]);
}

static void put_bash(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	gt_strbuf_puts(text, bash_begin);
	gt_strbuf_puts(text, "\tlocal commands='");
	put_commands(text);
	gt_strbuf_puts(text, "' sources='");
	put_sources(text);
	gt_strbuf_puts(text, "'\n");
	gt_strbuf_puts(text, bash_middle);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < commands[i]->option_count; j++)
			put_bash_value(text, commands[i], &commands[i]->options[j]);
	gt_strbuf_puts(text, "\tesac\n\tcase $command in\n");
	for (size_t i = 0; i < count; i++)
		put_bash_operands(text, commands[i]);
	gt_strbuf_puts(text, "\tesac\n\t[[ $cur != -* ]] || _gputap_words \"$options\"\n}\n\n"
			     "complete -F _gputap gputap\n");
}

/* In zsh: an action of _arguments (zshcompsys(1)). */
static const char *const zsh_values[VALUE_COUNT] = {
	[VALUE_NONE] = " ",
	[VALUE_FILE] = "_files",
	[VALUE_PROCESS] = "_sequence _pids",
	[VALUE_USER] = "_users",
	[VALUE_SOURCE] = "_sequence _gputap_sources",
	[VALUE_FUNCTION] = "_sequence _gputap_functions",
	[VALUE_COMMAND] = "_gputap_commands",
	[VALUE_PROGRAM] = "_normal",
	[VALUE_SHELL] = "(bash zsh fish)",
	[VALUE_ACTION] = "(list on off set)",
};

static void put_zsh_option(struct gt_strbuf *text, const struct gt_option *option)
{
	gt_strbuf_puts(text, "\t\t\t");
	if (option->letter)
		gt_strbuf_printf(text, "'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name,
				 option->letter, option->argument ? "+" : "", option->name,
				 option->argument ? "=" : "");
	else
		gt_strbuf_printf(text, "'--%s%s", option->name, option->argument ? "=" : "");
	gt_strbuf_putc(text, '[');
	put_quoted(text, option->help, "[]:\\");
	gt_strbuf_putc(text, ']');
	if (option->argument) {
		gt_strbuf_printf(text, ":%s:", option->argument);
		if (option->choices) {
			gt_strbuf_putc(text, '(');
			put_choices(text, option);
			gt_strbuf_putc(text, ')');
		} else {
			gt_strbuf_puts(text, zsh_values[value_of(option->argument)]);
		}
	}
	gt_strbuf_puts(text, "' \\\n");
}

static void put_zsh_command(struct gt_strbuf *text, const struct gt_cli_command *command)
{
	enum completion_value operand = operand_of(command);

	gt_strbuf_printf(text, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (size_t i = 0; i < command->option_count; i++)
		put_zsh_option(text, &command->options[i]);
	put_zsh_option(text, &gt_option_help);
	if (operand == VALUE_PROGRAM)
		gt_strbuf_puts(text, "\t\t\t'*::: :_normal'\n");
	else
		gt_strbuf_printf(text, "\t\t\t':: :%s'\n", zsh_values[operand]);
	gt_strbuf_puts(text, "\t\t;;\n");
}

static void put_zsh(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	gt_strbuf_puts(text, "#compdef gputap\n"
			     "# Completes gputap's command lines in zsh; made by "
			     "'gputap help --completion zsh'.\n"
			     "_gputap_sources() {\n\tcompadd \"$@\" -- ");
	put_sources(text);
	gt_strbuf_puts(text, "\n}\n\n_gputap_functions() {\n"
			     "\tcompadd \"$@\" -- "
			     "${${(f)\"$(gputap list --functions 2>/dev/null)\"}##* }\n}\n\n"
			     "_gputap_commands() {\n\tlocal -a commands=(\n");
	for (size_t i = 0; i < count; i++) {
		gt_strbuf_printf(text, "\t\t'%s:", commands[i]->name);
		put_quoted(text, commands[i]->summary, ":\\");
		gt_strbuf_puts(text, "'\n");
	}
	gt_strbuf_puts(text, "\t)\n\t_describe command commands\n}\n\n"
			     "_gputap() {\n\tif ((CURRENT == 2)); then\n\t\t_gputap_commands\n"
			     "\t\tcompadd -- --help --version\n\t\treturn\n\tfi\n"
			     "\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n"
			     "\tcase $command in\n");
	for (size_t i = 0; i < count; i++)
		put_zsh_command(text, commands[i]);
	gt_strbuf_puts(text, "\tesac\n}\n\n_gputap \"$@\"\n");
}

/* In fish: options of complete(1). */
static const char *const fish_values[VALUE_COUNT] = {
	[VALUE_NONE] = "-x",
	[VALUE_FILE] = "-r -F",
	[VALUE_PROCESS] = "-x -a '(__fish_append , (__fish_complete_pids))'",
	[VALUE_USER] = "-x -a '(__fish_complete_users)'",
	[VALUE_SOURCE] = "-x -a '(__fish_append , $gputap_sources)'",
	[VALUE_FUNCTION] = ("-x -a '(__fish_append , (gputap list --functions | string replace -r "
			    "\".* \" \"\"))'"),
	[VALUE_COMMAND] = "-x -a \"$gputap_commands\"",
	[VALUE_PROGRAM] = "-x -a '(__fish_complete_subcommand)'",
	[VALUE_SHELL] = "-x -a 'bash zsh fish'",
	[VALUE_ACTION] = "-x -a 'list on off set'",
};

static void put_fish_option(struct gt_strbuf *text, const struct gt_cli_command *command,
			    const struct gt_option *option)
{
	gt_strbuf_printf(text, "complete -c gputap -n '__fish_seen_subcommand_from %s' -l %s",
			 command->name, option->name);
	if (option->letter)
		gt_strbuf_printf(text, " -s %c", option->letter);
	if (option->choices) {
		gt_strbuf_puts(text, " -x -a '");
		put_choices(text, option);
		gt_strbuf_puts(text, "'");
	} else if (option->argument) {
		gt_strbuf_printf(text, " %s", fish_values[value_of(option->argument)]);
	}
	gt_strbuf_puts(text, " -d '");
	put_quoted(text, option->help, "\\");
	gt_strbuf_puts(text, "'\n");
}

static void put_fish(struct gt_strbuf *text)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	gt_strbuf_puts(text, "# Completes gputap's command lines in fish; made by "
			     "'gputap help --completion fish'.\nset -g gputap_commands ");
	put_commands(text);
	gt_strbuf_puts(text, "\nset -g gputap_sources ");
	put_sources(text);
	gt_strbuf_puts(text, "\ncomplete -c gputap -f\n"
			     "complete -c gputap -n __fish_use_subcommand -l help\n"
			     "complete -c gputap -n __fish_use_subcommand -l version\n");
	for (size_t i = 0; i < count; i++) {
		gt_strbuf_printf(text, "complete -c gputap -n __fish_use_subcommand -a %s -d '",
				 commands[i]->name);
		put_quoted(text, commands[i]->summary, "\\");
		gt_strbuf_printf(text,
				 "'\ncomplete -c gputap -n '__fish_seen_subcommand_from %s' %s\n",
				 commands[i]->name, fish_values[operand_of(commands[i])]);
		for (size_t j = 0; j < commands[i]->option_count; j++)
			put_fish_option(text, commands[i], &commands[i]->options[j]);
		put_fish_option(text, commands[i], &gt_option_help);
	}
}

static const struct {
	const char *name;
	void (*put)(struct gt_strbuf *text);
} shells[] = {
	{"bash", put_bash},
	{"zsh", put_zsh},
	{"fish", put_fish},
};

int gt_cli_put_completion(struct gt_strbuf *text, const char *shell)
{
	for (size_t i = 0; i < gt_countof(shells); i++) {
		if (strcmp(shells[i].name, shell))
			continue;
		shells[i].put(text);
		return 0;
	}
	return -EINVAL;
}
