/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static int add_words(struct gt_strings *strings, const char *value)
{
	while (true) {
		size_t length = strcspn(value, ",");

		if (!length || gt_strings_add(strings, value, length))
			return -EINVAL;
		if (!value[length])
			return 0;
		value += length + 1;
	}
}

static int set_choice(const struct gt_option *option, const char *value, int *target)
{
	for (int i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], value))
			continue;
		*target = i;
		return 0;
	}
	return -EINVAL;
}

static int reject_zero(int error, const uint64_t *value)
{
	return error ? error : *value ? 0 : -EINVAL;
}

static int set_value(const struct gt_option *option, const char *value, void *values)
{
	void *target = (char *)values + option->offset;

	switch (option->kind) {
	case GT_OPTION_FLAG:
		*(bool *)target = true;
		return 0;
	case GT_OPTION_FLAG_OFF:
		*(bool *)target = false;
		return 0;
	case GT_OPTION_STRING:
		*(const char **)target = value;
		return *value ? 0 : -EINVAL;
	case GT_OPTION_LIST:
		return add_words(target, value);
	case GT_OPTION_WORDS:
		return *value ? gt_strings_add(target, value, strlen(value)) : -EINVAL;
	case GT_OPTION_NUMBER:
		return gt_parse_u64(value, target);
	case GT_OPTION_SIZE:
		return gt_parse_size(value, target);
	case GT_OPTION_BYTES:
		return reject_zero(gt_parse_size(value, target), target);
	case GT_OPTION_COUNT:
		return reject_zero(gt_parse_u64(value, target), target);
	case GT_OPTION_DURATION:
		return gt_parse_duration(value, target);
	case GT_OPTION_PERIOD:
		return reject_zero(gt_parse_duration(value, target), target);
	case GT_OPTION_CHOICE:
		return set_choice(option, value, target);
	}
	return -EINVAL;
}

/* Prints which values are valid. */
static void wrong_value(const struct gt_cli_command *command, const struct gt_option *option,
			const char *value)
{
	gt_auto_strbuf valid = GT_STRBUF_INIT;
	uint64_t number;

	switch (option->kind) {
	case GT_OPTION_CHOICE:
		for (int i = 0; option->choices[i]; i++)
			gt_strbuf_printf(&valid, "%s%s", i ? ", " : "one of: ", option->choices[i]);
		break;
	case GT_OPTION_NUMBER:
		gt_strbuf_puts(&valid, "a whole number");
		break;
	case GT_OPTION_COUNT:
		gt_strbuf_puts(&valid, gt_parse_u64(value, &number) ? "a whole number"
								    : "a whole number from 1");
		break;
	case GT_OPTION_SIZE:
	case GT_OPTION_BYTES:
		gt_strbuf_puts(&valid, "a size such as 64K or 16M");
		break;
	case GT_OPTION_DURATION:
	case GT_OPTION_PERIOD:
		gt_strbuf_puts(&valid, "a duration such as 10s or 500ms");
		break;
	default:
		gt_strbuf_printf(&valid, "expected %s", option->argument);
	}
	gt_cli_usage_error(command, "invalid value '%s' for --%s (%s)", value, option->name,
			   gt_strbuf_string(&valid));
}

/* getopt_long's tables, made from ours. */
struct option_parser {
	char letters[128];
	struct option *names;
};

#define OPERAND 1     /* what getopt_long finds where there is no option */
#define LONG_ONLY 256 /* values of options without a letter begin here */

static int make_parser(const struct gt_cli_command *command, struct option_parser *parser)
{
	char *letter = parser->letters;

	parser->names = calloc(command->option_count + 2, sizeof(*parser->names));
	if (!parser->names)
		return -ENOMEM;
	/* getopt_long returns each operand as OPERAND, or stops at the first. */
	*letter++ = command->options_anywhere ? '-' : '+';
	*letter++ = ':';
	*letter++ = 'h';
	for (size_t i = 0; i < command->option_count; i++) {
		const struct gt_option *option = &command->options[i];

		parser->names[i] = (struct option){
			.name = option->name,
			.has_arg = option->argument ? required_argument : no_argument,
			.val = LONG_ONLY + i,
		};
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && option->argument)
			*letter++ = ':';
	}
	parser->names[command->option_count] = (struct option){
		.name = gt_option_help.name,
		.val = LONG_ONLY + command->option_count,
	};
	*letter = '\0';
	return 0;
}

static const struct gt_option *option_of(const struct gt_cli_command *command, int found)
{
	if (found == gt_option_help.letter || found == LONG_ONLY + (int)command->option_count)
		return &gt_option_help;
	if (found >= LONG_ONLY)
		return &command->options[found - LONG_ONLY];
	for (size_t i = 0; i < command->option_count; i++)
		if (command->options[i].letter == found)
			return &command->options[i];
	return NULL;
}

