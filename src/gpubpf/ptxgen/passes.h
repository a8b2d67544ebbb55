/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The passes over the eBPF instructions of a program, before PTX instructions are selected. Each
 * leaves a table by instruction that instruction selection reads; none emits anything. They run in
 * this order:
 *
 *	if-conversion       which jumps become selections (if_conversion.c)
 *	null tests          which calls branch to the NULL side of their test (null_test.c)
 *	range analysis      the largest unsigned value of each register (range.c)
 *	strength reduction  which shifts need not be calculated (strength.c)
 *
 * The last two are forward data-flow analyses that know nothing at labels. analysis.c walks the
 * instructions for them, in the order in which they are emitted.
 */
#pragma once

#include "gpubpf/facts.h"

struct gt_ptxgen;

enum {
	GT_PTXGEN_NONE = UINT32_MAX, /* no instruction */
	GT_PTXGEN_STACK_SLOTS = 8,   /* of the stack, that an analysis follows */
};

/* Bytes of the frame's stack that hold one known value; width 0: none. */
struct gt_ptxgen_slot {
	int16_t offset;
	uint8_t width;
};
/* The index of the slot with exactly these bytes, or -1. */
int gt_ptxgen_find_slot(const struct gt_ptxgen_slot *slots, int64_t offset, unsigned width);
/* The bytes are written: forget the slots that overlap them. Returns the index of their slot. */
int gt_ptxgen_write_slot(struct gt_ptxgen_slot *slots, int64_t offset, unsigned width);

/* ---- range analysis ---- */

/* Before an instruction. */
struct gt_ptxgen_range_row {
	uint64_t max[GT_BPF_REGISTERS]; /* unsigned; the verifier's facts may say less */
	uint64_t key_max;               /* calls: of the key of 4 bytes at r2 */
	uint16_t known;                 /* bit n: r<n> is max[n] */
	uint8_t source;                 /* stores: the context field in the stored register */
};

struct gt_ptxgen_ranges {
	struct gt_ptxgen_range_row *rows;
	/* Where the analysis is. */
	uint64_t max[GT_BPF_REGISTERS];
	uint16_t known;
	uint8_t sources[GT_BPF_REGISTERS]; /* context fields they hold; GT_SOURCE_NONE: none */
	struct gt_ptxgen_slot slots[GT_PTXGEN_STACK_SLOTS];
	uint64_t slot_max[GT_PTXGEN_STACK_SLOTS];
};

