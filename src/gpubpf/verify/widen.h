/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Widening of loops (Cousot, Cousot, "Abstract Interpretation", POPL 1977): instead of exploring
 * each iteration, explore one from a state that subsumes the states of all.
 *
 * At a loop's header the state is widened: registers and slots that change in the loop get the
 * values of all iterations. What changes, and how, is learnt from the paths that come back to the
 * header: each pass that finds a new change is repeated with it. A value may change
 *	by a step: header value n = first value + the sum of n steps, each between two constants;
 *	within limits: its values are those of a range (a hull), or any.
 * Steps give a range only if the iterations are limited. That is proved, not assumed: on every path
 * that comes back, one value that changes by steps of one sign (the rank) does not wrap and is
 * within the limit that follows from the number of iterations; or a may_goto fell through; or the
 * path is an iteration of bpf_loop. Which number to try follows from the tests that leave the loop.
 * For all values with steps it is checked on each path back that the step is within its constants.
 *
 * So that steps are known, values have an origin (struct gt_value): a value at a header, and the
 * range of what was added to it since.
 *
 * A test x != y leaves a loop only if x meets y: x <= y before the loop, a step that divides their
 * difference, and y unchanged prove x < y wherever the test continues the loop (the order).
 *
 * Pointers to one object are compared as their offsets (gt_compares_offsets), so that a loop may
 * end at a pointer.
 *
 * States in a widened loop subsume only those in the same execution of it, with the same origins:
 * its ranges hold for its own iterations.
 */
#pragma once

#include "gpubpf/verify/loops.h"

enum {
	/* Locations of a state: registers and slots of each frame. */
	GT_FRAME_LOCATIONS = GT_BPF_REGISTERS + GT_BPF_STACK_SLOTS,
	GT_LOCATIONS = GT_BPF_MAX_FRAMES * GT_FRAME_LOCATIONS,
	GT_MAX_LOOP_TESTS = 16,
	GT_NO_LOCATION = -1,
};

/* How a value changes in a loop: each kind includes those before it. */
enum gt_loop_change {
	GT_CHANGE_NONE,
	GT_CHANGE_STEP, /* by min to max in each iteration */
	GT_CHANGE_HULL, /* it is one of `hull` */
	GT_CHANGE_ANY,  /* any scalar; of a slot, bytes of scalars or addresses */
};

struct gt_loop_value {
	uint8_t change; /* gt_loop_change */
	uint8_t bits;   /* STEP: 64 or 32 */
	bool address;
	uint8_t growth; /* how often the hull or the step grew */
	int64_t min, max;
	struct gt_scalar hull;
};

/* A conditional jump that leaves a loop. */
struct gt_loop_test {
	uint32_t insn;
	int location;      /* of the value that is compared, at the header */
	int64_t change;    /* what was added to it since, at least … */
	uint32_t spread;   /* … and so much more at most */
	uint8_t bits;      /* of that sum */
	bool narrow;       /* a comparison of 32 bits */
	uint8_t operation; /* the loop continues if value <operation> limit */
	struct gt_scalar limit;
	int limit_location; /* an unchanged value of the header, or GT_NO_LOCATION */
	bool useless;       /* it does not limit the iterations on each path */
};

/* The proof that a loop ends. */
struct gt_loop_rank {
	enum {
		GT_RANK_NONE,
		GT_RANK_VALUE,
		GT_RANK_BUDGET, /* may_goto, bpf_loop */
	} kind;
	struct gt_loop_test *test; /* VALUE: which one */
	bool is_signed;
	bool is_narrow;
	__int128 first;      /* the first value: the lowest, or the highest if it decreases */
	__int128 last;       /* no value at the header is above, or below, it */
	uint64_t iterations; /* how often the header is reached again, at most */
};

/* The order of a value and its limit, x <= y or, if it decreases, x >= y. */
struct gt_loop_order {
	bool holds;
	bool is_signed;
	uint32_t origin;
	const struct gt_loop_test *test;
};

/* A loop that was entered and widened. */
struct gt_widened {
	struct gt_loop *loop;
	struct gt_widened *next; /* of all in this pass */
	struct gt_state *state;  /* the widened state at the header */
	unsigned depth, level;   /* of the frame; in gt_state.widened */
	uint32_t invocation;
	uint32_t first_origin; /* location n has the origin first_origin + n */
	struct gt_loop_rank rank;
	struct gt_loop_order order;
};

