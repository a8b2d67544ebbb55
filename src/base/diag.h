/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The message of an error for the user. Libraries fill it in and return -Exxx; they never print.
 * Commands print it.
 */
#pragma once

#include "base/clean.h"

struct gt_diag {
	char stage[32];  /* the operation: "attach", "capture", "ptx" …; not empty if set */
	char place[256]; /* the object: a path, "path:line", a function; may be empty */
	char text[512];  /* the reason, and what to do next */
};

/*
 * Fills in *diag (which may be NULL) and returns `error`, so that a caller can write
 * `return gt_diag(diag, -ENOENT, "attach", path, "no such file")`. A diag that is set
 * already is not changed, since the innermost reason is the most useful one. place may be NULL.
 */
int gt_diag(struct gt_diag *diag, int error, const char *stage, const char *place,
	    const char *format, ...) gt_printf(5, 6);

enum gt_file_use { GT_FILE_READ, GT_FILE_WRITTEN };

/*
 * What to do about an error of a file, -Exxx, as the end of a sentence: ": choose another file".
 * Empty where there is no advice for it.
 */
const char *gt_file_advice(int error, enum gt_file_use use);
/*
 * gt_diag for an error of a file: "REASON: ADVICE", after "WHAT: " unless `what` is NULL. Returns
 * `error`.
 */
int gt_diag_file(struct gt_diag *diag, int error, const char *stage, const char *path,
		 enum gt_file_use use, const char *what);

/* Returns whether a message is set. */
static inline int gt_diag_is_set(const struct gt_diag *diag)
{
	return diag && diag->stage[0];
}
