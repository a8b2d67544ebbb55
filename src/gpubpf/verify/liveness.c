/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Liveness of registers, a backward dataflow problem (Aho, Lam, Sethi, Ullman, "Compilers:
 * Principles, Techniques, and Tools", 9.2.5): live before = uses + (live after - defs).
 */
#include "gpubpf/verify/private.h"

static uint16_t register_bit(unsigned regno)
{
	return (uint16_t)(1u << regno);
}

uint16_t gt_insn_defs(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LD:
	case BPF_LDX:
		return register_bit(insn->dst_reg);
	case BPF_STX:
		if (!gt_insn_is_atomic(insn) || !(insn->imm & BPF_FETCH))
			return 0;
		return insn->imm == BPF_CMPXCHG ? GT_RESULT_REGISTER : register_bit(insn->src_reg);
	case BPF_JMP:
		return BPF_OP(insn->code) == BPF_CALL ? GT_CALLER_SAVED_REGISTERS : 0;
	default:
		return 0;
	}
}

static uint16_t call_uses(const struct bpf_insn *insn)
{
	const struct gt_helper *helper;
	uint16_t uses = 0;

	if (gt_bpf_is_subprogram_call(insn))
		return GT_ARGUMENT_REGISTERS;
	helper = gt_helper((uint32_t)insn->imm);
	for (unsigned i = 0; helper && i < GT_HELPER_ARGUMENTS; i++)
		if (helper->arguments[i] != GT_ARG_NONE)
			uses |= register_bit(i + 1);
	return uses;
}

uint16_t gt_insn_uses(const struct bpf_insn *insn)
{
	uint16_t dst = register_bit(insn->dst_reg), src = register_bit(insn->src_reg);
	uint16_t operand = BPF_SRC(insn->code) == BPF_X ? src : 0;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		switch (BPF_OP(insn->code)) {
		case BPF_MOV:
			return operand;
		case BPF_NEG:
		case BPF_END:
			return dst;
		default:
			return dst | operand;
		}
	case BPF_LD:
		return 0;
	case BPF_LDX:
		return src;
	case BPF_ST:
		return dst;
	case BPF_STX:
		return dst | src |
		       (gt_insn_is_atomic(insn) && insn->imm == BPF_CMPXCHG ? GT_RESULT_REGISTER
									    : 0);
	default:
		break;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		return GT_RESULT_REGISTER;
	case BPF_CALL:
		return call_uses(insn);
	case BPF_JA:
	case BPF_JCOND:
		return 0;
	default:
		return dst | operand;
	}
}

uint16_t gt_live_before(const struct bpf_insn *insn, uint16_t after)
{
	return gt_insn_uses(insn) | (uint16_t)(after & ~gt_insn_defs(insn));
}
