/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where lanes that part at a branch meet again: postdominators, and what lies before them. */
#include "gpubpf/verify/divergence.h"

static uint32_t end_of(const struct gt_divergence *analysis, uint32_t at)
{
	return analysis->count + analysis->verifier->aux[at].subprogram;
}

/* Whether an instruction ends the thread. */
static bool ends_thread(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       (gt_helper((uint32_t)insn->imm)->traits & GT_TRAIT_ENDS);
}

static struct gt_lane_function *called(const struct gt_divergence *analysis, uint32_t call)
{
	int64_t target = gt_bpf_jump_target(analysis->verifier->insns, call);

	return &analysis->functions[analysis->verifier->aux[target].subprogram];
}

/* Which functions may end the thread: those that have such a helper, and who calls them. */
static void find_ends(struct gt_divergence *analysis)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t at = 0; at < analysis->count; at++) {
			const struct bpf_insn *insn = &analysis->verifier->insns[at];
			struct gt_lane_function *own =
				&analysis->functions[analysis->verifier->aux[at].subprogram];

			if (!analysis->facts->insns[at].reached || own->ends)
				continue;
			own->ends = ends_thread(insn) ||
				    (gt_bpf_is_subprogram_call(insn) && called(analysis, at)->ends);
			changed |= own->ends;
		}
	}
}

bool gt_divergence_of_call(const struct gt_divergence *analysis, uint32_t call)
{
	const struct gt_lane_function *function = called(analysis, call);
	const struct gt_subprogram_facts *facts =
		&analysis->facts->subprograms[function - analysis->functions];

	for (uint32_t at = facts->start; function->ends && at < facts->end; at++) {
		const struct bpf_insn *insn = &analysis->verifier->insns[at];

		if (!analysis->facts->insns[at].reached)
			continue;
		if (ends_thread(insn) && analysis->facts->insns[at].divergent)
			return true;
		if (gt_bpf_is_subprogram_call(insn) && analysis->state[at].diverged_call)
			return true;
	}
	return false;
}

unsigned gt_divergence_successors(const struct gt_divergence *analysis, uint32_t at,
				  uint32_t ret_next[2])
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code), count = 0;
	uint8_t branch = analysis->facts->insns[at].branch;

	if (class != BPF_JMP && class != BPF_JMP32) {
		ret_next[0] = at + 1 + gt_bpf_is_wide(insn);
		return 1;
	}
	switch (operation) {
	case BPF_EXIT:
		ret_next[0] = end_of(analysis, at);
		return 1;
	case BPF_CALL:
		if (!ends_thread(insn))
			ret_next[count++] = at + 1;
		/* Lanes that end meet nobody. */
		if (ends_thread(insn) ||
		    (gt_bpf_is_subprogram_call(insn) && called(analysis, at)->ends))
			ret_next[count++] = end_of(analysis, at);
		return count;
	case BPF_JA:
		ret_next[0] = (uint32_t)gt_bpf_jump_target(analysis->verifier->insns, at);
		return 1;
	default:
		break;
	}
	if (branch & 1)
		ret_next[count++] = at + 1;
	if (branch & 2)
		ret_next[count++] = (uint32_t)gt_bpf_jump_target(analysis->verifier->insns, at);
	return count;
}

static int find_before(struct gt_divergence *analysis)
{
	uint32_t next[2], *fill = analysis->stack;

	analysis->first_predecessor = calloc(analysis->nodes + 1u, sizeof(uint32_t));
	analysis->predecessors = calloc(2u * analysis->count + 1u, sizeof(uint32_t));
	if (!analysis->first_predecessor || !analysis->predecessors)
		return gt_verifier_no_memory(analysis->verifier);
	for (uint32_t at = 0; at < analysis->count; at++)
		for (unsigned i = analysis->facts->insns[at].reached
					  ? gt_divergence_successors(analysis, at, next)
					  : 0;
		     i-- > 0;)
			analysis->first_predecessor[next[i] + 1]++;
	for (uint32_t node = 0; node < analysis->nodes; node++) {
		analysis->first_predecessor[node + 1] += analysis->first_predecessor[node];
		fill[node] = analysis->first_predecessor[node];
	}
	for (uint32_t at = 0; at < analysis->count; at++)
		for (unsigned i = analysis->facts->insns[at].reached
					  ? gt_divergence_successors(analysis, at, next)
					  : 0;
		     i-- > 0;)
			analysis->predecessors[fill[next[i]]++] = at;
	return 0;
}

/* The nodes from the ends of functions backwards, in postorder: order[node] counts from 1. */
static uint32_t order_backwards(struct gt_divergence *analysis, uint32_t *order, uint32_t *by_order)
{
	gt_autofree uint32_t *next = calloc(analysis->nodes, sizeof(*next));
	uint32_t height = 0, done = 0;

	if (!next)
		return 0;
	analysis->visit++;
	for (uint32_t end = analysis->count; end < analysis->nodes; end++) {
		analysis->stack[height++] = end;
		analysis->visited[end] = analysis->visit;
		while (height) {
			uint32_t node = analysis->stack[height - 1];
			uint32_t edge = analysis->first_predecessor[node] + next[node]++;

			if (edge == analysis->first_predecessor[node + 1]) {
				by_order[done++] = node;
				order[node] = done;
				height--;
			} else if (analysis->visited[analysis->predecessors[edge]] !=
				   analysis->visit) {
				analysis->visited[analysis->predecessors[edge]] = analysis->visit;
				analysis->stack[height++] = analysis->predecessors[edge];
			}
		}
	}
	return done;
}

