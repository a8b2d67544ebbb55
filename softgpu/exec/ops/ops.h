/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Instructions other than operations on lanes, as far as several files use them. */
#pragma once

#include "exec/engine/engine.h"

/* ---- control (control.c, call.c) ------------------------------------------------------- */

sg_run sg_run_join, sg_run_jump, sg_run_jump_back, sg_run_branch, sg_run_branch_back, sg_run_guard,
	sg_run_nanosleep, sg_run_ret;
/* Returns argument `index` of the call `at` for one lane of the caller; 0 if it passes fewer. */
uint64_t sg_call_argument(const struct sg_warp *warp, const struct sg_instruction *at,
			  uint32_t index, uint32_t lane);
/* Reads an argument of `size` bytes in memory; 0 if it is smaller or in a register. */
void sg_call_read(const struct sg_warp *warp, const struct sg_pass *pass, uint32_t lane, void *to,
		  uint32_t size);
/* Writes the result of the call `at` for one lane of the caller, if it takes a result. */
void sg_call_return(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		    uint64_t value);

/* ---- exchanges and barriers (exchange.c, barrier.c) ------------------------------------ */

enum sg_shuffle {
	SG_SHUFFLE_UP,
	SG_SHUFFLE_DOWN,
	SG_SHUFFLE_BUTTERFLY,
	SG_SHUFFLE_INDEX,
};

enum sg_vote {
	SG_VOTE_ALL,
	SG_VOTE_ANY,
	SG_VOTE_UNI,
	SG_VOTE_BALLOT,
};

enum sg_reduction {
	SG_REDUCE_ADD,
	SG_REDUCE_MIN,
	SG_REDUCE_MAX,
	SG_REDUCE_AND,
	SG_REDUCE_OR,
	SG_REDUCE_XOR,
};

/* The type of a reduction: `count` of the instruction. */
enum sg_reduced {
	SG_REDUCE_UNSIGNED,
	SG_REDUCE_SIGNED,
	SG_REDUCE_FLOATS, /* min and max only */
};

enum sg_barrier_kind {
	SG_BARRIER_SYNC,
	SG_BARRIER_ARRIVE,
	SG_BARRIER_POPC,
	SG_BARRIER_AND,
	SG_BARRIER_OR,
};

/* ---- atomics (atomic.c) ---------------------------------------------------------------- */

enum sg_atomic {
	SG_ATOMIC_ADD,
	SG_ATOMIC_MIN,
	SG_ATOMIC_MAX,
	SG_ATOMIC_AND,
	SG_ATOMIC_OR,
	SG_ATOMIC_XOR,
	SG_ATOMIC_EXCHANGE,
	SG_ATOMIC_COMPARE,
	SG_ATOMIC_INCREMENT,
	SG_ATOMIC_DECREMENT,
};

/* selector: enum sg_atomic; type in space. */
sg_run sg_run_atomic;
/* EXCHANGE and COMPARE of 128 bits. */
sg_run sg_run_atomic_wide;

/*
 * Changes a value in memory, atomically unless it is private; returns the old one. Type in
 * at->space, operation in at->selector.
 */
uint64_t sg_atomic_change(const struct sg_instruction *at, void *place, bool is_private, uint64_t b,
			  uint64_t c);
/* The operation of a form, and whether it exists for a type. */
bool sg_find_atomic(const struct gt_ptx_form *form, enum sg_atomic *ret_operation);
bool sg_has_atomic(enum sg_atomic operation, enum gt_ptx_type type);
/* Completes bytes of copies at an mbarrier object. */
void sg_mbarrier_complete_bytes(void *place, uint64_t bytes);

/* ---- 16-bit floating point (half.c) ---------------------------------------------------- */

enum sg_half {
	SG_HALF_NONE,
	SG_HALF_F16,
	SG_HALF_BF16,
	SG_HALF_F16X2,
	SG_HALF_BF16X2,
};

enum sg_half sg_half_format(enum gt_ptx_type type);

enum sg_half_operation {
	SG_HALF_ADD,
	SG_HALF_SUB,
	SG_HALF_MUL,
	SG_HALF_FMA,
	SG_HALF_NEG,
	SG_HALF_ABS,
	SG_HALF_MIN,
	SG_HALF_MAX,
	SG_HALF_EX2,
	SG_HALF_TANH,
};

/* A comparison; count: enum sg_comparison, size: enum sg_half. */
sg_run sg_run_half_compare;
/* list[0]: slot of the result; size: the format compared, space: that of the result or 0. */
sg_run sg_run_half_set;
