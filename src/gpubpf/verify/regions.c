/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where lanes that part at a branch meet again: postdominators, and what lies before them. */
#include "gpubpf/verify/divergence.h"

static uint32_t end_of(const struct gt_lanes *lanes, uint32_t at)
{
	return lanes->count + lanes->verifier->flow[at].subprogram;
}

/* Whether an instruction ends the thread. */
static bool ends_thread(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       (gt_helper((uint32_t)insn->imm)->traits & GT_TRAIT_ENDS);
}

static struct gt_lane_function *called(const struct gt_lanes *lanes, uint32_t call)
{
	int64_t target = gt_bpf_jump_target(lanes->verifier->insns, call);

	return &lanes->functions[lanes->verifier->flow[target].subprogram];
}

/* Which functions may end the thread: those that have such a helper, and who calls them. */
static void find_ends(struct gt_lanes *lanes)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t at = 0; at < lanes->count; at++) {
			const struct bpf_insn *insn = &lanes->verifier->insns[at];
			struct gt_lane_function *own =
				&lanes->functions[lanes->verifier->flow[at].subprogram];

			if (!lanes->facts->insns[at].reached || own->ends)
				continue;
			own->ends = ends_thread(insn) ||
				    (gt_bpf_is_subprogram_call(insn) && called(lanes, at)->ends);
			changed |= own->ends;
		}
	}
}

bool gt_lanes_call_parts(const struct gt_lanes *lanes, uint32_t call)
{
	const struct gt_lane_function *function = called(lanes, call);
	const struct gt_subprogram_facts *facts =
		&lanes->facts->subprograms[function - lanes->functions];

	for (uint32_t at = facts->start; function->ends && at < facts->end; at++) {
		const struct bpf_insn *insn = &lanes->verifier->insns[at];

		if (!lanes->facts->insns[at].reached)
			continue;
		if (ends_thread(insn) && lanes->facts->insns[at].divergent)
			return true;
		if (gt_bpf_is_subprogram_call(insn) && lanes->state[at].parted)
			return true;
	}
	return false;
}

unsigned gt_lanes_successors(const struct gt_lanes *lanes, uint32_t at, uint32_t ret_next[2])
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code), count = 0;
	uint8_t branch = lanes->facts->insns[at].branch;

	if (class != BPF_JMP && class != BPF_JMP32) {
		ret_next[0] = at + 1 + gt_bpf_is_wide(insn);
		return 1;
	}
	switch (operation) {
	case BPF_EXIT:
		ret_next[0] = end_of(lanes, at);
		return 1;
	case BPF_CALL:
		if (!ends_thread(insn))
			ret_next[count++] = at + 1;
		/* Lanes that end meet nobody. */
		if (ends_thread(insn) ||
		    (gt_bpf_is_subprogram_call(insn) && called(lanes, at)->ends))
			ret_next[count++] = end_of(lanes, at);
		return count;
	case BPF_JA:
		ret_next[0] = (uint32_t)gt_bpf_jump_target(lanes->verifier->insns, at);
		return 1;
	default:
		break;
	}
	if (branch & 1)
		ret_next[count++] = at + 1;
	if (branch & 2)
		ret_next[count++] = (uint32_t)gt_bpf_jump_target(lanes->verifier->insns, at);
	return count;
}

static int find_before(struct gt_lanes *lanes)
{
	uint32_t next[2], *fill = lanes->stack;

	lanes->first_before = calloc(lanes->nodes + 1u, sizeof(uint32_t));
	lanes->before = calloc(2u * lanes->count + 1u, sizeof(uint32_t));
	if (!lanes->first_before || !lanes->before)
		return gt_verifier_no_memory(lanes->verifier);
	for (uint32_t at = 0; at < lanes->count; at++)
		for (unsigned i = lanes->facts->insns[at].reached
					  ? gt_lanes_successors(lanes, at, next)
					  : 0;
		     i-- > 0;)
			lanes->first_before[next[i] + 1]++;
	for (uint32_t node = 0; node < lanes->nodes; node++) {
		lanes->first_before[node + 1] += lanes->first_before[node];
		fill[node] = lanes->first_before[node];
	}
	for (uint32_t at = 0; at < lanes->count; at++)
		for (unsigned i = lanes->facts->insns[at].reached
					  ? gt_lanes_successors(lanes, at, next)
					  : 0;
		     i-- > 0;)
			lanes->before[fill[next[i]]++] = at;
	return 0;
}

/* The nodes from the ends of functions backwards, in postorder: order[node] counts from 1. */
static uint32_t order_backwards(struct gt_lanes *lanes, uint32_t *order, uint32_t *by_order)
{
	gt_autofree uint32_t *next = calloc(lanes->nodes, sizeof(*next));
	uint32_t height = 0, done = 0;

	if (!next)
		return 0;
	lanes->walk++;
	for (uint32_t end = lanes->count; end < lanes->nodes; end++) {
		lanes->stack[height++] = end;
		lanes->mark[end] = lanes->walk;
		while (height) {
			uint32_t node = lanes->stack[height - 1];
			uint32_t edge = lanes->first_before[node] + next[node]++;

			if (edge == lanes->first_before[node + 1]) {
				by_order[done++] = node;
				order[node] = done;
				height--;
			} else if (lanes->mark[lanes->before[edge]] != lanes->walk) {
				lanes->mark[lanes->before[edge]] = lanes->walk;
				lanes->stack[height++] = lanes->before[edge];
			}
		}
	}
	return done;
}