/* The value at a location of a state, or NULL. *ret_slot: of a slot, else NULL; may be NULL. */
struct gt_value *gt_location_value(struct gt_state *state, unsigned location,
				   struct gt_slot **ret_slot);

/* How a value that is shifted by 32 bits can be shifted back. */
enum gt_origin_shift {
	GT_SHIFTED = 1,
	GT_SHIFTED_ZERO = 2, /* to all 64 bits, by RSH */
	GT_SHIFTED_SIGN = 4, /* by ARSH */
};

/* origin.c: the origin of results. */
void gt_origin_move(const struct bpf_insn *insn, const struct gt_value *source,
		    struct gt_value *result, bool same);
void gt_origin_alu(const struct bpf_insn *insn, const struct gt_value *left,
		   const struct gt_value *right, struct gt_value *result, uint32_t *next_id);
/* A value of `size` bytes was stored and loaded again; same: its value did not change. */
static inline void gt_origin_copy(const struct gt_value *from, struct gt_value *to)
{
	to->origin = from->origin;
	to->origin_bits = from->origin_bits;
	to->shifted = from->shifted;
	to->change = from->change;
	to->spread = from->spread;
	to->sum = from->sum;
}
/* The distance of a pointer was added to, or subtracted from, a pointer. */
void gt_origin_move_pointer(const struct bpf_insn *insn, const struct gt_value *pointer,
			    const struct gt_scalar *distance, struct gt_value *result,
			    uint32_t *next_id);
/* Whether both are the same value. */
static inline bool gt_origin_is_same(const struct gt_value *one, const struct gt_value *other)
{
	return one->origin == other->origin && one->origin_bits == other->origin_bits &&
	       one->shifted == other->shifted && one->change == other->change && !one->spread &&
	       !other->spread;
}
/* Whether what was added to one includes what was added to the other. */
static inline bool gt_origin_subsumes(const struct gt_value *old, const struct gt_value *value)
{
	return old->origin == value->origin && old->origin_bits == value->origin_bits &&
	       old->shifted == value->shifted && old->change <= value->change &&
	       (__int128)old->change + old->spread >= (__int128)value->change + value->spread;
}
/* Apply the bounds of a scalar, or of a pointer's offset, to all with the same origin. */
void gt_origin_sync(struct gt_state *state, const struct gt_value *known);
/* Narrow a scalar, or the offset of a pointer, to numbers that it may have. */
void gt_narrow_number(struct gt_value *value, const struct gt_scalar *number);
/* Forget the origins of a widened loop. */
void gt_origin_forget(struct gt_state *state, uint32_t first);

/* widen.c */
/* Before an instruction is visited: end the widened loops that the path has left. */
void gt_widen_leave(struct gt_verifier *verifier);
/*
 * At the header of a loop that is to be widened: 1 where the path ends, since it came back to a
 * state that subsumes it; 0; -EAGAIN: more is known of the loop now, to be used in a new pass; or
 * an error.
 */
int gt_widen_come_back(struct gt_verifier *verifier);
/* Enter the loop: widen the state. 0, -EAGAIN or an error. */
int gt_widen_enter(struct gt_verifier *verifier);
/* Stop to widen one loop, after a pass that failed. False: there is none. */
bool gt_widen_less(struct gt_verifier *verifier);
void gt_widen_clear(struct gt_verifier *verifier);
/* Whether a path is within the header of a widened loop and has come back to it. */
struct gt_widened *gt_widened_here(const struct gt_verifier *verifier);

/* rank.c */
/* At a conditional jump: note a test that leaves a widened loop. */
void gt_rank_note_test(struct gt_verifier *verifier, const struct bpf_insn *insn);
/* Apply the order of a value and its limit to one side of a jump. False: impossible. */
bool gt_rank_apply_order(const struct gt_verifier *verifier, struct gt_state *state,
			 const struct bpf_insn *insn, bool taken);
/*
 * Narrow the value that the test compares to those from the first to the last, and return it.
 * Without an origin: there is none, or its steps are equal, so that it follows from the next value.
 */
struct gt_value gt_rank_narrow(const struct gt_widened *widened, struct gt_state *state);
/*
 * Choose the test that limits the iterations of a loop to be widened, from its first state. One
 * that allows more than `max` is none.
 */
void gt_rank_choose(struct gt_widened *widened, struct gt_state *first, uint64_t budget,
		    uint64_t max);
/* Whether the path that came back with `state` has one iteration less before it. */
bool gt_rank_decreases(const struct gt_widened *widened, struct gt_state *state);
