/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loops of the control flow graph. The header of a loop is the target of a retreating edge of a
 * depth-first search, its body the instructions from which such an edge is reached without passing
 * the header. In reducible graphs these are the natural loops; every cycle is in the body of a
 * header in any graph.
 */
#pragma once

#include "gpubpf/verify/private.h"

enum {
	GT_MAX_LOOPS = 256,            /* with more, none is widened, and there is no bound */
	GT_MAX_LOOP_PROGRAM = 1 << 16, /* slots; the same for longer programs */
};

struct gt_loop {
	uint32_t header;
	uint64_t *body;  /* bit n: instruction n */
	uint32_t visits; /* of the header in this pass, on all paths */
	bool is_call; /* of bpf_loop: the header is the call, and the functions it calls the body */
	bool has_may_goto;
	/* widen.c: what is known of it from earlier passes, and the iterations proved in this one.
	 */
	bool no_budget; /* may_goto does not limit each path back */
	bool no_links;  /* scalars that are linked at the header may differ after an iteration */
	bool exact;     /* not widened: its iterations are explored one by one */
	struct gt_loop_value *values; /* by location; NULL: nothing is known to change */
	struct gt_loop_test *tests;
	unsigned test_count;
	uint64_t iterations;
};

struct gt_loops {
	struct gt_loop *items; /* by header */
	uint32_t count;
};

/* Find the loops of a program. On -E2BIG there are too many. */
int gt_loops_find(struct gt_verifier *verifier);
void gt_loops_free(struct gt_loops *loops);
/* The loop with that header, or NULL. */
struct gt_loop *gt_loop_at(const struct gt_verifier *verifier, uint32_t header);
static inline bool gt_loop_contains(const struct gt_loop *loop, uint32_t insn)
{
	return loop->body[insn / 64] >> insn % 64 & 1;
}

/*
 * bound.c: the max number of instructions that a run executes, from the iterations of each loop:
 * each instruction counts as often as the loops around it iterate. UINT64_MAX: unknown.
 */
uint64_t gt_verify_bound(struct gt_verifier *verifier);
