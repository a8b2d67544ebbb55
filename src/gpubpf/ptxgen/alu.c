/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic, as RFC 9669 defines it. */
#include <inttypes.h>

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
struct operands {
	bool wide;
	struct gt_ptxgen_name left, right; /* registers, or a number on the right */
	struct gt_ptxgen_name target;
};

static struct gt_ptxgen_name number_name(int64_t number)
{
	struct gt_ptxgen_name name;

	snprintf(name.text, sizeof(name.text), "%" PRId64, number);
	return name;
}

static struct gt_ptxgen_name operand(struct gt_ptxgen *gen, unsigned number, bool wide)
{
	return wide ? gt_ptxgen_register(gen, number) : gt_ptxgen_low_of(gen, number);
}

static bool is_shift(unsigned operation)
{
	return operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH;
}

/* The number of places to shift by: PTX does not cut it to the width. */
static struct gt_ptxgen_name shift_amount(struct gt_ptxgen *gen, const struct bpf_insn *insn,
					  bool wide)
{
	unsigned limit = wide ? 63 : 31;
	struct gt_ptxgen_name source = operand(gen, insn->src_reg, false), amount;

	if (gt_ptxgen_limit(gen, insn->src_reg) <= limit)
		return source;
	amount = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	gt_ptxgen_emit(gen, "and.b32 %s, %s, %u", amount.text, source.text, limit);
	return amount;
}

/* What a divisor cannot be, so that nothing need be done about it. */
static void divisor_range(struct gt_ptxgen *gen, const struct bpf_insn *insn, bool wide,
			  int64_t *ret_least, int64_t *ret_greatest)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->src_reg);
	bool known = fact->type == GT_REG_SCALAR;

	if (BPF_SRC(insn->code) == BPF_K) {
		*ret_least = *ret_greatest = insn->imm;
		return;
	}
	*ret_least = known ? fact->min : INT64_MIN;
	*ret_greatest = known ? fact->max : INT64_MAX;
	if (!wide && (*ret_least < INT32_MIN || *ret_greatest > INT32_MAX)) {
		*ret_least = INT32_MIN;
		*ret_greatest = INT32_MAX;
	}
}

/* left ? right for one divisor for which the machine's own result does not count. */
static void except(struct gt_ptxgen *gen, const struct operands *operands, int divisor,
		   const char *result)
{
	struct gt_ptxgen_name is = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
	const char *type = operands->wide ? "b64" : "b32";

	gt_ptxgen_emit(gen, "setp.eq.%s %s, %s, %d", operands->wide ? "s64" : "s32", is.text,
		       operands->right.text, divisor);
	gt_ptxgen_emit(gen, "selp.%s %s, %s, %s, %s", type, operands->target.text, result,
		       operands->target.text, is.text);
}

static void divide(struct gt_ptxgen *gen, const struct bpf_insn *insn,
		   const struct operands *operands, bool is_short)
{
	bool modulo = BPF_OP(insn->code) == BPF_MOD, is_signed = insn->off == 1 && !is_short;
	int64_t min, max;
	struct gt_ptxgen_name negated;

	divisor_range(gen, insn, operands->wide || is_short, &min, &max);
	if (min == -1 && max == -1 && is_signed) {
		if (modulo)
			gt_ptxgen_emit(gen, "mov.b%d %s, 0", operands->wide ? 64 : 32,
				       operands->target.text);
		else
			gt_ptxgen_emit(gen, "neg.s%d %s, %s", operands->wide ? 64 : 32,
				       operands->target.text, operands->left.text);
		return;
	}
	gt_ptxgen_emit(gen, "%s.%c%d %s, %s, %s", modulo ? "rem" : "div", is_signed ? 's' : 'u',
		       operands->wide ? 64 : 32, operands->target.text, operands->left.text,
		       operands->right.text);
	if (is_signed && min <= -1 && max >= -1) {
		if (modulo) {
			except(gen, operands, -1, "0");
		} else {
			negated = gt_ptxgen_temporary(gen, operands->wide ? GT_PTXGEN_B64
									  : GT_PTXGEN_B32);
			gt_ptxgen_emit(gen, "neg.s%d %s, %s", operands->wide ? 64 : 32,
				       negated.text, operands->left.text);
			except(gen, operands, -1, negated.text);
		}
	}
	if (min <= 0 && max >= 0)
		except(gen, operands, 0, modulo ? operands->left.text : "0");
}

/* x >> 32 and more, of 64 bits, is made of the upper half. */
static bool takes_high(const struct bpf_insn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_RSH | BPF_K) && insn->imm >= 32;
}

static void take_high(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_name high = gt_ptxgen_high(gen, insn->dst_reg), rest = high;

	if (insn->imm > 32) {
		rest = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
		gt_ptxgen_emit(gen, "shr.u32 %s, %s, %d", rest.text, high.text, insn->imm - 32);
	}
	gt_ptxgen_give_low(gen, insn->dst_reg, &rest);
}

