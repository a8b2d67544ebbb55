/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The natural loops of a function, and the branches on which threads leave them. A loop is known by
 * the label of its header: where threads enter it, and where all of its back edges lead. See
 * "natural loop" in Aho, Lam, Sethi, Ullman, Compilers, 9.6.6. In the text the header may come
 * after the body, which falls through to it ("bra $test; $body: …; $test: …; @%p bra $body;").
 */
#pragma once

#include "base/vec.h"
#include "ptx/ptx.h"

/* A branch that leaves a loop on one of its paths. */
struct gt_patch_loop_end {
	const struct gt_ptx_statement *statement; /* a bra, ret or exit with a guard */
	const struct gt_ptx_label *loop;
	/* The earlier label that a branch of the loop leads to: `loop`, unless the body comes
	 * first. */
	const struct gt_ptx_label *back;
	bool after; /* threads leave where they do not take it */
};

struct gt_patch_loops {
	GT_VEC(const struct gt_ptx_label *) labels; /* of the loops, in the order of the text */
	/* In the order of the text; of one statement, those before it come first. */
	GT_VEC(struct gt_patch_loop_end) ends;
	/* Loops that are none of these: other branches lead into them, or they are too large. */
	uint32_t rejected;
	const char *reason; /* for the last one; NULL: none was rejected */
};

/* 0 or -ENOMEM. The caller clears the result, also after an error. */
int gt_patch_loops_find(const struct gt_ptx_function *function, struct gt_patch_loops *ret_loops);
void gt_patch_loops_clear(struct gt_patch_loops *loops);
