/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Facts: the join of the states on all paths through a program. */
#include "gpubpf/verify/private.h"

int gt_facts_begin(struct gt_verifier *verifier)
{
	struct gt_facts *facts = &verifier->facts;

	free(facts->insns);
	facts->insns = calloc(verifier->count, sizeof(*facts->insns));
	if (!facts->insns)
		return gt_verifier_no_memory(verifier);
	facts->insn_count = verifier->count;
	facts->visited = 0;
	for (uint32_t i = 0; i < facts->subprogram_count; i++) {
		facts->subprograms[i].stack = 0;
		facts->subprograms[i].plain = UINT64_MAX;
		facts->subprograms[i].read_early = 0;
	}
	return 0;
}

static uint8_t alignment_of(const struct gt_scalar *scalar)
{
	uint64_t bits = scalar->value | scalar->mask | 8;

	return (uint8_t)(bits & -bits);
}

static struct gt_register_fact register_fact(const struct gt_state *state,
					     const struct gt_value *value)
{
	struct gt_scalar scalar = gt_is_pointer(value) ? gt_value_offset(value) : value->scalar;

	return (struct gt_register_fact){
		.type = value->type,
		.maybe_null = value->maybe_null,
		.address = value->type == GT_REG_SCALAR && value->address,
		.frame = value->type == GT_REG_STACK ? (uint8_t)(state->depth - value->frame) : 0,
		.alignment = alignment_of(&scalar),
		.map = value->map,
		.min = scalar.all.smin,
		.max = scalar.all.smax,
	};
}

static void clear_plain_slots(struct gt_facts *facts)
{
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		facts->subprograms[i].plain = 0;
}

static void join_facts(struct gt_facts *facts, struct gt_register_fact *known,
		       const struct gt_register_fact *fact)
{
	bool stack = known->type == GT_REG_STACK || fact->type == GT_REG_STACK;

	known->address |= fact->address;
	if (known->type == GT_REG_UNSET)
		return;
	if (fact->type == GT_REG_UNSET) {
		known->type = GT_REG_UNSET;
		return;
	}
	if (known->type != fact->type) {
		bool null = (known->type == GT_REG_SCALAR && !known->min && !known->max) ||
			    (fact->type == GT_REG_SCALAR && !fact->min && !fact->max);

		known->maybe_null |= fact->maybe_null | null;
		known->type = GT_REG_MIXED;
	}
	if (stack && (known->type == GT_REG_MIXED || known->frame != fact->frame)) {
		known->frame = UINT8_MAX;
		clear_plain_slots(facts);
	}
	known->maybe_null |= fact->maybe_null;
	if (known->map != fact->map)
		known->map = -1;
	if (fact->alignment < known->alignment)
		known->alignment = fact->alignment;
	if (fact->min < known->min)
		known->min = fact->min;
	if (fact->max > known->max)
		known->max = fact->max;
}

void gt_facts_record(struct gt_verifier *verifier)
{
	struct gt_insn_facts *facts = &verifier->facts.insns[verifier->at];
	const struct gt_state *state = verifier->state;
	const struct gt_verify_frame *frame = &state->frames[state->depth];
	uint16_t live = verifier->aux[verifier->at].live;

	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		struct gt_register_fact fact;

		if (!(live >> i & 1))
			continue;
		fact = register_fact(state, &frame->registers[i]);
		if (!facts->reached)
			facts->registers[i] = fact;
		else
			join_facts(&verifier->facts, &facts->registers[i], &fact);
	}
	facts->reached = true;
	facts->live = live;
	if (state->depth > facts->frames)
		facts->frames = (uint8_t)state->depth;
}

/* Return the slots that hold bytes min to end - 1. */
static uint64_t slots_of_range(int64_t min, int64_t end)
{
	uint64_t bits = 0;

	for (int64_t at = min & ~(int64_t)7; at < end && at < 0; at += 8)
		if (at >= -GT_BPF_STACK_SIZE)
			bits |= UINT64_C(1) << (-at / 8 - 1);
	return bits;
}

void gt_facts_use_stack(struct gt_verifier *verifier, unsigned frame, int64_t min, int64_t max,
			uint64_t size, bool plain)
{
	struct gt_subprogram_facts *function =
		&verifier->facts.subprograms[verifier->state->frames[frame].subprogram];
	uint32_t used = (uint32_t)(-min + 7) & ~7u;

	if (used > function->stack)
		function->stack = used;
	if (!plain)
		function->plain &= ~slots_of_range(min, max + (int64_t)size);
}

void gt_facts_read_early(struct gt_verifier *verifier, unsigned frame, uint32_t slot)
{
	verifier->facts.subprograms[verifier->state->frames[frame].subprogram].read_early |=
		UINT64_C(1) << slot;
}

/* Return the register with the address of a load or store, or -1. */
static int address_register(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return insn->src_reg;
	case BPF_ST:
	case BPF_STX:
		return insn->dst_reg;
	default:
		return -1;
	}
}

void gt_facts_end(struct gt_verifier *verifier)
{
	struct gt_facts *facts = &verifier->facts;

	for (uint32_t at = 0; at < facts->insn_count; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		struct gt_insn_facts *here = &facts->insns[at];
		struct gt_subprogram_facts *function =
			&facts->subprograms[verifier->aux[at].subprogram];
		int base = here->reached ? address_register(insn) : -1;

		for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
			struct gt_register_fact *fact = &here->registers[i];

			/* On paths that were pruned, an imprecise scalar has any value, … */
			if (verifier->aux[at].precise >> i & 1)
				continue;
			fact->min = INT64_MIN;
			fact->max = INT64_MAX;
			/* … and so has the offset of a pointer that it was added to. */
			fact->alignment = 1;
		}
		/* The offset is constant on each path, but differs between paths. */
		if (base >= 0 && here->registers[base].type == GT_REG_STACK &&
		    here->registers[base].min != here->registers[base].max)
			function->plain &=
				~slots_of_range(here->registers[base].min + insn->off,
						here->registers[base].max + insn->off + 8);
	}
}
