/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the source lines of a function begin: at the first instruction of each in the text, where a
 * debugger would break. Line information is that of .loc; each inlined copy of a line is another
 * one.
 */
#pragma once

#include "base/vec.h"
#include "ptx/ptx.h"

/* The first instruction of each line, in the order of the text. */
struct gt_patch_lines {
	GT_VEC(const struct gt_ptx_statement *) statements;
};

/* 0 or -ENOMEM. The caller clears the result, also after an error. */
int gt_patch_lines_find(const struct gt_ptx_function *function, struct gt_patch_lines *ret_lines);
void gt_patch_lines_clear(struct gt_patch_lines *lines);