static uint32_t intersect(const struct gt_lanes *lanes, const uint32_t *order, uint32_t one,
			  uint32_t other)
{
	while (one != other) {
		while (order[one] < order[other])
			one = lanes->meets[one];
		while (order[other] < order[one])
			other = lanes->meets[other];
	}
	return one;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the ways turned round. */
int gt_lanes_find_meets(struct gt_lanes *lanes)
{
	gt_autofree uint32_t *order = calloc(lanes->nodes, sizeof(*order));
	gt_autofree uint32_t *by_order = calloc(lanes->nodes, sizeof(*by_order));
	uint32_t count, next[2];
	bool changed = true;

	find_ends(lanes);
	lanes->meets = calloc(lanes->nodes, sizeof(uint32_t));
	if (!order || !by_order || !lanes->meets || find_before(lanes))
		return gt_verifier_no_memory(lanes->verifier);
	for (uint32_t node = 0; node < lanes->nodes; node++)
		lanes->meets[node] = node < lanes->count ? UINT32_MAX : node;
	count = order_backwards(lanes, order, by_order);
	if (!count)
		return gt_verifier_no_memory(lanes->verifier);
	while (changed) {
		changed = false;
		for (uint32_t i = count; i-- > 0;) {
			uint32_t node = by_order[i], meet = UINT32_MAX;
			unsigned ways =
				node < lanes->count ? gt_lanes_successors(lanes, node, next) : 0;

			for (unsigned way = 0; way < ways; way++) {
				if (lanes->meets[next[way]] == UINT32_MAX)
					continue;
				meet = meet == UINT32_MAX
					       ? next[way]
					       : intersect(lanes, order, meet, next[way]);
			}
			lanes->work += ways + 1;
			if (ways && meet != lanes->meets[node]) {
				lanes->meets[node] = meet;
				changed = true;
			}
		}
	}
	return 0;
}

/* Registers that an instruction writes. */
static uint16_t registers_written(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LD:
	case BPF_LDX:
		return (uint16_t)(1u << insn->dst_reg);
	case BPF_STX:
		if (BPF_MODE(insn->code) != BPF_ATOMIC || !(insn->imm & BPF_FETCH))
			return 0;
		return (uint16_t)(1u << (insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg));
	case BPF_JMP:
		return BPF_OP(insn->code) == BPF_CALL ? 0x3f : 0;
	default:
		return 0;
	}
}

static void diverge(struct gt_lanes *lanes, uint32_t at, int32_t cause)
{
	if (lanes->facts->insns[at].divergent)
		return;
	lanes->facts->insns[at].divergent = true;
	lanes->state[at].cause = cause;
	lanes->changed = true;
	if (gt_bpf_is_subprogram_call(&lanes->verifier->insns[at])) {
		int64_t target = gt_bpf_jump_target(lanes->verifier->insns, at);

		gt_lanes_diverge(lanes, lanes->verifier->flow[target].subprogram, cause);
	}
}

void gt_lanes_diverge(struct gt_lanes *lanes, uint32_t function, int32_t cause)
{
	const struct gt_subprogram_facts *facts = &lanes->facts->subprograms[function];

	for (uint32_t at = facts->start; at < facts->end; at++)
		if (lanes->facts->insns[at].reached)
			diverge(lanes, at, cause);
}

/* What differs where lanes meet that came different ways. */
static void meet(struct gt_lanes *lanes, uint32_t node, uint16_t registers,
		 const struct gt_units *units)
{
	struct gt_lane_state *state = &lanes->state[node];

	if (node >= lanes->count) {
		struct gt_lane_function *function = &lanes->functions[node - lanes->count];

		lanes->changed |= (registers & 1) && !function->joined;
		function->joined |= registers & 1;
		return;
	}
	lanes->changed |= (registers & ~state->joined) != 0;
	state->joined |= registers;
	lanes->changed |= gt_units_add(&state->joined_units, units);
}

void gt_lanes_part(struct gt_lanes *lanes, uint32_t branch)
{
	uint32_t last = lanes->meets[branch], height = 0, found = 0, next[2];
	struct gt_units units = {0};
	uint16_t registers = 0;

	lanes->walk++;
	for (unsigned i = gt_lanes_successors(lanes, branch, next); i-- > 0;)
		lanes->stack[height++] = next[i];
	while (height) {
		uint32_t at = lanes->stack[--height];
		struct gt_units written;
		bool all;

		if (at == last || at >= lanes->count || lanes->mark[at] == lanes->walk)
			continue;
		lanes->mark[at] = lanes->walk;
		lanes->work++;
		diverge(lanes, at, (int32_t)branch);
		registers |= registers_written(&lanes->verifier->insns[at]);
		written = gt_lanes_written(lanes, at, &all);
		gt_units_add(&units, &written);
		lanes->found[found++] = at;
		for (unsigned i = gt_lanes_successors(lanes, at, next); i-- > 0;)
			lanes->stack[height++] = next[i];
	}
	for (uint32_t i = 0; i < found; i++) {
		uint32_t at = lanes->found[i];

		if (lanes->first_before[at + 1] - lanes->first_before[at] > 1)
			meet(lanes, at, registers, &units);
	}
	if (last != UINT32_MAX)
		meet(lanes, last, registers, &units);
}
