/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A directory of its own for a test program, in which it builds the files that it examines with the
 * compiler that built it (variable CC, set by meson). It is gone when the program ends.
 */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "tap.h"
#include "temporary.h"

static struct temporary fixture_directory;

static inline int fixture_remove_one(const char *path, const struct stat *status, int kind,
				     struct FTW *at)
{
	return remove(path);
}

static inline void fixture_remove(void)
{
	nftw(fixture_directory.path, fixture_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The directory; made at the first call. Every path in these tests is relative to it. */
static inline const char *fixture(void)
{
	if (!fixture_directory.path[0]) {
		if (!make_temporary_directory(&fixture_directory) ||
		    chdir(fixture_directory.path)) {
			perror(fixture_directory.path);
			exit(99);
		}
		atexit(fixture_remove);
	}
	return fixture_directory.path;
}

/* Runs a shell command in the directory; what it wrote is in *ret_output, if that is not NULL. */
gt_printf(2, 3) static inline int run(char **ret_output, const char *format, ...)
{
	gt_auto_strbuf output = GT_STRBUF_INIT;
	gt_autofree char *command = NULL;
	char chunk[4096];
	va_list arguments;
	size_t got;
	FILE *pipe;

	fixture();
	va_start(arguments, format);
	if (vasprintf(&command, format, arguments) < 0)
		exit(99);
	va_end(arguments);
	pipe = popen(command, "r");
	if (!pipe)
		exit(99);
	while ((got = fread(chunk, 1, sizeof(chunk), pipe)) > 0)
		gt_strbuf_add(&output, chunk, got);
	if (ret_output)
		*ret_output = strdup(gt_strbuf_string(&output));
	return pclose(pipe);
}

static inline void write_file(const char *path, const void *data, size_t size)
{
	size_t written = 0;
	FILE *file;

	fixture();
	file = fopen(path, "w");
	if (file)
		written = fwrite(data, 1, size, file);
	if (!file || fclose(file) || written != size) {
		perror(path);
		exit(99);
	}
}

static inline void write_text(const char *path, const char *string)
{
	write_file(path, string, strlen(string));
}

/* Compiles source text with the given options; the build's own sanitizers are not among them. */
static inline void compile(const char *source, const char *options)
{
	const char *compiler = getenv("CC");

	write_text("source.c", source);
	if (run(NULL, "%s -O1 source.c %s 2>compile.log", compiler ? compiler : "cc", options)) {
		TAP_FAIL("the compiler failed: %s", options);
		run(NULL, "sed 's/^/# /' compile.log >&2");
	}
}
