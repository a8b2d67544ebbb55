/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Divergence analysis: which registers and bytes of the stack may vary between the lanes of a warp,
 * and which instructions only some of the lanes may execute (Coutinho, Sampaio, Pereira, Meira,
 * "Divergence Analysis and Optimizations", PACT 2011).
 *
 * A value varies if it depends on one that does, or on a divergent branch: what was written on its
 * paths varies after the lanes reconverge. Lanes that diverge at a branch reconverge at its
 * immediate postdominator at the latest; the instructions between are divergent. Values in maps and
 * in memory vary, since others store there at the same time, unless they are read-only.
 */
#pragma once

#include "gpubpf/verify/private.h"

enum {
	GT_STACK_UNITS = GT_BPF_STACK_SIZE / 4,
	GT_NO_INSN = -1,
};

/* A set of units of a frame's stack: unit n is the 4 bytes at -4 * (n + 1). */
struct gt_units {
	uint64_t bits[GT_STACK_UNITS / 64];
};

/* Before an instruction. */
struct gt_lane_state {
	uint16_t varying; /* registers */
	uint16_t merged;  /* of these, those that vary because lanes reconverge here */
	struct gt_units units, merged_units;
	uint64_t from[GT_BPF_REGISTERS]; /* bit n: depends on a value of map n (63: or above) */
	int32_t cause;                   /* where the lanes diverged, or GT_NO_INSN */
	bool diverged_call; /* a call from which only some lanes return; already considered */
};

struct gt_lane_function {
	bool varying, merged; /* its result */
	bool ends;            /* it or a callee may end the thread */
	uint64_t from;
	struct gt_units ever;     /* units that vary somewhere */
	struct gt_units poisoned; /* units that always vary: written through pointers */
};

struct gt_divergence {
	struct gt_verifier *verifier;
	struct gt_facts *facts;
	uint32_t count;
	bool single;                 /* one lane runs the program */
	struct gt_lane_state *state; /* one per instruction */
	struct gt_lane_function *functions;
	/* The control flow graph; node count + n is the end of function n. */
	uint32_t nodes;
	uint32_t *predecessors, *first_predecessor; /* of n: predecessors[first_predecessor[n] …] */
	uint32_t *reconvergence;                    /* immediate postdominators; UINT32_MAX: none */
	uint32_t *stack, *found; /* for graph traversals: two per node, and one */
	uint32_t *visited;       /* per node: the last traversal that visited it */
	uint32_t traversal;
	uint64_t work; /* steps made so far */
	bool changed;
};

struct gt_units gt_units_range(int64_t min, int64_t end);
static inline bool gt_units_any(const struct gt_units *one, const struct gt_units *other)
{
	return (one->bits[0] & other->bits[0]) | (one->bits[1] & other->bits[1]);
}
/* Add units. Whether that changed the set. */
static inline bool gt_units_add(struct gt_units *units, const struct gt_units *more)
{
	struct gt_units old = *units;

	units->bits[0] |= more->bits[0];
	units->bits[1] |= more->bits[1];
	return old.bits[0] != units->bits[0] || old.bits[1] != units->bits[1];
}

/* divergence.c: the units that an instruction writes in its own frame; *ret_all: it always writes
 * all bytes of them. */
struct gt_units gt_divergence_stack_writes(const struct gt_divergence *analysis, uint32_t at,
					   bool *ret_all);
/* Whether bytes that a register points to, before an instruction, may vary between lanes. */
bool gt_divergence_memory_varies(const struct gt_divergence *analysis, uint32_t at, unsigned regno,
				 int64_t offset, uint64_t size);

/* reconvergence.c */
int gt_divergence_find_reconvergence(struct gt_divergence *analysis);
unsigned gt_divergence_successors(const struct gt_divergence *analysis, uint32_t at,
				  uint32_t ret_next[2]);
/* The lanes may diverge at this branch: mark divergent instructions and merged values. */
void gt_divergence_at(struct gt_divergence *analysis, uint32_t branch);
/* Whether only some of the lanes that make a call may return from it. */
bool gt_divergence_of_call(const struct gt_divergence *analysis, uint32_t call);
/* Mark a function that only some lanes call. */
void gt_divergence_of_function(struct gt_divergence *analysis, uint32_t function, int32_t cause);

/* divergence_checks.c: reject or warn about operations that depend on divergence. */
int gt_divergence_check(struct gt_divergence *analysis);
