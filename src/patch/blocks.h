/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The basic blocks of a function, numbered from 0 in the order of the text. One starts at the first
 * instruction, at a label that branches lead to, and after a conditional branch or exit. What
 * follows an unconditional one without a label is never executed, and belongs to none.
 */
#pragma once

#include "base/vec.h"
#include "ptx/ptx.h"

/* The first instruction of each, in the order of the text. */
struct gt_patch_blocks {
	GT_VEC(const struct gt_ptx_statement *) statements;
};

/* 0 or -ENOMEM. The caller clears the result, also after an error. */
int gt_patch_blocks_find(const struct gt_ptx_function *function,
			 struct gt_patch_blocks *ret_blocks);
void gt_patch_blocks_clear(struct gt_patch_blocks *blocks);

/*
 * Find the register that a name, without its "%", means to an instruction: a single one of 64 bits
 * or less, or a predicate. False: there is none.
 */
bool gt_patch_find_register(const struct gt_ptx_statement *statement, const char *name,
			    size_t length, struct gt_ptx_operand *ret_operand);