/* The names of all options, --help too; *ret_count of them. NULL: no memory. The caller frees. */
static const char **option_names(const struct gt_cli_command *command, size_t *ret_count)
{
	const char **names = calloc(command->option_count + 1, sizeof(*names));

	for (size_t i = 0; names && i < command->option_count; i++)
		names[i] = command->options[i].name;
	if (names)
		names[command->option_count] = gt_option_help.name;
	*ret_count = names ? command->option_count + 1 : 0;
	return names;
}

/* A long option that getopt_long rejected: an unexpected value, an ambiguous abbreviation, or an
 * unknown name. */
static void wrong_name(const struct gt_cli_command *command, const char *typed)
{
	gt_autofree char *name = strndup(typed, strcspn(typed, "="));
	size_t count, alike = 0;
	gt_autofree const char **names = option_names(command, &count);
	gt_auto_strbuf candidates = GT_STRBUF_INIT;
	const char *nearest = NULL;

	for (size_t i = 0; name && i < count; i++) {
		if (!strcmp(names[i], name)) {
			gt_cli_usage_error(command, "option --%s takes no value", name);
			return;
		}
		if (!strncmp(names[i], name, strlen(name)))
			gt_strbuf_printf(&candidates, "%s--%s", alike++ ? ", " : "", names[i]);
	}
	if (alike > 1) {
		gt_cli_usage_error(command, "ambiguous option '--%s': %s", name,
				   gt_strbuf_string(&candidates));
		return;
	}
	if (name)
		nearest = gt_nearest(name, names, count);
	gt_cli_usage_error(command, "unknown option '--%s'%s%s%s", name ? name : "",
			   nearest ? ": did you mean '--" : "", nearest ? nearest : "",
			   nearest ? "'?" : "");
}

static void unknown_option(const struct gt_cli_command *command, const char *typed)
{
	/* getopt_long leaves the letter there, 0 for a name, or the value of an option by name. */
	if (optopt && optopt < LONG_ONLY)
		gt_cli_usage_error(command, "unknown option '-%c'", optopt);
	else
		wrong_name(command, typed + 2);
}

static void print_help(const struct gt_cli_command *command)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_cli_put_help(&text, command);
	fputs(gt_strbuf_string(&text), stdout);
}

/* Moves operands before arguments[end], where others may stand. The index of the first. */
static int place_operands(char **arguments, int end, char *const *operands, int count)
{
	for (int i = 0; i < count; i++)
		arguments[end - count + i] = operands[i];
	return end - count;
}

/* Whether the argument that was read last is the end of options, not the value of one. */
static bool is_end(const char *argument, const char *last_value)
{
	return argument != last_value && !strcmp(argument, "--");
}

/* Behind "--" a command to be traced is meant: nothing there is a variable that is empty. */
static bool lacks_command(const struct gt_cli_command *command, int count)
{
	return strstr(command->usage, "-- CMD") && optind == count;
}

/* Whether an option that has one text was given before; notes it in `given`, a flag per option. */
static bool is_repeated(const struct gt_cli_command *command, const struct gt_option *option,
			bool *given)
{
	bool *before = &given[option - command->options];
	bool is_repeated = *before && option->kind == GT_OPTION_STRING;

	*before = true;
	return is_repeated;
}

int gt_cli_parse(const struct gt_cli_command *command, int count, char **arguments, void *values,
		 int *ret_rest)
{
	gt_autofree char **operands = calloc((size_t)count, sizeof(*operands));
	gt_autofree bool *given = calloc(command->option_count + 1, sizeof(*given));
	const char *last_value = NULL; /* of an option */
	struct option_parser parser;
	int operand_count = 0;
	bool ends;
	int status = GT_GO_ON;
	int found;

	if (!operands || !given || make_parser(command, &parser)) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while (status == GT_GO_ON &&
	       (found = getopt_long(count, arguments, parser.letters, parser.names, NULL)) != -1) {
		const struct gt_option *option = option_of(command, found);

		last_value = optarg;
		if (found == OPERAND) {
			operands[operand_count++] = optarg;
		} else if (option == &gt_option_help) {
			print_help(command);
			status = GT_EXIT_OK;
		} else if (found == ':') {
			option = option_of(command, optopt);
			gt_cli_usage_error(command, "option %s requires a value: %s",
					   arguments[optind - 1],
					   option ? option->argument : "VALUE");
			status = GT_EXIT_USAGE;
		} else if (!option) {
			unknown_option(command, arguments[optind - 1]);
			status = GT_EXIT_USAGE;
		} else if (is_repeated(command, option, given)) {
			gt_cli_usage_error(command, "option --%s was given twice", option->name);
			status = GT_EXIT_USAGE;
		} else if (set_value(option, optarg, values)) {
			wrong_value(command, option, optarg);
			status = GT_EXIT_USAGE;
		}
	}
	free(parser.names);
	ends = is_end(arguments[optind - 1], last_value);
	if (status == GT_GO_ON && ends && lacks_command(command, count))
		status = gt_cli_usage_error(command, "no command after --");
	if (operand_count && ends)
		optind--;
	*ret_rest = place_operands(arguments, optind, operands, operand_count);
	return status;
}
