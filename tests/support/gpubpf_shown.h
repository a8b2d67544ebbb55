/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether results of a program depend on addresses, which differ between engines. */
#pragma once

#include "gpubpf/facts.h"

static inline bool is_pointer(uint8_t place)
{
	return place != GT_REG_SCALAR && place != GT_REG_UNSET;
}

/*
 * Whether an instruction computes scalars from addresses, which differ between the interpreter and
 * a device: such results are not compared.
 */
static inline bool shows_address(const struct gt_bpf_program *program, const struct gt_facts *all,
				 uint32_t at)
{
	struct bpf_insn plain = gt_bpf_without_order(&program->insns[at]), *insn = &plain;
	const struct gt_register_fact *facts = all->insns[at].registers;
	bool uses_source = BPF_SRC(insn->code) == BPF_X;
	bool left = is_pointer(facts[insn->dst_reg].type);
	bool right = uses_source && is_pointer(facts[insn->src_reg].type);
	unsigned operation = BPF_OP(insn->code);

	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (facts[i].address)
			return true;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
		return (left && operation != BPF_MOV) || right;
	case BPF_ALU64:
		if (operation == BPF_MOV)
			return right && insn->off;
		return (left || right) &&
		       ((operation != BPF_ADD && operation != BPF_SUB) || (left && right));
	case BPF_JMP32:
		return operation != BPF_JA && (left || right);
	case BPF_JMP:
		if (operation == BPF_EXIT)
			return is_pointer(facts[0].type);
		/* NULL or not: only a frame, a context or a moved pointer may be at 0. */
		if ((operation == BPF_JEQ || operation == BPF_JNE) && !uses_source && !insn->imm &&
		    left && facts[insn->dst_reg].type != GT_REG_MIXED)
			return !facts[insn->dst_reg].maybe_null && all->insns[at].branch == 3;
		return operation != BPF_JA && operation != BPF_CALL && (left || right);
	case BPF_STX:
		return is_pointer(facts[insn->src_reg].type) &&
		       facts[insn->dst_reg].type != GT_REG_STACK;
	default:
		return false;
	}
}

static inline bool shows_addresses(const struct gt_bpf_program *program,
				   const struct gt_facts *facts)
{
	for (uint32_t at = 0; at < program->count; at++)
		if (facts->insns[at].reached && shows_address(program, facts, at))
			return true;
	return false;
}
