/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replace a file when its new contents are complete: they are written to another file beside it.
 * A file that exists keeps its permissions and, where that is permitted, its owner; a symbolic link
 * is followed; a file with several hard links keeps them: the contents are copied into it.
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_replacement {
	char *path;     /* without symbolic links */
	char *partial;  /* where the contents are to be written */
	bool is_direct; /* `partial` is the file: a pipe, a device, or a link to nothing */
};

/* 0 or -errno. */
int gt_replacement_begin(const char *path, struct gt_replacement *ret_replacement,
			 struct gt_diag *diag);
/*
 * Replace the file by what was written. 0 or -errno; then the file is as it was, unless copying
 * into one with several hard links failed: the error names the file that has the contents.
 */
int gt_replacement_commit(struct gt_replacement *replacement, struct gt_diag *diag);
/* Remove what was written and not committed. */
void gt_replacement_free(struct gt_replacement *replacement);
