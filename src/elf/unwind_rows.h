/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The unwinding rules of a file as rows of a sorted table (unwind_row.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "elf/unwind_row.h"

/* Executable bytes without rules that are shorter are padding between functions. */
#define GT_UNWIND_PADDING 16

struct gt_unwind_rows {
	struct gt_unwind_row *items; /* by offset */
	size_t count;
};

/*
 * Reads the rules of a file. 0; -ENOENT: it has none, or is for another machine than x86-64;
 * -E2BIG: more than `limit` rows; -EBADMSG, -EFBIG: malformed; -ENOMEM.
 */
int gt_unwind_rows_read(struct gt_elf *elf, size_t limit, struct gt_unwind_rows *ret_rows);
void gt_unwind_rows_free(struct gt_unwind_rows *rows);
