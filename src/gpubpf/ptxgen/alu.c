/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic, as RFC 9669 defines it. */
#include "gpubpf/ptxgen/private.h"

static const struct {
	const char *wide, *narrow;
} operations[16] = {
	[BPF_ADD >> 4] = {"add.s64", "add.s32"},       [BPF_SUB >> 4] = {"sub.s64", "sub.s32"},
	[BPF_MUL >> 4] = {"mul.lo.s64", "mul.lo.s32"}, [BPF_OR >> 4] = {"or.b64", "or.b32"},
	[BPF_AND >> 4] = {"and.b64", "and.b32"},       [BPF_XOR >> 4] = {"xor.b64", "xor.b32"},
	[BPF_LSH >> 4] = {"shl.b64", "shl.b32"},       [BPF_RSH >> 4] = {"shr.u64", "shr.u32"},
	[BPF_ARSH >> 4] = {"shr.s64", "shr.s32"},
};

/* The operands of an instruction and where its result goes, 64 or 32 bits wide. */
struct alu_operands {
	unsigned bits;
	struct gt_ptxgen_value left, right; /* registers, or a constant on the right */
	struct gt_ptxgen_value target;
};

static struct gt_ptxgen_value read_operand(struct gt_ptxgen *gen, unsigned number, bool wide)
{
	return wide ? gt_ptxgen_reg64(gen, number) : gt_ptxgen_reg32(gen, number);
}

static enum gt_ptxgen_class class_of(bool wide)
{
	return wide ? GT_PTXGEN_B64 : GT_PTXGEN_B32;
}

static bool is_shift(unsigned operation)
{
	return operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH;
}

/* The bits to shift by. eBPF takes them modulo the width, PTX clamps them to it. */
static struct gt_ptxgen_value emit_shift_amount(struct gt_ptxgen *gen, const struct bpf_insn *insn,
						bool wide)
{
	unsigned max = wide ? 63 : 31;
	struct gt_ptxgen_value source = read_operand(gen, insn->src_reg, false), amount;

	if (gt_ptxgen_max(gen, insn->src_reg) <= max)
		return source;
	amount = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "and.b32", amount, source, max);
	return amount;
}

/* The values that a divisor can have: 0 and -1 need instructions of their own. */
static void find_divisor_range(struct gt_ptxgen *gen, const struct bpf_insn *insn, bool wide,
			       int64_t *ret_min, int64_t *ret_max)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->src_reg);
	bool known = fact->type == GT_REG_SCALAR;

	if (BPF_SRC(insn->code) == BPF_K) {
		*ret_min = *ret_max = insn->imm;
		return;
	}
	*ret_min = known ? fact->min : INT64_MIN;
	*ret_max = known ? fact->max : INT64_MAX;
	if (!wide && (*ret_min < INT32_MIN || *ret_max > INT32_MAX)) {
		*ret_min = INT32_MIN;
		*ret_max = INT32_MAX;
	}
}

/* target = result where the divisor is one for which the GPU's result is not eBPF's. */
static void emit_special_divisor(struct gt_ptxgen *gen, const struct alu_operands *operands,
				 int divisor, struct gt_ptxgen_value result)
{
	struct gt_ptxgen_value is_special = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, gt_ptxgen_typed("setp.eq", 's', operands->bits), is_special,
		       operands->right, divisor);
	gt_ptxgen_emit(gen, gt_ptxgen_typed("selp", 'b', operands->bits), operands->target, result,
		       operands->target, is_special);
}

static void emit_negation(struct gt_ptxgen *gen, const struct alu_operands *operands,
			  struct gt_ptxgen_value target)
{
	gt_ptxgen_emit(gen, gt_ptxgen_typed("neg", 's', operands->bits), target, operands->left);
}

/* left / -1 is -left, left % -1 is 0, also of the lowest number. */
static void emit_minus_one_divisor(struct gt_ptxgen *gen, const struct alu_operands *operands,
				   bool modulo)
{
	struct gt_ptxgen_value negated;

	if (modulo) {
		emit_special_divisor(gen, operands, -1, gt_ptxgen_signed(0));
		return;
	}
	negated = gt_ptxgen_temporary(gen, class_of(operands->bits == 64));
	emit_negation(gen, operands, negated);
	emit_special_divisor(gen, operands, -1, negated);
}

static void emit_division(struct gt_ptxgen *gen, const struct bpf_insn *insn,
			  const struct alu_operands *operands, bool narrowed)
{
	bool modulo = BPF_OP(insn->code) == BPF_MOD, is_signed = insn->off == 1 && !narrowed;
	int64_t min, max;

	find_divisor_range(gen, insn, operands->bits == 64 || narrowed, &min, &max);
	if (min == -1 && max == -1 && is_signed) {
		if (modulo)
			gt_ptxgen_emit(gen, gt_ptxgen_typed("mov", 'b', operands->bits),
				       operands->target, 0);
		else
			emit_negation(gen, operands, operands->target);
		return;
	}
	gt_ptxgen_emit(
		gen, gt_ptxgen_typed(modulo ? "rem" : "div", is_signed ? 's' : 'u', operands->bits),
		operands->target, operands->left, operands->right);
	if (is_signed && min <= -1 && max >= -1)
		emit_minus_one_divisor(gen, operands, modulo);
	if (min <= 0 && max >= 0)
		emit_special_divisor(gen, operands, 0,
				     modulo ? operands->left : gt_ptxgen_signed(0));
}

/* A shift of 64 bits to the right by 32 and more takes the upper half. */
static bool takes_upper_half(const struct bpf_insn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_RSH | BPF_K) && insn->imm >= 32;
}

