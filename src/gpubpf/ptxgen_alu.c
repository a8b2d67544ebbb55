/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic, as RFC 9669 defines it. */
#include <inttypes.h>

#include "gpubpf/ptxgen_private.h"

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
	struct gt_ptx_name left, right; /* registers, or a number on the right */
	struct gt_ptx_name target;
};

static struct gt_ptx_name number_name(int64_t number)
{
	struct gt_ptx_name name;

	snprintf(name.text, sizeof(name.text), "%" PRId64, number);
	return name;
}

static struct gt_ptx_name operand(struct gt_ptxgen *gen, unsigned number, bool wide)
{
	struct gt_ptx_name name = gt_ptx_register(gen, number);

	return wide ? name : gt_ptx_low(gen, name.text);
}

static bool is_shift(unsigned operation)
{
	return operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH;
}

/* The number of places to shift by: PTX does not cut it to the width. */
static struct gt_ptx_name shift_amount(struct gt_ptxgen *gen, const struct bpf_insn *insn,
				       bool wide)
{
	unsigned limit = wide ? 63 : 31;
	struct gt_ptx_name source = operand(gen, insn->src_reg, false), amount;

	if (gt_ptx_limit(gen, insn->src_reg) <= limit)
		return source;
	amount = gt_ptx_temporary(gen, GT_PTX_B32);
	gt_ptx(gen, "and.b32 %s, %s, %u", amount.text, source.text, limit);
	return amount;
}

/* What a divisor cannot be, so that nothing need be done about it. */
static void divisor_range(struct gt_ptxgen *gen, const struct bpf_insn *insn, bool wide,
			  int64_t *ret_least, int64_t *ret_greatest)
{
	const struct gt_register_fact *fact = gt_ptx_fact(gen, insn->src_reg);
	bool known = fact->place == GT_PLACE_NUMBER;

	if (BPF_SRC(insn->code) == BPF_K) {
		*ret_least = *ret_greatest = insn->imm;
		return;
	}
	*ret_least = known ? fact->least : INT64_MIN;
	*ret_greatest = known ? fact->greatest : INT64_MAX;
	if (!wide && (*ret_least < INT32_MIN || *ret_greatest > INT32_MAX)) {
		*ret_least = INT32_MIN;
		*ret_greatest = INT32_MAX;
	}
}

/* left ? right for one divisor for which the machine's own result does not count. */
static void except(struct gt_ptxgen *gen, const struct operands *operands, int divisor,
		   const char *result)
{
	struct gt_ptx_name is = gt_ptx_temporary(gen, GT_PTX_PREDICATE);
	const char *type = operands->wide ? "b64" : "b32";

	gt_ptx(gen, "setp.eq.%s %s, %s, %d", operands->wide ? "s64" : "s32", is.text,
	       operands->right.text, divisor);
	gt_ptx(gen, "selp.%s %s, %s, %s, %s", type, operands->target.text, result,
	       operands->target.text, is.text);
}

/* A division of 64 bits whose operands are numbers of 32 bits without a sign is one of 32 bits. */
static bool divides_short(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return gt_ptx_limit(gen, insn->dst_reg) <= UINT32_MAX &&
	       (BPF_SRC(insn->code) == BPF_K ? insn->imm > 0
					     : gt_ptx_limit(gen, insn->src_reg) <= UINT32_MAX);
}

static void divide(struct gt_ptxgen *gen, const struct bpf_insn *insn,
		   const struct operands *operands, bool is_short)
{
	bool modulo = BPF_OP(insn->code) == BPF_MOD, is_signed = insn->off == 1 && !is_short;
	int64_t least, greatest;
	struct gt_ptx_name negated;

	divisor_range(gen, insn, operands->wide || is_short, &least, &greatest);
	if (least == -1 && greatest == -1 && is_signed) {
		if (modulo)
			gt_ptx(gen, "mov.b%d %s, 0", operands->wide ? 64 : 32,
			       operands->target.text);
		else
			gt_ptx(gen, "neg.s%d %s, %s", operands->wide ? 64 : 32,
			       operands->target.text, operands->left.text);
		return;
	}
	gt_ptx(gen, "%s.%c%d %s, %s, %s", modulo ? "rem" : "div", is_signed ? 's' : 'u',
	       operands->wide ? 64 : 32, operands->target.text, operands->left.text,
	       operands->right.text);
	if (is_signed && least <= -1 && greatest >= -1) {
		if (modulo) {
			except(gen, operands, -1, "0");
		} else {
			negated = gt_ptx_temporary(gen, operands->wide ? GT_PTX_B64 : GT_PTX_B32);
			gt_ptx(gen, "neg.s%d %s, %s", operands->wide ? 64 : 32, negated.text,
			       operands->left.text);
			except(gen, operands, -1, negated.text);
		}
	}
	if (least <= 0 && greatest >= 0)
		except(gen, operands, 0, modulo ? operands->left.text : "0");
}

