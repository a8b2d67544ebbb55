/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether ptxas, where it is installed, accepts what a test takes for PTX. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temporary.h"
#include "toolkit.h"

/* Every text that was loaded. */
static char **loaded_texts;
static size_t loaded_count;

static inline void remember_text(const char *text)
{
	char **texts;

	for (size_t i = 0; i < loaded_count; i++)
		if (!strcmp(loaded_texts[i], text))
			return;
	texts = realloc(loaded_texts, (loaded_count + 1) * sizeof(*texts));
	if (!texts)
		abort();
	loaded_texts = texts;
	loaded_texts[loaded_count++] = strdup(text);
}

static inline void check_text_with_ptxas(const char *text)
{
	char command[TEMPORARY_PATH + 512], line[512];
	struct temporary input;
	const char *sm = strstr(text, "sm_");
	/* CUDA 13 has no older ones, and makes of their texts what sm_75 runs. */
	bool known = sm && atoi(sm + 3) >= 75;
	/* Relocatable code needs PTX 3.1. */
	bool relocatable = !strstr(text, ".version 2.");
	int fd = make_temporary_file(&input);
	FILE *pipe;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		TAP_FAIL("no temporary file: %s", strerror(errno));
		return;
	}
	close(fd);
	snprintf(command, sizeof(command), TOOLS "ptxas -arch=%.*s%s -o /dev/null %s 2>&1",
		 known ? (int)strcspn(sm, ", \n") : 5, known ? sm : "sm_75",
		 relocatable ? " -c" : "", input.path);
	pipe = popen(command, "r");
	line[0] = 0;
	if (pipe && !fgets(line, sizeof(line), pipe))
		line[0] = 0;
	/* To its end: ptxas warns, too. */
	while (pipe && getc(pipe) != EOF)
		continue;
	if (!pipe || pclose(pipe) != 0)
		TAP_FAIL("ptxas: %s", line);
	unlink(input.path);
}

/* The texts are those of the tests before, which patterns may exclude. */
#define NEED_TEXTS(least)                                                                          \
	do {                                                                                       \
		NEED_TOOL("ptxas");                                                                \
		if (tap_has_patterns && !loaded_count)                                             \
			SKIP("the tests that load texts are not selected");                        \
		CHECK(tap_has_patterns || loaded_count >= (least));                                \
	} while (0)

#define check_with_ptxas()                                                                         \
	do {                                                                                       \
		NEED_TEXTS(1);                                                                     \
		for (size_t text_ = 0; text_ < loaded_count; text_++)                              \
			check_text_with_ptxas(loaded_texts[text_]);                                \
	} while (0)
