/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/ptxas_words.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"

enum {
	MAX_DEPTH = 8, /* of options files that name options files */
	MAX_OPTIONS_FILES = 64,
};

enum word_kind { OTHER, OUTPUT, OPTIONS_FILES, INPUT_TEXT };

struct word_reader {
	struct gt_ptxas_words *result;
	enum word_kind expected; /* what the next word is the value of */
	unsigned int depth, file_count;
};

static void add_word(struct word_reader *reader, const char *word);

/* ---- options files --------------------------------------------------------------------- */

/*
 * The next word of a text, or NULL. White space separates words; in double quotes, and after a
 * backslash, it is a part of them. The word is written over the text.
 */
static char *next_word(char **text)
{
	char *from = *text, *word, *to;
	bool is_quoted = false, is_last;

	while (isspace((unsigned char)*from))
		from++;
	if (!*from)
		return NULL;
	for (word = to = from; *from && (is_quoted || !isspace((unsigned char)*from)); from++) {
		if (*from == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	is_last = !*from;
	*to = '\0';
	*text = is_last ? from : from + 1;
	return word;
}

static void read_options_file(struct word_reader *reader, const char *path)
{
	struct gt_agent_file file = {0};
	char *text, *word;

	if (reader->depth < MAX_DEPTH && reader->file_count < MAX_OPTIONS_FILES)
		file = gt_agent_read_file(path);
	if (!file.data) {
		reader->result->is_incomplete = true;
		return;
	}
	reader->depth++;
	reader->file_count++;
	text = file.data;
	while ((word = next_word(&text)))
		add_word(reader, word);
	reader->depth--;
}

/* Paths with commas between them. */
static void read_options_files(struct word_reader *reader, const char *paths)
{
	while (*paths) {
		size_t length = strcspn(paths, ",");
		char path[PATH_MAX];

		if (length >= sizeof(path)) {
			reader->result->is_incomplete = true;
			return;
		}
		memcpy(path, paths, length);
		path[length] = '\0';
		if (length)
			read_options_file(reader, path);
		paths += length + (paths[length] == ',');
	}
}

/* ---- words ----------------------------------------------------------------------------- */

static void add_value(struct word_reader *reader, enum word_kind kind, const char *value)
{
	if (kind == OUTPUT)
		reader->result->output = value;
	else if (kind == OPTIONS_FILES)
		read_options_files(reader, value);
	else
		reader->result->is_incomplete = true;
}

static void add_option(struct word_reader *reader, const char *word)
{
	static const struct {
		const char *name;
		enum word_kind kind;
	} options[] = {
		{"-o", OUTPUT},           {"--output-file", OUTPUT},
		{"-optf", OPTIONS_FILES}, {"--options-file", OPTIONS_FILES},
		{"-ias", INPUT_TEXT},     {"--input-as-string", INPUT_TEXT},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t length = strlen(options[i].name);

		if (strncmp(word, options[i].name, length) != 0)
			continue;
		if (word[length] == '=')
			add_value(reader, options[i].kind, word + length + 1);
		else if (!word[length])
			reader->expected = options[i].kind;
	}
}

/* Whether a file begins as PTX does; values of other options are no such files. */
static bool is_ptx_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char start = 0;
	bool result = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		      pread(fd, &start, 1, 0) == 1 && start && strchr("./ \t\r\n", start);

	if (fd >= 0)
		close(fd);
	return result;
}

static void add_input(struct gt_ptxas_words *result, const char *path)
{
	if (result->input_count == GT_AGENT_MAX_INPUTS)
		result->is_incomplete = true;
	else
		result->inputs[result->input_count++] = path;
}

static void add_word(struct word_reader *reader, const char *word)
{
	enum word_kind kind = reader->expected;

	reader->expected = OTHER;
	if (kind != OTHER)
		add_value(reader, kind, word);
	else if (word[0] == '-' && word[1])
		add_option(reader, word);
	else if (!strcmp(word, "-") || is_ptx_file(word))
		add_input(reader->result, word);
}

void gt_ptxas_words_read(int count, char *const *words, struct gt_ptxas_words *result)
{
	struct word_reader reader = {.result = result};

	*result = (struct gt_ptxas_words){.output = "elf.o"};
	for (int i = 1; i < count; i++)
		add_word(&reader, words[i]);
}
