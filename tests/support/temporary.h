/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files and directories of a test, in the directory that TMPDIR names, or in /tmp. The test removes
 * them, and reports a failure to create one.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TEMPORARY_PATH = 256, /* bytes; creating one below a longer TMPDIR fails */
};

struct temporary {
	char path[TEMPORARY_PATH];
};

static inline void name_temporary(struct temporary *temporary)
{
	const char *parent = getenv("TMPDIR");

	snprintf(temporary->path, sizeof(temporary->path), "%s/gputap-XXXXXX",
		 parent && *parent ? parent : "/tmp");
}

/* A new file, open for writing: its descriptor, or -1. */
static inline int make_temporary_file(struct temporary *ret_file)
{
	name_temporary(ret_file);
	return mkstemp(ret_file->path);
}

/* A new file, which is closed and empty. */
static inline bool make_empty_file(struct temporary *ret_file)
{
	int file = make_temporary_file(ret_file);

	return file >= 0 && !close(file);
}

static inline bool make_temporary_directory(struct temporary *ret_directory)
{
	name_temporary(ret_directory);
	return mkdtemp(ret_directory->path);
}

/* Remove a directory with its files. */
static inline bool remove_temporary_directory(const struct temporary *directory)
{
	char command[TEMPORARY_PATH + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory->path);
	return !system(command);
}