static uint32_t intersect(const struct gt_divergence *analysis, const uint32_t *order, uint32_t one,
			  uint32_t other)
{
	while (one != other) {
		while (order[one] < order[other])
			one = analysis->reconvergence[one];
		while (order[other] < order[one])
			other = analysis->reconvergence[other];
	}
	return one;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the ways turned round. */
int gt_divergence_find_reconvergence(struct gt_divergence *analysis)
{
	gt_autofree uint32_t *order = calloc(analysis->nodes, sizeof(*order));
	gt_autofree uint32_t *by_order = calloc(analysis->nodes, sizeof(*by_order));
	uint32_t count, next[2];
	bool changed = true;

	find_ends(analysis);
	analysis->reconvergence = calloc(analysis->nodes, sizeof(uint32_t));
	if (!order || !by_order || !analysis->reconvergence || find_before(analysis))
		return gt_verifier_no_memory(analysis->verifier);
	for (uint32_t node = 0; node < analysis->nodes; node++)
		analysis->reconvergence[node] = node < analysis->count ? UINT32_MAX : node;
	count = order_backwards(analysis, order, by_order);
	if (!count)
		return gt_verifier_no_memory(analysis->verifier);
	while (changed) {
		changed = false;
		for (uint32_t i = count; i-- > 0;) {
			uint32_t node = by_order[i], meet = UINT32_MAX;
			unsigned ways = node < analysis->count
						? gt_divergence_successors(analysis, node, next)
						: 0;

			for (unsigned way = 0; way < ways; way++) {
				if (analysis->reconvergence[next[way]] == UINT32_MAX)
					continue;
				meet = meet == UINT32_MAX
					       ? next[way]
					       : intersect(analysis, order, meet, next[way]);
			}
			analysis->work += ways + 1;
			if (ways && meet != analysis->reconvergence[node]) {
				analysis->reconvergence[node] = meet;
				changed = true;
			}
		}
	}
	return 0;
}

static void diverge(struct gt_divergence *analysis, uint32_t at, int32_t cause)
{
	if (analysis->facts->insns[at].divergent)
		return;
	analysis->facts->insns[at].divergent = true;
	analysis->state[at].cause = cause;
	analysis->changed = true;
	if (gt_bpf_is_subprogram_call(&analysis->verifier->insns[at])) {
		int64_t target = gt_bpf_jump_target(analysis->verifier->insns, at);

		gt_divergence_of_function(analysis, analysis->verifier->aux[target].subprogram,
					  cause);
	}
}

void gt_divergence_of_function(struct gt_divergence *analysis, uint32_t function, int32_t cause)
{
	const struct gt_subprogram_facts *facts = &analysis->facts->subprograms[function];

	for (uint32_t at = facts->start; at < facts->end; at++)
		if (analysis->facts->insns[at].reached)
			diverge(analysis, at, cause);
}

/* What differs where lanes meet that came different ways. */
static void meet(struct gt_divergence *analysis, uint32_t node, uint16_t registers,
		 const struct gt_units *units)
{
	struct gt_lane_state *state = &analysis->state[node];

	if (node >= analysis->count) {
		struct gt_lane_function *function = &analysis->functions[node - analysis->count];

		analysis->changed |= (registers & 1) && !function->merged;
		function->merged |= registers & 1;
		return;
	}
	analysis->changed |= (registers & ~state->merged) != 0;
	state->merged |= registers;
	analysis->changed |= gt_units_add(&state->merged_units, units);
}

void gt_divergence_at(struct gt_divergence *analysis, uint32_t branch)
{
	uint32_t last = analysis->reconvergence[branch], height = 0, found = 0, next[2];
	struct gt_units units = {0};
	uint16_t registers = 0;

	analysis->visit++;
	for (unsigned i = gt_divergence_successors(analysis, branch, next); i-- > 0;)
		analysis->stack[height++] = next[i];
	while (height) {
		uint32_t at = analysis->stack[--height];
		struct gt_units written;
		bool all;

		if (at == last || at >= analysis->count || analysis->visited[at] == analysis->visit)
			continue;
		analysis->visited[at] = analysis->visit;
		analysis->work++;
		diverge(analysis, at, (int32_t)branch);
		registers |= gt_insn_defs(&analysis->verifier->insns[at]);
		written = gt_divergence_stack_writes(analysis, at, &all);
		gt_units_add(&units, &written);
		analysis->found[found++] = at;
		for (unsigned i = gt_divergence_successors(analysis, at, next); i-- > 0;)
			analysis->stack[height++] = next[i];
	}
	for (uint32_t i = 0; i < found; i++) {
		uint32_t at = analysis->found[i];

		if (analysis->first_predecessor[at + 1] - analysis->first_predecessor[at] > 1)
			meet(analysis, at, registers, &units);
	}
	if (last != UINT32_MAX)
		meet(analysis, last, registers, &units);
}