static void emit_upper_half(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_value high = gt_ptxgen_high_half(gen, insn->dst_reg), shifted = high;

	if (insn->imm > 32) {
		shifted = gt_ptxgen_b32(gen);
		gt_ptxgen_emit(gen, "shr.u32", shifted, high, insn->imm - 32);
	}
	gt_ptxgen_write_reg32(gen, insn->dst_reg, shifted);
}

static void write_register(struct gt_ptxgen *gen, unsigned number, bool wide,
			   struct gt_ptxgen_value value)
{
	if (wide)
		gt_ptxgen_write_reg64(gen, number, value);
	else
		gt_ptxgen_write_reg32(gen, number, value);
}

static void emit_binary(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code);
	bool divides = operation == BPF_DIV || operation == BPF_MOD;
	bool is_alu64 = BPF_CLASS(insn->code) == BPF_ALU64;
	bool narrowed = is_alu64 && gt_ptxgen_is_narrow_alu(gen, insn),
	     wide = is_alu64 && !narrowed;
	struct alu_operands operands = {.bits = wide ? 64 : 32,
					.left = read_operand(gen, insn->dst_reg, wide)};

	if (BPF_SRC(insn->code) == BPF_K)
		operands.right = gt_ptxgen_signed(insn->imm);
	else if (is_shift(operation))
		operands.right = emit_shift_amount(gen, insn, is_alu64);
	else
		operands.right = read_operand(gen, insn->src_reg, wide);
	operands.target = gt_ptxgen_temporary(gen, class_of(wide));
	if (divides)
		emit_division(gen, insn, &operands, narrowed);
	else
		gt_ptxgen_emit(gen,
			       wide ? operations[operation >> 4].wide
				    : operations[operation >> 4].narrow,
			       operands.target, operands.left, operands.right);
	write_register(gen, insn->dst_reg, wide, operands.target);
}

static void emit_constant_move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	int64_t constant = wide ? (int64_t)insn->imm : (int64_t)(uint32_t)insn->imm;

	gt_ptxgen_write_reg64(gen, insn->dst_reg, gt_ptxgen_signed(constant));
}

/* A move with sign extension of 8, 16 or 32 bits. */
static void emit_extending_move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct gt_ptxgen_value value = gt_ptxgen_temporary(gen, class_of(wide));

	gt_ptxgen_emit(gen, gt_ptxgen_typed(wide ? "cvt.s64" : "cvt.s32", 's', (unsigned)insn->off),
		       value, gt_ptxgen_reg64(gen, insn->src_reg));
	write_register(gen, insn->dst_reg, wide, value);
}

static void emit_move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_SRC(insn->code) == BPF_K)
		emit_constant_move(gen, insn);
	else if (insn->off)
		emit_extending_move(gen, insn);
	else
		write_register(gen, insn->dst_reg, wide, read_operand(gen, insn->src_reg, wide));
}

static void emit_swap_of_32(struct gt_ptxgen *gen, struct gt_ptxgen_value half)
{
	gt_ptxgen_emit(gen, "prmt.b32", half, half, 0, gt_ptxgen_hex(0x0123));
}

static void emit_swap_of_64(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value whole = gt_ptxgen_b64(gen);

	gt_ptxgen_split(gen, low, high, gt_ptxgen_reg64(gen, number));
	emit_swap_of_32(gen, low);
	emit_swap_of_32(gen, high);
	gt_ptxgen_join(gen, whole, high, low);
	gt_ptxgen_write_reg64(gen, number, whole);
}

static void emit_byte_swap(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool swaps = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;
	struct gt_ptxgen_value low;

	if (insn->imm == 64) {
		if (swaps)
			emit_swap_of_64(gen, insn->dst_reg);
		return;
	}
	low = gt_ptxgen_low_half(gen, gt_ptxgen_reg64(gen, insn->dst_reg));
	if (!swaps && insn->imm == 16)
		gt_ptxgen_emit(gen, "and.b32", low, low, gt_ptxgen_hex(0xffff));
	else if (swaps && insn->imm == 16)
		gt_ptxgen_emit(gen, "prmt.b32", low, low, 0, gt_ptxgen_hex(0x4401));
	else if (swaps)
		emit_swap_of_32(gen, low);
	gt_ptxgen_write_reg32(gen, insn->dst_reg, low);
}

static void emit_negate(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct alu_operands operands = {.bits = wide ? 64 : 32,
					.left = read_operand(gen, insn->dst_reg, wide)};

	operands.target = gt_ptxgen_temporary(gen, class_of(wide));
	emit_negation(gen, &operands, operands.target);
	write_register(gen, insn->dst_reg, wide, operands.target);
}

/* A shift to the left whose result strength reduction has calculated. */
static bool emit_reduced_shift(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_value scaled;

	if (BPF_OP(insn->code) != BPF_LSH || !gt_ptxgen_used_scaled(gen, &scaled))
		return false;
	gt_ptxgen_write_reg64(gen, insn->dst_reg, scaled);
	return true;
}

static void emit_operation(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		emit_move(gen, insn);
		return;
	case BPF_END:
		emit_byte_swap(gen, insn);
		return;
	case BPF_NEG:
		emit_negate(gen, insn);
		return;
	default:
		if (takes_upper_half(insn))
			emit_upper_half(gen, insn);
		else if (!emit_reduced_shift(gen, insn))
			emit_binary(gen, insn);
	}
}

void gt_ptxgen_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	gt_ptxgen_emit_scaled(gen, insn);
	emit_operation(gen, insn);
}
