/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading command lines by tables, and the tables themselves. */
#include <ctype.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/interval.h"
#include "tap.h"

struct values {
	bool flag, off;
	const char *string;
	struct gt_strings list;
	uint64_t number, size, duration;
	int choice;
};

static const char *const colours[] = {"red", "green", NULL};

#define AT(field) offsetof(struct values, field)

static const struct gt_option options[] = {
	{'f', "flag", NULL, "a flag", GT_OPTION_FLAG, AT(flag), NULL},
	{0, "no-off", NULL, "takes something away", GT_OPTION_FLAG_OFF, AT(off), NULL},
	{'s', "string", "TEXT", "a text", GT_OPTION_STRING, AT(string), NULL},
	{'l', "list", "WORD,…", "words", GT_OPTION_LIST, AT(list), NULL},
	{'n', "number", "N", "a number", GT_OPTION_NUMBER, AT(number), NULL},
	{0, "size", "SIZE", "a size", GT_OPTION_SIZE, AT(size), NULL},
	{0, "duration", "TIME", "a time", GT_OPTION_DURATION, AT(duration), NULL},
	{'c', "colour", "COLOUR", "a colour", GT_OPTION_CHOICE, AT(choice), colours},
};

static const struct gt_cli_command command = {
	.name = "paint",
	.summary = "paints",
	.usage = "[options] [WALL]",
	.description = "Paints walls.",
	.options = options,
	.option_count = gt_countof(options),
};

static struct values values;
static int rest;
static char printed[4096]; /* to stdout and stderr */

/* What a function prints on a stream is kept from the TAP, in `printed`. */
static int divert(FILE *stream, int *ret_saved)
{
	int memory = memfd_create("printed", MFD_CLOEXEC);

	fflush(stream);
	*ret_saved = dup(fileno(stream));
	dup2(memory, fileno(stream));
	return memory;
}

static void restore(FILE *stream, int memory, int saved)
{
	size_t length = strlen(printed);
	ssize_t got;

	fflush(stream);
	dup2(saved, fileno(stream));
	close(saved);
	lseek(memory, 0, SEEK_SET);
	got = gt_read_all(memory, printed + length, sizeof(printed) - 1 - length);
	printed[length + (size_t)(got > 0 ? got : 0)] = '\0';
	close(memory);
}

static int parse_words(int count, const char *const *words)
{
	char *arguments[16] = {(char *)"paint"};
	int saved_out, saved_error, out, error;
	int parsed;

	for (int i = 0; i < count; i++)
		arguments[i + 1] = (char *)words[i];
	gt_strings_free(&values.list);
	values = (struct values){.off = true};
	printed[0] = '\0';
	out = divert(stdout, &saved_out);
	error = divert(stderr, &saved_error);
	parsed = gt_cli_parse(&command, count + 1, arguments, &values, &rest);
	restore(stdout, out, saved_out);
	restore(stderr, error, saved_error);
	return parsed;
}

#define PARSE(...)                                                                                 \
	parse_words(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                        \
		    (const char *[]){__VA_ARGS__})

#define EXPECT_WRONG(message, ...)                                                                 \
	do {                                                                                       \
		CHECK_INT(PARSE(__VA_ARGS__), GT_EXIT_USAGE);                                      \
		CHECK_STR(printed, "gputap: " message " (try 'gputap paint --help')\n");           \
	} while (0)

TEST("values of every kind reach their places")
{
	CHECK_INT(PARSE("-f", "--no-off", "--string", "text", "-n", "7", "--size", "64K",
			"--duration", "1.5ms", "--colour=green"),
		  GT_GO_ON);
	CHECK(values.flag);
	CHECK(!values.off);
	CHECK_STR(values.string, "text");
	CHECK_INT(values.number, 7);
	CHECK_INT(values.size, 65536);
	CHECK_INT(values.duration, 1500000);
	CHECK_INT(values.choice, 1);
	CHECK_STR(printed, "");
}

TEST("what is not given stays as it was")
{
	CHECK_INT(PARSE("--flag"), GT_GO_ON);
	CHECK(values.off);
	CHECK(values.string == NULL);
	CHECK_INT(values.list.words.count, 0);
	CHECK_INT(rest, 2);
}

