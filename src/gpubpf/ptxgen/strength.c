/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Strength reduction of shifts to the left. Values are shifted to the right and back: sectors of 32
 * bytes are counted as bytes again, an index that was taken from the bits of an address is
 * multiplied by the size of an element. Beside such a value, x >> n, the value that it becomes when
 * it is shifted back, x & -1 << n, is calculated without shifts, through moves, additions,
 * subtractions and masks, as those of induction variables are (Muchnick, Advanced Compiler Design
 * and Implementation, 14.1).
 */
#include <string.h>

#include "gpubpf/ptxgen/private.h"

enum {
	MAX_SHIFT = 31, /* more are not shifted back */
};

static const struct gt_ptxgen_scaled unknown;

void gt_ptxgen_forget_strength(struct gt_ptxgen *gen)
{
	memset(gen->strength.registers, 0, sizeof(gen->strength.registers));
	memset(gen->strength.slots, 0, sizeof(gen->strength.slots));
}

/* ---- operations ---- */

static struct gt_ptxgen_strength_row *row_at(const struct gt_ptxgen *gen)
{
	return &gen->strength.rows[gen->at];
}

/* The instruction at gen->at makes a scaled value of another one and a constant or a third one. */
static struct gt_ptxgen_scaled make_scaled(struct gt_ptxgen *gen, const char *operation,
					   struct gt_ptxgen_scaled left, uint32_t right,
					   uint64_t constant)
{
	*row_at(gen) = (struct gt_ptxgen_strength_row){
		.operation = operation,
		.shift = left.shift,
		.left = left.made,
		.right = right,
		.constant = constant,
	};
	return (struct gt_ptxgen_scaled){left.shift, gen->at};
}

/* A shift to the right: x >> n << n is x without its lowest bits. */
static struct gt_ptxgen_scaled begin_scaled(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled itself = {(uint8_t)insn->imm, GT_PTXGEN_NONE};

	if (insn->code != (BPF_ALU64 | BPF_RSH | BPF_K) || insn->imm < 1 || insn->imm > MAX_SHIFT)
		return unknown;
	return make_scaled(gen, "and.b64", itself, GT_PTXGEN_NONE, UINT64_MAX);
}

/* An operation that can be done on the scaled values, too, if both have the same shift. */
static struct gt_ptxgen_scaled follow_operation(struct gt_ptxgen *gen, const struct bpf_insn *insn,
						const char *operation)
{
	struct gt_ptxgen_scaled left = gen->strength.registers[insn->dst_reg], result;
	struct gt_ptxgen_scaled right = gen->strength.registers[insn->src_reg];

	if (!left.shift)
		return unknown;
	if (BPF_SRC(insn->code) == BPF_K)
		result = make_scaled(gen, operation, left, GT_PTXGEN_NONE,
				     (uint64_t)(int64_t)insn->imm);
	else if (left.shift == right.shift)
		result = make_scaled(gen, operation, left, right.made, 0);
	else
		return unknown;
	row_at(gen)->low_half = BPF_CLASS(insn->code) == BPF_ALU;
	return result;
}

/* A move of 32 bits is a mask. */
static struct gt_ptxgen_scaled follow_move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled source = gen->strength.registers[insn->src_reg];

	if (BPF_SRC(insn->code) != BPF_X || insn->off || !source.shift)
		return unknown;
	return BPF_CLASS(insn->code) == BPF_ALU64
		       ? source
		       : make_scaled(gen, "and.b64", source, GT_PTXGEN_NONE, UINT32_MAX);
}

/* A shift to the left uses the scaled value if it shifts back exactly. */
static void follow_left_shift(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled scaled = gen->strength.registers[insn->dst_reg];

	if (insn->code == (BPF_ALU64 | BPF_LSH | BPF_K) && insn->imm == scaled.shift)
		row_at(gen)->used = scaled;
}

static struct gt_ptxgen_scaled follow_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_RSH:
		return begin_scaled(gen, insn);
	case BPF_MOV:
		return follow_move(gen, insn);
	case BPF_ADD:
		return follow_operation(gen, insn, "add.s64");
	case BPF_SUB:
		return follow_operation(gen, insn, "sub.s64");
	case BPF_AND:
		return follow_operation(gen, insn, "and.b64");
	case BPF_LSH:
		follow_left_shift(gen, insn);
		return unknown;
	default:
		return unknown;
	}
}

/* ---- memory and calls ---- */

static struct gt_ptxgen_scaled find_in_memory(const struct gt_ptxgen *gen, unsigned number,
					      int64_t offset, unsigned width)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int slot = gt_ptxgen_is_own_stack(fact)
			   ? gt_ptxgen_find_slot(gen->strength.slots, fact->min + offset, width)
			   : -1;

	return slot >= 0 ? gen->strength.slot_values[slot] : unknown;
}

