/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LLVM 14 has no remainders for eBPF: it compiles x % c to x - x / c * c. A verifier knows that
 * x % c is less than c, and nothing of the difference. Both are the same number, also where c is 0,
 * so the subtraction is replaced.
 */
#include <stdlib.h>

#include "gpubpf/object/private.h"

enum {
	MAX_DISTANCE = 64, /* instructions between the copy of x and the subtraction */
};

/* Instructions without jumps from or to them, except for a jump to the first one. */
struct block {
	struct bpf_insn *insns;
	uint32_t first, subtraction;
};

static bool is_alu(const struct bpf_insn *insn, unsigned class, unsigned operation)
{
	return BPF_CLASS(insn->code) == class && BPF_OP(insn->code) == operation && !insn->off;
}

/* Whether an instruction copies a register, or the half of it that a class of operations reads. */
static bool is_copy(const struct bpf_insn *insn, unsigned class, unsigned to, unsigned from)
{
	return (is_alu(insn, class, BPF_MOV) || is_alu(insn, BPF_ALU64, BPF_MOV)) &&
	       BPF_SRC(insn->code) == BPF_X && insn->dst_reg == to && insn->src_reg == from;
}

/* Whether an instruction may write a register. The second half of an ld_imm64 counts as one of r0.
 */
static bool writes(const struct bpf_insn *insn, unsigned reg)
{
	unsigned class = BPF_CLASS(insn->code);

	return class != BPF_ST && class != BPF_STX && insn->dst_reg == reg;
}

/* Find the last instruction before `at` that writes a register. False: none is in the block. */
static bool find_writer(const struct block *block, unsigned reg, uint32_t at, uint32_t *ret_at)
{
	while (at-- > block->first)
		if (writes(&block->insns[at], reg)) {
			*ret_at = at;
			return true;
		}
	return false;
}

static bool is_written(const struct block *block, unsigned reg, uint32_t from, uint32_t to)
{
	uint32_t at;

	return find_writer(block, reg, to, &at) && at >= from;
}

/* Whether two instructions have the same operand, which is none of the registers x and quotient. */
static bool have_same_operand(const struct bpf_insn *one, const struct bpf_insn *other, unsigned x,
			      unsigned quotient)
{
	if (BPF_SRC(one->code) != BPF_SRC(other->code))
		return false;
	if (BPF_SRC(one->code) == BPF_K)
		return one->imm == other->imm;
	return one->src_reg == other->src_reg && one->src_reg != x && one->src_reg != quotient;
}

/* Whether a register has the value of x before the division and x has it at the subtraction. */
static bool is_copy_of_x(const struct block *block, unsigned class, unsigned x, unsigned quotient,
			 uint32_t division)
{
	uint32_t copy;

	if (find_writer(block, quotient, division, &copy) &&
	    is_copy(&block->insns[copy], class, quotient, x))
		return !is_written(block, x, copy, block->subtraction);
	return find_writer(block, x, block->subtraction, &copy) && copy < division &&
	       is_copy(&block->insns[copy], class, x, quotient) &&
	       !is_written(block, quotient, copy, division);
}

/* The division of x - x / c * c, or NULL. */
static const struct bpf_insn *find_division(const struct block *block)
{
	const struct bpf_insn *subtraction = &block->insns[block->subtraction];
	unsigned class = BPF_CLASS(subtraction->code);
	unsigned x = subtraction->dst_reg, quotient = subtraction->src_reg;
	const struct bpf_insn *product, *division;
	uint32_t product_at, division_at;

	if (x == quotient || !find_writer(block, quotient, block->subtraction, &product_at) ||
	    !find_writer(block, quotient, product_at, &division_at))
		return NULL;
	product = &block->insns[product_at];
	division = &block->insns[division_at];
	if (!is_alu(product, class, BPF_MUL) || !is_alu(division, class, BPF_DIV) ||
	    !have_same_operand(division, product, x, quotient) ||
	    !is_copy_of_x(block, class, x, quotient, division_at))
		return NULL;
	if (BPF_SRC(division->code) == BPF_X &&
	    is_written(block, division->src_reg, division_at, block->subtraction))
		return NULL;
	return division;
}

/* ---- blocks ---------------------------------------------------------------------------- */

static bool is_jump(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32;
}

/* Atomic operations may write other registers than their destination. */
static bool ends_block(const struct bpf_insn *insn)
{
	return is_jump(insn) ||
	       (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC);
}

static void mark_target(const struct bpf_insn *insn, uint32_t at, uint32_t count, bool *is_target)
{
	bool is_long = insn->code == (BPF_JMP32 | BPF_JA);
	bool is_call = insn->code == (BPF_JMP | BPF_CALL);
	int64_t target = (int64_t)at + 1 + (is_long || is_call ? insn->imm : insn->off);

	if (is_call && insn->src_reg != BPF_PSEUDO_CALL)
		return;
	if (target >= 0 && target < count)
		is_target[target] = true;
}

static bool is_subtraction(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code);

	return (class == BPF_ALU || class == BPF_ALU64) && is_alu(insn, class, BPF_SUB) &&
	       BPF_SRC(insn->code) == BPF_X;
}

static void replace_subtraction(const struct block *block)
{
	struct bpf_insn *insn = &block->insns[block->subtraction];
	const struct bpf_insn *division = find_division(block);

	if (!division)
		return;
	insn->code = BPF_CLASS(insn->code) | BPF_MOD | BPF_SRC(division->code);
	insn->src_reg = division->src_reg;
	insn->imm = division->imm;
}

void gt_object_find_remainders(struct bpf_insn *insns, uint32_t count)
{
	gt_autofree bool *is_target = calloc(count + 1u, sizeof(*is_target));
	struct block block = {.insns = insns};

	if (!is_target)
		return;
	for (uint32_t at = 0; at < count; at++)
		if (is_jump(&insns[at]))
			mark_target(&insns[at], at, count, is_target);
	for (uint32_t at = 0; at < count; at++) {
		if (is_target[at])
			block.first = at;
		if (block.first + MAX_DISTANCE < at)
			block.first = at - MAX_DISTANCE;
		block.subtraction = at;
		if (is_subtraction(&insns[at]))
			replace_subtraction(&block);
		if (ends_block(&insns[at]))
			block.first = at + 1;
	}
}