TEST("letters may stand together, with the value behind the last one")
{
	CHECK_INT(PARSE("-fn12"), GT_GO_ON);
	CHECK(values.flag);
	CHECK_INT(values.number, 12);
}

TEST("a list is separated by commas, and may be given again")
{
	CHECK_INT(PARSE("-l", "a,b", "--list=c"), GT_GO_ON);
	CHECK_INT(values.list.words.count, 3);
	CHECK_STR(values.list.words.items[0], "a");
	CHECK_STR(values.list.words.items[1], "b");
	CHECK_STR(values.list.words.items[2], "c");
	gt_strings_free(&values.list);
}

TEST("a list with nothing between its commas is rejected")
{
	EXPECT_WRONG("invalid value 'a,,b' for --list (expected WORD,…)", "-l", "a,,b");
	EXPECT_WRONG("invalid value '' for --list (expected WORD,…)", "-l", "");
	EXPECT_WRONG("invalid value 'a,' for --list (expected WORD,…)", "-l", "a,");
	gt_strings_free(&values.list);
}

TEST("the first argument that is no option ends them, and so does --")
{
	CHECK_INT(PARSE("-f", "wall", "--number", "x"), GT_GO_ON);
	CHECK_INT(rest, 2);
	CHECK_INT(PARSE("-f", "--", "--number"), GT_GO_ON);
	CHECK_INT(rest, 3);
}

TEST("an option may be abbreviated where it stays unique")
{
	CHECK_INT(PARSE("--str", "text"), GT_GO_ON);
	CHECK_STR(values.string, "text");
	EXPECT_WRONG("ambiguous option '--n': --no-off, --number", "--n");
}

TEST("--help prints usage, description and options, wherever it is")
{
	const char *help = "Usage: gputap paint [options] [WALL]\n"
			   "\n"
			   "Paints walls.\n"
			   "\n"
			   "Options:\n"
			   "  -f, --flag              a flag\n"
			   "      --no-off            takes something away\n"
			   "  -s, --string TEXT       a text\n"
			   "  -l, --list WORD,…       words\n"
			   "  -n, --number N          a number\n"
			   "      --size SIZE         a size\n"
			   "      --duration TIME     a time\n"
			   "  -c, --colour COLOUR     a colour\n"
			   "  -h, --help              show this help\n";

	CHECK_INT(PARSE("--help"), GT_EXIT_OK);
	CHECK_STR(printed, help);
	CHECK_INT(PARSE("-fh", "--unknown"), GT_EXIT_OK);
	CHECK_STR(printed, help);
}

TEST("an empty line is between the paragraphs of a description")
{
	static const struct gt_cli_command painter = {
		.name = "paint", .usage = "", .description = "Paints walls.\nAnd doors."};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_cli_put_help(&text, &painter);
	CHECK(strstr(gt_strbuf_string(&text), "\n\nPaints walls.\n\nAnd doors.\n\nOptions:\n"));
}

TEST("an invalid value is rejected with the valid ones")
{
	EXPECT_WRONG("invalid value '-1' for --number (a whole number)", "-n", "-1");
	EXPECT_WRONG("invalid value '99999999999999999999' for --number (a whole number)",
		     "--number", "99999999999999999999");
	EXPECT_WRONG("invalid value 'big' for --size (a size such as 64K or 16M)", "--size", "big");
	EXPECT_WRONG("invalid value 'soon' for --duration (a duration such as 10s or 500ms)",
		     "--duration", "soon");
	EXPECT_WRONG("invalid value 'gre' for --colour (one of: red, green)", "-c", "gre");
	EXPECT_WRONG("invalid value '' for --string (expected TEXT)", "-s", "");
}

TEST("options that are wrong are reported as what they are")
{
	EXPECT_WRONG("unknown option '--colur': did you mean '--colour'?", "--colur");
	EXPECT_WRONG("unknown option '--colur': did you mean '--colour'?", "--colur=red");
	EXPECT_WRONG("unknown option '--xyzzy'", "--xyzzy");
	EXPECT_WRONG("unknown option '-x'", "-fx");
	EXPECT_WRONG("option --flag takes no value", "--flag=1");
	EXPECT_WRONG("option --help takes no value", "--help=1");
	EXPECT_WRONG("option --number requires a value: N", "--number");
	EXPECT_WRONG("option -n requires a value: N", "-n");
}