/* At labels: nothing is known. */
void gt_ptxgen_forget_ranges(struct gt_ptxgen *gen);
/* Records what holds before gen->at. */
void gt_ptxgen_record_ranges(struct gt_ptxgen *gen);
/* What the instruction at gen->at, which is recorded, changes. */
void gt_ptxgen_follow_ranges(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/*
 * If-conversion: after the region of the converted jump at gen->at both paths meet. `written` are
 * the registers that the region writes, as bits.
 */
void gt_ptxgen_leave_region_ranges(struct gt_ptxgen *gen, unsigned written);

/* The largest unsigned value of a register before gen->at. */
uint64_t gt_ptxgen_max(const struct gt_ptxgen *gen, unsigned number);
/* The same where the conditional jump at gen->at is taken. */
uint64_t gt_ptxgen_max_taken(const struct gt_ptxgen *gen, unsigned number);
/* The same after the instruction at `last`, which comes before gen->at. */
uint64_t gt_ptxgen_max_after(const struct gt_ptxgen *gen, uint32_t last, unsigned number);
/* The same of the result of the operation at gen->at. */
uint64_t gt_ptxgen_max_result(const struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* The same of the key of 4 bytes of the call at gen->at. */
uint64_t gt_ptxgen_max_key(const struct gt_ptxgen *gen);
/* Whether a register is a constant before gen->at. */
bool gt_ptxgen_known(const struct gt_ptxgen *gen, unsigned number, uint64_t *ret_number);
/*
 * The context field that the store at gen->at stores, if it is one that a thread can read again at
 * no cost but does not keep in a constant bank: its indices. GT_SOURCE_NONE: another value.
 */
enum gt_context_source gt_ptxgen_stored_source(const struct gt_ptxgen *gen);
/* The constant that a jump compares with, where it is known. */
bool gt_ptxgen_known_right(const struct gt_ptxgen *gen, const struct bpf_insn *insn,
			   uint64_t *ret_number);

/* ---- strength reduction ---- */

/*
 * A value that was shifted to the right, x >> shift, and beside it a value that is the same shifted
 * back. The instruction `made` calculates that; shift 0: there is none.
 */
struct gt_ptxgen_scaled {
	uint8_t shift;
	uint32_t made;
};

struct gt_ptxgen_strength_row {
	/* The scaled value that this instruction makes. */
	const char *operation; /* "add.s64"; NULL: none */
	uint8_t shift;
	bool low_half;        /* the upper half of the result is 0 */
	bool needed;          /* some instruction uses it */
	uint32_t left, right; /* made there. NONE: the register itself, the constant */
	uint64_t constant;    /* not shifted */
	/* The scaled value that it uses: a shift back is this value, a key indexes with it. */
	struct gt_ptxgen_scaled used;
};

struct gt_ptxgen_strength {
	struct gt_ptxgen_strength_row *rows;
	struct gt_ptxgen_value *values; /* by instruction: the scaled values emitted so far */
	/* Where the analysis is. */
	struct gt_ptxgen_scaled registers[GT_BPF_REGISTERS];
	struct gt_ptxgen_slot slots[GT_PTXGEN_STACK_SLOTS];
	struct gt_ptxgen_scaled slot_values[GT_PTXGEN_STACK_SLOTS];
};

void gt_ptxgen_forget_strength(struct gt_ptxgen *gen);
void gt_ptxgen_follow_strength(struct gt_ptxgen *gen, const struct bpf_insn *insn);
void gt_ptxgen_leave_region_strength(struct gt_ptxgen *gen, unsigned written);
/* At the end: marks the scaled values that are needed. */
void gt_ptxgen_mark_needed(struct gt_ptxgen *gen);

/* Emits the scaled value that the operation at gen->at makes, if it is needed. */
void gt_ptxgen_emit_scaled(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* The scaled value that the instruction at gen->at uses (.b64), with its shift. 0: none. */
unsigned gt_ptxgen_used_scaled(const struct gt_ptxgen *gen, struct gt_ptxgen_value *ret_value);

/* Both analyses. 0 or -ENOMEM. */
int gt_ptxgen_analyse(struct gt_ptxgen *gen);

/* ---- if-conversion ---- */

struct gt_ptxgen_if_conversion {
	uint32_t *ends; /* of a converted jump: the end of its region, else 0 */
};

/* 0 or -ENOMEM. */
int gt_ptxgen_plan_if_conversion(struct gt_ptxgen *gen);
/* The registers that the region of a converted jump writes, as bits. */
unsigned gt_ptxgen_region_written(const struct gt_ptxgen *gen, uint32_t jump);
static inline bool gt_ptxgen_is_alu(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_ALU || BPF_CLASS(insn->code) == BPF_ALU64;
}
/* Emits the converted jump at gen->at and its region. Returns the region's end. */
uint32_t gt_ptxgen_emit_converted(struct gt_ptxgen *gen);

/* ---- null tests ---- */

/* By instruction. */
struct gt_ptxgen_null_test {
	uint32_t test; /* calls: the test of the result that the call does; 0: none */
	bool is_test;  /* a test that a call does */
	bool is_early; /* emitted with the call, before its branch to the NULL side */
};

/* 0 or -ENOMEM. Adds the labels that such calls need to gen->targets. */
int gt_ptxgen_plan_null_tests(struct gt_ptxgen *gen);
/*
 * Whether the call at gen->at does the test of its result for NULL. Its helper must then set r0 to
 * 0 and branch to the label where it is NULL, and fall through where r0 is not NULL; the test
 * itself is not emitted. Also emits the instructions between the call and its test that must
 * precede the branch: call this just before it.
 */
bool gt_ptxgen_null_target(struct gt_ptxgen *gen, struct gt_ptxgen_value *ret_label);
