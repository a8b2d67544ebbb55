/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a user must read when something fails. Libraries fill one in and return -Exxx;
 * they never print. Commands print it.
 */
#pragma once

#include "base/clean.h"

struct gt_diag {
	char stage[32]; /* what was being done: "attach", "capture", "ptx" …; never empty if set */
	char place[256]; /* where: a path, "path:line", a function; may be empty */
	char text[512];  /* what went wrong, and what to do next */
};

/*
 * Fills in *diag (which may be NULL) and returns `error`, so that a caller can write
 * `return gt_diag(diag, -ENOENT, "attach", path, "no such file")`. The first message wins:
 * a diag that is already set is left alone, because the innermost reason is the useful one.
 * place may be NULL.
 */
int gt_diag(struct gt_diag *diag, int error, const char *stage, const char *place,
	    const char *format, ...) gt_printf(5, 6);

/* Whether a message was set. */
static inline int gt_diag_is_set(const struct gt_diag *diag)
{
	return diag && diag->stage[0];
}
