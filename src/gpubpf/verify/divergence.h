/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which registers and bytes of the stack may differ between the lanes of a warp, and which
 * instructions may be reached by some lanes without the others.
 *
 * A value varies if it is made of one that does, or if lanes that came different ways meet: what
 * was written on these ways varies from there on. Lanes that part at a branch meet at its immediate
 * postdominator at the latest; what lies between is divergent. Numbers in maps and in memory vary,
 * since others write there at the same time, unless nobody may write there.
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
	uint16_t merged;  /* that vary because lanes meet here */
	struct gt_units units, merged_units;
	uint64_t from[GT_BPF_REGISTERS]; /* bit n: made of what stood in map n (63: and above) */
	int32_t cause;                   /* divergent: where lanes parted, or -1 */
	bool diverged_call; /* a call that only some lanes come back from: taken into account */
};

struct gt_lane_function {
	bool varying, merged; /* what it returns */
	bool ends;            /* it, or what it calls, may end the thread */
	uint64_t from;
	struct gt_units ever;     /* units that vary somewhere */
	struct gt_units poisoned; /* units that vary for ever: written through pointers */
};

struct gt_divergence {
	struct gt_verifier *verifier;
	struct gt_facts *facts;
	uint32_t count;
	bool single;                 /* one lane runs the program */
	struct gt_lane_state *state; /* one an instruction */
	struct gt_lane_function *functions;
	/* Ways from one instruction to the next; count + n is the end of function n. */
	uint32_t nodes;
	uint32_t *predecessors, *first_predecessor; /* predecessors: before[first_before[n] …] */
	uint32_t *reconvergence;                    /* immediate postdominators; UINT32_MAX: none */
	uint32_t *stack, *found;                    /* room for walks: two a node, and one */
	uint32_t *visited;                          /* the walk that came by last */
	uint32_t visit;
	uint64_t work; /* steps made so far */
	bool changed;
};

struct gt_units gt_units_range(int64_t min, int64_t end);
static inline bool gt_units_any(const struct gt_units *one, const struct gt_units *other)
{
	return (one->bits[0] & other->bits[0]) | (one->bits[1] & other->bits[1]);
}
/* Adds; whether that changed something. */
static inline bool gt_units_add(struct gt_units *units, const struct gt_units *more)
{
	struct gt_units old = *units;

	units->bits[0] |= more->bits[0];
	units->bits[1] |= more->bits[1];
	return old.bits[0] != units->bits[0] || old.bits[1] != units->bits[1];
}

/* verify_lanes.c: the units that an instruction writes in its own frame; *ret_all: it surely
 * writes all of them, and whole. */
struct gt_units gt_divergence_stack_writes(const struct gt_divergence *analysis, uint32_t at,
					   bool *ret_all);
/* Whether bytes behind a register, before an instruction, may differ between lanes. */
bool gt_divergence_memory_varies(const struct gt_divergence *analysis, uint32_t at, unsigned regno,
				 int64_t offset, uint64_t size);

/* verify_regions.c: where lanes that part meet again. */
int gt_divergence_find_reconvergence(struct gt_divergence *analysis);
unsigned gt_divergence_successors(const struct gt_divergence *analysis, uint32_t at,
				  uint32_t ret_next[2]);
/* The lanes may part at this branch: marks what is divergent, and where they meet. */
void gt_divergence_at(struct gt_divergence *analysis, uint32_t branch);
/* Whether only some of the lanes that make a call may come back from it. */
bool gt_divergence_of_call(const struct gt_divergence *analysis, uint32_t call);
/* A function is called by some lanes only. */
void gt_divergence_of_function(struct gt_divergence *analysis, uint32_t function, int32_t cause);

/* verify_advice.c: what must not be where lanes differ, and what had better not be. */
int gt_divergence_check(struct gt_divergence *analysis);