TEST("every command has a name, a summary and a description, and is found by its name")
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	CHECK(count > 0);
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(commands[i]->summary);

		CHECK(gt_cli_find(commands[i]->name) == commands[i]);
		CHECK(length && isupper((unsigned char)commands[i]->summary[0]));
		CHECK(commands[i]->summary[length - 1] != '.');
		CHECK(*commands[i]->description);
		CHECK(commands[i]->usage && commands[i]->run);
	}
}

static void check_option(const struct gt_cli_command *self, size_t index)
{
	const struct gt_option *option = &self->options[index];
	bool is_flag = option->kind == GT_OPTION_FLAG || option->kind == GT_OPTION_FLAG_OFF;
	size_t length = strlen(option->help);

	CHECK(option->letter != 'h' && strcmp(option->name, "help") != 0);
	CHECK(length && option->help[length - 1] != '.');
	CHECK_INT(option->argument == NULL, is_flag);
	CHECK(option->choices || option->kind != GT_OPTION_CHOICE);
	CHECK(!option->choices || option->kind == GT_OPTION_CHOICE ||
	      option->kind == GT_OPTION_STRING || option->kind == GT_OPTION_LIST);
	for (size_t i = 0; i < index; i++) {
		const struct gt_option *other = &self->options[i];

		if (!strcmp(option->name, other->name) ||
		    (option->letter && option->letter == other->letter))
			TAP_FAIL("gputap %s has two options --%s or -%c", self->name, option->name,
				 option->letter);
		if (option->offset == other->offset)
			TAP_FAIL("--%s and --%s of gputap %s set the same", option->name,
				 other->name, self->name);
	}
}

TEST("options of a command differ in name, letter and place, and take values where they should")
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < commands[i]->option_count; j++)
			check_option(commands[i], j);
}

TEST("in the manual no text is taken for a request")
{
	gt_auto_strbuf manual = GT_STRBUF_INIT;
	static const char *const requests[] = {".SH SOURCES\n", ".SS ",  ".PP\n",
					       ".TP\n",         ".EX\n", ".EE\n"};

	gt_cli_put_manual(&manual);
	for (const char *line = gt_strbuf_string(&manual); *line; line = strchr(line, '\n') + 1) {
		bool known = *line != '.' && *line != '\'';

		for (size_t i = 0; i < gt_countof(requests); i++)
			known |= !strncmp(line, requests[i], strlen(requests[i]));
		if (!known)
			TAP_FAIL("a strange line: %.*s", (int)strcspn(line, "\n"), line);
	}
	CHECK(strstr(gt_strbuf_string(&manual), "\\fB\\-\\-ring\\-size\\fR \\fISIZE\\fR\n") !=
	      NULL);
}

TEST("a shell that is not known has no completion")
{
	gt_auto_strbuf script = GT_STRBUF_INIT;

	CHECK_INT(gt_cli_put_completion(&script, "tcsh"), -EINVAL);
	CHECK_INT(script.length, 0);
	CHECK_INT(gt_cli_put_completion(&script, "zsh"), 0);
	CHECK(!strncmp(gt_strbuf_string(&script), "#compdef gputap\n", 16));
}

TEST("intervals end at multiples of their length, those that were missed as one, none at the end")
{
	struct gt_report_interval interval = {.length = 10, .duration = 35, .signals = -1};
	uint64_t end = 0;

	CHECK(!gt_interval_is_over(&interval, 0, 1000, &end));
	CHECK(!gt_interval_is_over(&interval, 1000, 1009, &end));
	CHECK(gt_interval_is_over(&interval, 1000, 1010, &end));
	CHECK_INT(end, 1010);
	CHECK(!gt_interval_is_over(&interval, 1000, 1019, &end));
	interval.duration = 0;
	CHECK(gt_interval_is_over(&interval, 1000, 1049, &end));
	CHECK_INT(end, 1020);
	CHECK(gt_interval_is_over(&interval, 1000, 1050, &end));
	CHECK_INT(end, 1050);
	interval.duration = 60;
	CHECK(!gt_interval_is_over(&interval, 1000, 1070, &end));
	CHECK(!gt_interval_is_requested(&interval));
}

TEST_MAIN