static void binary(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code);
	bool divides = operation == BPF_DIV || operation == BPF_MOD;
	bool shortened = divides && BPF_CLASS(insn->code) == BPF_ALU64 && divides_short(gen, insn);
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64 && !shortened;
	struct gt_ptx_name result = gt_ptx_register(gen, insn->dst_reg);
	struct operands operands = {.wide = wide, .left = operand(gen, insn->dst_reg, wide)};

	if (BPF_SRC(insn->code) == BPF_K)
		operands.right = number_name(insn->imm);
	else if (is_shift(operation))
		operands.right = shift_amount(gen, insn, wide);
	else
		operands.right = operand(gen, insn->src_reg, wide);
	operands.target =
		wide && !divides ? result : gt_ptx_temporary(gen, wide ? GT_PTX_B64 : GT_PTX_B32);
	if (divides)
		divide(gen, insn, &operands, shortened);
	else
		gt_ptx(gen, "%s %s, %s, %s",
		       wide ? operations[operation >> 4].wide : operations[operation >> 4].narrow,
		       operands.target.text, operands.left.text, operands.right.text);
	if (!wide)
		gt_ptx(gen, "cvt.u64.u32 %s, %s", result.text, operands.target.text);
	else if (divides)
		gt_ptx(gen, "mov.b64 %s, %s", result.text, operands.target.text);
}

static void move(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct gt_ptx_name target = gt_ptx_register(gen, insn->dst_reg), source, half;

	if (BPF_SRC(insn->code) == BPF_K) {
		gt_ptx(gen, "mov.b64 %s, %" PRId64, target.text,
		       wide ? (int64_t)insn->imm : (int64_t)(uint32_t)insn->imm);
		return;
	}
	source = gt_ptx_register(gen, insn->src_reg);
	if (wide && !insn->off) {
		gt_ptx(gen, "mov.b64 %s, %s", target.text, source.text);
	} else if (wide) {
		gt_ptx(gen, "cvt.s64.s%d %s, %s", insn->off, target.text, source.text);
	} else if (!insn->off) {
		half = gt_ptx_low(gen, source.text);
		gt_ptx(gen, "cvt.u64.u32 %s, %s", target.text, half.text);
	} else {
		half = gt_ptx_temporary(gen, GT_PTX_B32);
		gt_ptx(gen, "cvt.s32.s%d %s, %s", insn->off, half.text, source.text);
		gt_ptx(gen, "cvt.u64.u32 %s, %s", target.text, half.text);
	}
}

static void swap_half(struct gt_ptxgen *gen, const struct gt_ptx_name *half)
{
	gt_ptx(gen, "prmt.b32 %s, %s, 0, 0x0123", half->text, half->text);
}

static void swap(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool swaps = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;
	struct gt_ptx_name target = gt_ptx_register(gen, insn->dst_reg), low, high;

	if (!swaps) {
		if (insn->imm != 64)
			gt_ptx(gen, "and.b64 %s, %s, %s", target.text, target.text,
			       insn->imm == 16 ? "0xffff" : "0xffffffff");
		return;
	}
	if (insn->imm == 64) {
		low = gt_ptx_temporary(gen, GT_PTX_B32);
		high = gt_ptx_temporary(gen, GT_PTX_B32);
		gt_ptx(gen, "mov.b64 {%s, %s}, %s", low.text, high.text, target.text);
		swap_half(gen, &low);
		swap_half(gen, &high);
		gt_ptx(gen, "mov.b64 %s, {%s, %s}", target.text, high.text, low.text);
		return;
	}
	low = gt_ptx_low(gen, target.text);
	if (insn->imm == 16)
		gt_ptx(gen, "prmt.b32 %s, %s, 0, 0x4401", low.text, low.text);
	else
		swap_half(gen, &low);
	gt_ptx(gen, "cvt.u64.u32 %s, %s", target.text, low.text);
}

void gt_ptx_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptx_name target, half;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		move(gen, insn);
		return;
	case BPF_END:
		swap(gen, insn);
		return;
	case BPF_NEG:
		target = gt_ptx_register(gen, insn->dst_reg);
		if (BPF_CLASS(insn->code) == BPF_ALU64) {
			gt_ptx(gen, "neg.s64 %s, %s", target.text, target.text);
			return;
		}
		half = gt_ptx_low(gen, target.text);
		gt_ptx(gen, "neg.s32 %s, %s", half.text, half.text);
		gt_ptx(gen, "cvt.u64.u32 %s, %s", target.text, half.text);
		return;
	default:
		binary(gen, insn);
	}
}
