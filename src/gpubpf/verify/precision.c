/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Precision tracking: a scalar is precise if its value can decide a branch, an address or an
 * argument of a call. States are compared by precise scalars alone. Linux marks registers backwards
 * along the explored path (kernel/bpf/verifier.c: mark_chain_precision(), backtrack_insn()); here
 * the same rules are the transfer functions of a backward dataflow problem over all paths.
 */
#include "gpubpf/verify/private.h"

/* Arguments of helpers whose scalars need not be precise. */
static const bool imprecise_argument[] = {
	[GT_ARG_NONE] = true,       [GT_ARG_ANYTHING] = true, [GT_ARG_SCALAR] = true,
	[GT_ARG_KEY_SCALAR] = true, [GT_ARG_OPTIONAL] = true,
};

static uint16_t precise_arguments(const struct bpf_insn *insn)
{
	const struct gt_helper *helper;
	uint16_t precise = 0;

	if (gt_bpf_is_subprogram_call(insn))
		return GT_ARGUMENT_REGISTERS;
	helper = gt_helper((uint32_t)insn->imm);
	for (unsigned i = 0; helper && i < GT_HELPER_ARGUMENTS; i++) {
		unsigned kind = helper->arguments[i];

		if (kind >= gt_countof(imprecise_argument) || !imprecise_argument[kind])
			precise |= (uint16_t)(1u << (i + 1));
	}
	return precise;
}

/* Return the slots that an access through r10 touches. */
static uint64_t slots_at(int64_t offset, unsigned size)
{
	uint64_t slots = 0;

	for (int64_t at = offset & ~(int64_t)7; at < offset + size && at < 0; at += 8)
		if (at >= -GT_BPF_STACK_SIZE)
			slots |= UINT64_C(1) << (-at / 8 - 1);
	return slots;
}

/*
 * Whether a store may write a precise slot. Pointers to stacks in a function may be its callers',
 * who read the slot after the function's end.
 */
static bool stores_precise(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
			   uint64_t slots)
{
	if (!gt_registers_contain(aux->stack_pointers, insn->dst_reg))
		return false;
	if (insn->dst_reg == 10)
		return slots & slots_at(insn->off, gt_bpf_access_size(insn));
	return slots || aux->subprogram;
}

/* Addresses are precise; the stored value where its slot is. An atomic's result stays precise. */
static uint16_t precise_store_operands(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				       uint64_t slots)
{
	bool value = BPF_CLASS(insn->code) == BPF_STX && !gt_insn_is_atomic(insn) &&
		     stores_precise(aux, insn, slots);

	return (uint16_t)(1u << insn->dst_reg | (value ? 1u << insn->src_reg : 0));
}

static uint16_t precise_registers(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				  struct gt_precision after, bool precise_jump)
{
	uint16_t registers = after.registers, uses = gt_insn_uses(insn);
	uint16_t others = registers & (uint16_t)~gt_insn_defs(insn);

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
	case BPF_ALU:
	case BPF_ALU64: /* a precise result has precise operands */
		return gt_registers_contain(registers, insn->dst_reg) ? others | uses : registers;
	case BPF_LDX: /* an address is precise */
		return others | uses;
	case BPF_ST:
	case BPF_STX:
		return registers | precise_store_operands(aux, insn, after.slots);
	default:
		break;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_EXIT: /* callers may need the result precisely */
		return aux->subprogram ? GT_RESULT_REGISTER : 0;
	case BPF_CALL:
		return others | precise_arguments(insn);
	default: /* bounds learned of one operand depend on the other */
		return precise_jump || (registers & uses) ? registers | uses : registers;
	}
}

/* Return the slots that a read of the stack makes precise; its result is precise. */
static uint64_t slots_read(unsigned base, const struct bpf_insn *insn)
{
	return base == 10 ? slots_at(insn->off, gt_bpf_access_size(insn)) : UINT64_MAX;
}

static uint64_t slots_before_call(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				  uint64_t slots)
{
	if (gt_bpf_is_subprogram_call(insn))
		return aux->stack_pointers & GT_ARGUMENT_REGISTERS ? UINT64_MAX : slots;
	/* The function may access the caller's stack. */
	if (gt_bpf_is_loop_call(insn))
		return gt_registers_contain(aux->stack_pointers, 3) ? UINT64_MAX : slots;
	/* The key decides whether a lookup may return NULL. */
	return insn->imm == GT_HELPER_map_lookup_elem ? UINT64_MAX : slots;
}

static uint64_t slots_before_store(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				   struct gt_precision after)
{
	bool fetches = gt_insn_is_atomic(insn) && (insn->imm & BPF_FETCH);

	if (fetches && (after.registers & gt_insn_defs(insn)) &&
	    gt_registers_contain(aux->stack_pointers, insn->dst_reg))
		return after.slots | slots_read(insn->dst_reg, insn);
	if (BPF_MODE(insn->code) == BPF_MEM && insn->dst_reg == 10 &&
	    gt_bpf_access_size(insn) == 8 && !(insn->off % 8))
		return after.slots & ~slots_at(insn->off, 8);
	return after.slots;
}

static uint64_t precise_slots(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
			      struct gt_precision after)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		if (gt_registers_contain(after.registers, insn->dst_reg) &&
		    gt_registers_contain(aux->stack_pointers, insn->src_reg))
			return after.slots | slots_read(insn->src_reg, insn);
		return after.slots;
	case BPF_ST:
	case BPF_STX:
		return slots_before_store(aux, insn, after);
	case BPF_JMP:
		if (BPF_OP(insn->code) == BPF_CALL)
			return slots_before_call(aux, insn, after.slots);
		return after.slots;
	default:
		return after.slots;
	}
}

struct gt_precision gt_precise_before(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				      struct gt_precision after, bool precise_jump)
{
	return (struct gt_precision){
		.registers = precise_registers(aux, insn, after, precise_jump),
		.slots = precise_slots(aux, insn, after),
	};
}