static void binary(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code);
	bool divides = operation == BPF_DIV || operation == BPF_MOD;
	bool is_alu64 = BPF_CLASS(insn->code) == BPF_ALU64;
	bool shortened = is_alu64 && gt_ptxgen_is_short_alu(gen, insn),
	     wide = is_alu64 && !shortened;
	struct operands operands = {.wide = wide, .left = operand(gen, insn->dst_reg, wide)};

	if (BPF_SRC(insn->code) == BPF_K)
		operands.right = number_name(insn->imm);
	else if (is_shift(operation))
		operands.right = shift_amount(gen, insn, is_alu64);
	else
		operands.right = operand(gen, insn->src_reg, wide);
	operands.target = gt_ptxgen_temporary(gen, wide ? GT_PTXGEN_B64 : GT_PTXGEN_B32);
	if (divides)
		divide(gen, insn, &operands, shortened);
	else
		gt_ptxgen_emit(gen, "%s %s, %s, %s",
			       wide ? operations[operation >> 4].wide
				    : operations[operation >> 4].narrow,
			       operands.target.text, operands.left.text, operands.right.text);
	if (wide)
		gt_ptxgen_give_wide(gen, insn->dst_reg, operands.target.text);
	else
		gt_ptxgen_give_low(gen, insn->dst_reg, &operands.target);
}

static void move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct gt_ptxgen_name value, half;

	if (BPF_SRC(insn->code) == BPF_K) {
		value = number_name(wide ? (int64_t)insn->imm : (int64_t)(uint32_t)insn->imm);
		gt_ptxgen_give_wide(gen, insn->dst_reg, value.text);
	} else if (!insn->off && wide) {
		value = gt_ptxgen_register(gen, insn->src_reg);
		gt_ptxgen_give_wide(gen, insn->dst_reg, value.text);
	} else if (!insn->off) {
		half = gt_ptxgen_low_of(gen, insn->src_reg);
		gt_ptxgen_give_low(gen, insn->dst_reg, &half);
	} else if (wide) {
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "cvt.s64.s%d %s, %s", insn->off, value.text,
			       gt_ptxgen_register(gen, insn->src_reg).text);
		gt_ptxgen_give_wide(gen, insn->dst_reg, value.text);
	} else {
		half = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
		gt_ptxgen_emit(gen, "cvt.s32.s%d %s, %s", insn->off, half.text,
			       gt_ptxgen_register(gen, insn->src_reg).text);
		gt_ptxgen_give_low(gen, insn->dst_reg, &half);
	}
}

static void swap_half(struct gt_ptxgen *gen, const struct gt_ptxgen_name *half)
{
	gt_ptxgen_emit(gen, "prmt.b32 %s, %s, 0, 0x0123", half->text, half->text);
}

static void swap_whole(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_name low = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_name high = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_name whole = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", low.text, high.text,
		       gt_ptxgen_register(gen, number).text);
	swap_half(gen, &low);
	swap_half(gen, &high);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", whole.text, high.text, low.text);
	gt_ptxgen_give_wide(gen, number, whole.text);
}

static void swap(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool swaps = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;
	struct gt_ptxgen_name low;

	if (insn->imm == 64) {
		if (swaps)
			swap_whole(gen, insn->dst_reg);
		return;
	}
	low = gt_ptxgen_low(gen, gt_ptxgen_register(gen, insn->dst_reg).text);
	if (!swaps && insn->imm == 16)
		gt_ptxgen_emit(gen, "and.b32 %s, %s, 0xffff", low.text, low.text);
	else if (swaps && insn->imm == 16)
		gt_ptxgen_emit(gen, "prmt.b32 %s, %s, 0, 0x4401", low.text, low.text);
	else if (swaps)
		swap_half(gen, &low);
	gt_ptxgen_give_low(gen, insn->dst_reg, &low);
}

static void negate(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct gt_ptxgen_name value = operand(gen, insn->dst_reg, wide), result;

	result = gt_ptxgen_temporary(gen, wide ? GT_PTXGEN_B64 : GT_PTXGEN_B32);
	gt_ptxgen_emit(gen, "neg.s%d %s, %s", wide ? 64 : 32, result.text, value.text);
	if (wide)
		gt_ptxgen_give_wide(gen, insn->dst_reg, result.text);
	else
		gt_ptxgen_give_low(gen, insn->dst_reg, &result);
}

/* Back to what it was before it was shifted to the right. */
static bool shift_back(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_ptxgen_scaled *scaled = &gen->scaled[insn->dst_reg];

	if (insn->code != (BPF_ALU64 | BPF_LSH | BPF_K) || insn->imm != scaled->shift ||
	    !scaled->shift)
		return false;
	gt_ptxgen_give_wide(gen, insn->dst_reg, scaled->value.text);
	return true;
}

static void operate(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		move(gen, insn);
		return;
	case BPF_END:
		swap(gen, insn);
		return;
	case BPF_NEG:
		negate(gen, insn);
		return;
	default:
		if (takes_high(insn))
			take_high(gen, insn);
		else if (!shift_back(gen, insn))
			binary(gen, insn);
	}
}

void gt_ptxgen_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled scaled = gt_ptxgen_scale_alu(gen, insn);

	operate(gen, insn);
	gen->scaled[insn->dst_reg] = scaled;
}
