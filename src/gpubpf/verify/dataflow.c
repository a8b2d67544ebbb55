/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dataflow over the control flow graph, by worklists: forwards, the registers that may hold
 * addresses of stacks; backwards, liveness and precision.
 */
#include "gpubpf/verify/private.h"

/* Instructions to visit; each is in the list at most once. */
struct worklist {
	uint32_t *items, count;
	bool *queued;
};

static void worklist_add(struct worklist *list, uint32_t at)
{
	if (!list->queued[at])
		list->items[list->count++] = at;
	list->queued[at] = true;
}

static uint32_t worklist_take(struct worklist *list)
{
	uint32_t at = list->items[--list->count];

	list->queued[at] = false;
	return at;
}

/* Transfer function; spilled: a pointer to a stack may have been stored somewhere. */
static uint16_t stack_pointers_after(const struct bpf_insn *insn, uint16_t in, bool spilled)
{
	uint16_t target = (uint16_t)(1u << insn->dst_reg);
	unsigned operation = BPF_OP(insn->code);

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU64:
		if (operation == BPF_MOV)
			in &= ~target;
		else if (operation != BPF_ADD && operation != BPF_SUB)
			return in;
		return BPF_SRC(insn->code) == BPF_X && gt_registers_contain(in, insn->src_reg)
			       ? in | target
			       : in;
	case BPF_LD:
		return in & ~target;
	case BPF_LDX:
		return spilled && gt_bpf_access_size(insn) == 8 ? in | target : in & ~target;
	case BPF_JMP:
		return operation == BPF_CALL ? in & ~GT_CALLER_SAVED_REGISTERS : in;
	default:
		return in;
	}
}

static void add_stack_pointers(struct gt_verifier *verifier, struct worklist *list, uint32_t at,
			       uint16_t registers)
{
	if (!(registers & ~verifier->aux[at].stack_pointers))
		return;
	verifier->aux[at].stack_pointers |= registers;
	worklist_add(list, at);
}

static void find_stack_pointers(struct gt_verifier *verifier, struct worklist *list)
{
	bool spilled = false;
	uint32_t next[3];

	for (uint32_t i = 0; i < verifier->facts.subprogram_count; i++)
		add_stack_pointers(verifier, list, verifier->facts.subprograms[i].start, 1u << 10);
	while (list->count) {
		uint32_t at = worklist_take(list);
		const struct bpf_insn *insn = &verifier->insns[at];
		uint16_t in = verifier->aux[at].stack_pointers, out;

		if (!spilled && BPF_CLASS(insn->code) == BPF_STX &&
		    gt_registers_contain(in, insn->src_reg)) {
			spilled = true;
			for (uint32_t i = 0; i < verifier->count; i++)
				if (verifier->aux[i].reachable)
					worklist_add(list, i);
		}
		out = stack_pointers_after(insn, in, spilled);
		for (unsigned i = gt_cfg_successors(verifier, at, next); i-- > 0;)
			add_stack_pointers(verifier, list, next[i], out);
		if (gt_bpf_is_subprogram_call(insn))
			add_stack_pointers(verifier, list,
					   (uint32_t)gt_bpf_jump_target(verifier->insns, at),
					   in & GT_ARGUMENT_REGISTERS);
		/* The second argument of bpf_loop's function. */
		if (gt_bpf_is_function(insn))
			add_stack_pointers(verifier, list,
					   (uint32_t)gt_bpf_jump_target(verifier->insns, at),
					   1u << 2);
	}
}

/* Solve the equations of one instruction. Whether its solution changed. */
static bool update_insn(struct gt_verifier *verifier, uint32_t at)
{
	struct gt_insn_aux *aux = &verifier->aux[at], old = *aux;
	const struct bpf_insn *insn = &verifier->insns[at];
	struct gt_precision precision = {0};
	uint16_t live = 0;
	uint32_t next[3];

	for (unsigned i = gt_cfg_successors(verifier, at, next); i-- > 0;) {
		live |= verifier->aux[next[i]].live;
		precision.registers |= verifier->aux[next[i]].precise;
		precision.slots |= verifier->aux[next[i]].precise_slots;
	}
	precision = gt_precise_before(aux, insn, precision,
				      !verifier->lazy_precision || aux->precise_jump);
	aux->live = gt_live_before(insn, live);
	aux->precise = precision.registers;
	aux->precise_slots = precision.slots;
	return aux->live != old.live || aux->precise != old.precise ||
	       aux->precise_slots != old.precise_slots;
}

/*
 * Predecessors in linked lists: first[n] is the last edge that leads to n, links[edge - 1] the one
 * before it, 0 ends the list. Edge e starts at instruction (e - 1) / 2.
 */
static void solve_backwards(struct gt_verifier *verifier, struct worklist *list, uint32_t *first,
			    uint32_t *links)
{
	uint32_t next[3];

	for (uint32_t at = 0; at < verifier->count; at++) {
		if (!verifier->aux[at].reachable)
			continue;
		worklist_add(list, at);
		for (unsigned i = gt_cfg_successors(verifier, at, next); i-- > 0;) {
			links[2 * at + i] = first[next[i]];
			first[next[i]] = 2 * at + i + 1;
		}
	}
	while (list->count) {
		uint32_t at = worklist_take(list);

		if (!update_insn(verifier, at))
			continue;
		for (uint32_t edge = first[at]; edge; edge = links[edge - 1])
			worklist_add(list, (edge - 1) / 2);
	}
}

int gt_verify_dataflow(struct gt_verifier *verifier)
{
	gt_autofree uint32_t *items = calloc(verifier->count, sizeof(*items));
	gt_autofree bool *queued = calloc(verifier->count, sizeof(*queued));
	gt_autofree uint32_t *first = calloc(verifier->count, sizeof(*first));
	gt_autofree uint32_t *links = calloc(2u * verifier->count, sizeof(*links));
	struct worklist list = {.items = items, .queued = queued};

	if (!items || !queued || !first || !links)
		return gt_verifier_no_memory(verifier);
	for (uint32_t at = 0; at < verifier->count; at++) {
		verifier->aux[at].live = verifier->aux[at].precise = 0;
		verifier->aux[at].precise_slots = 0;
	}
	find_stack_pointers(verifier, &list);
	solve_backwards(verifier, &list, first, links);
	return 0;
}