static void write_memory(struct gt_ptxgen *gen, unsigned number, int64_t offset, unsigned width,
			 struct gt_ptxgen_scaled value)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int slot;

	if (gt_ptxgen_is_own_stack(fact)) {
		slot = gt_ptxgen_write_slot(gen->strength.slots, fact->min + offset, width);
		gen->strength.slot_values[slot] = value;
	} else if (fact->type == GT_REG_STACK || fact->type == GT_REG_MIXED) {
		memset(gen->strength.slots, 0, sizeof(gen->strength.slots));
	}
}

/* A value in memory keeps its scaled one if all its bits are stored. */
static void follow_store(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool atomic = BPF_MODE(insn->code) == BPF_ATOMIC;
	unsigned width = gt_bpf_access_size(insn);
	struct gt_ptxgen_scaled value = gen->strength.registers[insn->src_reg];

	if (atomic && (insn->imm & BPF_FETCH))
		gen->strength.registers[insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg] = unknown;
	if (atomic || (width < 8 && gt_ptxgen_max(gen, insn->src_reg) >> (8 * width)))
		value = unknown;
	write_memory(gen, insn->dst_reg, insn->off, width, value);
}

static void follow_call(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);

	if (gt_bpf_is_subprogram_call(insn) || gt_bpf_is_loop_call(insn)) {
		gt_ptxgen_forget_strength(gen);
		return;
	}
	for (unsigned i = 0; helper && i < GT_HELPER_ARGUMENTS; i++)
		if (helper->arguments[i] == GT_ARG_KEY)
			row_at(gen)->used = find_in_memory(gen, i + 1, 0, 4);
		else if (helper->arguments[i] == GT_ARG_RESULT_U64)
			write_memory(gen, i + 1, 0, 8, unknown);
	memset(gen->strength.registers, 0, 6 * sizeof(gen->strength.registers[0]));
}

void gt_ptxgen_follow_strength(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled *result = &gen->strength.registers[insn->dst_reg];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		*result = follow_alu(gen, insn);
		return;
	case BPF_LD:
		*result = unknown;
		return;
	case BPF_LDX:
		*result = BPF_MODE(insn->code) == BPF_MEMSX
				  ? unknown
				  : find_in_memory(gen, insn->src_reg, insn->off,
						   gt_bpf_access_size(insn));
		return;
	case BPF_ST:
		write_memory(gen, insn->dst_reg, insn->off, gt_bpf_access_size(insn), unknown);
		return;
	case BPF_STX:
		follow_store(gen, insn);
		return;
	default:
		if (BPF_OP(insn->code) == BPF_CALL)
			follow_call(gen, insn);
	}
}

void gt_ptxgen_leave_region_strength(struct gt_ptxgen *gen, unsigned written)
{
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (written >> i & 1)
			gen->strength.registers[i] = unknown;
}

/* ---- emission ---- */

void gt_ptxgen_mark_needed(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_strength_row *rows = gen->strength.rows;

	/* The instruction that makes a value has a smaller number than those that use it. */
	for (uint32_t at = gen->facts->insn_count; at-- > 0;) {
		if (rows[at].used.shift)
			rows[rows[at].used.made].needed = true;
		if (rows[at].needed && rows[at].left != GT_PTXGEN_NONE)
			rows[rows[at].left].needed = true;
		if (rows[at].needed && rows[at].right != GT_PTXGEN_NONE)
			rows[rows[at].right].needed = true;
	}
}

static struct gt_ptxgen_value emit_mask(struct gt_ptxgen *gen, struct gt_ptxgen_value value,
					uint64_t mask)
{
	struct gt_ptxgen_value masked = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "and.b64", masked, value, gt_ptxgen_hex(mask));
	return masked;
}

void gt_ptxgen_emit_scaled(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_ptxgen_strength_row *row = row_at(gen);
	const struct gt_ptxgen_value *values = gen->strength.values;
	struct gt_ptxgen_value left, right, result;

	if (!row->needed)
		return;
	left = row->left == GT_PTXGEN_NONE ? gt_ptxgen_reg64(gen, insn->dst_reg)
					   : values[row->left];
	right = row->right == GT_PTXGEN_NONE ? gt_ptxgen_hex(row->constant << row->shift)
					     : values[row->right];
	result = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, row->operation, result, left, right);
	if (row->low_half)
		result = emit_mask(gen, result, (uint64_t)UINT32_MAX << row->shift);
	gen->strength.values[gen->at] = result;
}

unsigned gt_ptxgen_used_scaled(const struct gt_ptxgen *gen, struct gt_ptxgen_value *ret_value)
{
	struct gt_ptxgen_scaled used = row_at(gen)->used;

	if (used.shift)
		*ret_value = gen->strength.values[used.made];
	return used.shift;
}
