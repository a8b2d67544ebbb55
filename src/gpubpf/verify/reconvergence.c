/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reconvergence of lanes: immediate postdominators, and the divergent region of a branch. */
#include "gpubpf/verify/divergence.h"

static uint32_t function_end(const struct gt_divergence *analysis, uint32_t at)
{
	return analysis->count + analysis->verifier->aux[at].subprogram;
}

/* Whether an instruction ends the thread. */
static bool ends_thread(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       (gt_helper((uint32_t)insn->imm)->traits & GT_TRAIT_ENDS);
}

static struct gt_lane_function *called_function(const struct gt_divergence *analysis, uint32_t call)
{
	int64_t target = gt_bpf_jump_target(analysis->verifier->insns, call);

	return &analysis->functions[analysis->verifier->aux[target].subprogram];
}

/* Find the functions that may end the thread: by a helper, or by a callee. */
static void find_ending_functions(struct gt_divergence *analysis)
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
			own->ends = ends_thread(insn) || (gt_bpf_is_subprogram_call(insn) &&
							  called_function(analysis, at)->ends);
			changed |= own->ends;
		}
	}
}

bool gt_divergence_of_call(const struct gt_divergence *analysis, uint32_t call)
{
	const struct gt_lane_function *function = called_function(analysis, call);
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
		ret_next[0] = function_end(analysis, at);
		return 1;
	case BPF_CALL:
		if (!ends_thread(insn))
			ret_next[count++] = at + 1;
		/* Lanes that end do not reconverge. */
		if (ends_thread(insn) ||
		    (gt_bpf_is_subprogram_call(insn) && called_function(analysis, at)->ends))
			ret_next[count++] = function_end(analysis, at);
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

static int find_predecessors(struct gt_divergence *analysis)
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

/* Traverse backwards from the ends of functions: order[node] is its number in postorder, from 1. */
static uint32_t number_postorder(struct gt_divergence *analysis, uint32_t *order,
				 uint32_t *by_order)
{
	gt_autofree uint32_t *next = calloc(analysis->nodes, sizeof(*next));
	uint32_t height = 0, done = 0;

	if (!next)
		return 0;
	analysis->traversal++;
	for (uint32_t end = analysis->count; end < analysis->nodes; end++) {
		analysis->stack[height++] = end;
		analysis->visited[end] = analysis->traversal;
		while (height) {
			uint32_t node = analysis->stack[height - 1];
			uint32_t edge = analysis->first_predecessor[node] + next[node]++;

			if (edge == analysis->first_predecessor[node + 1]) {
				by_order[done++] = node;
				order[node] = done;
				height--;
			} else if (analysis->visited[analysis->predecessors[edge]] !=
				   analysis->traversal) {
				analysis->visited[analysis->predecessors[edge]] =
					analysis->traversal;
				analysis->stack[height++] = analysis->predecessors[edge];
			}
		}
	}
	return done;
}

static uint32_t common_postdominator(const struct gt_divergence *analysis, const uint32_t *order,
				     uint32_t one, uint32_t other)
{
	while (one != other) {
		while (order[one] < order[other])
			one = analysis->reconvergence[one];
		while (order[other] < order[one])
			other = analysis->reconvergence[other];
	}
	return one;
}

/* Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph. */
int gt_divergence_find_reconvergence(struct gt_divergence *analysis)
{
	gt_autofree uint32_t *order = calloc(analysis->nodes, sizeof(*order));
	gt_autofree uint32_t *by_order = calloc(analysis->nodes, sizeof(*by_order));
	uint32_t count, next[2];
	bool changed = true;

	find_ending_functions(analysis);
	analysis->reconvergence = calloc(analysis->nodes, sizeof(uint32_t));
	if (!order || !by_order || !analysis->reconvergence || find_predecessors(analysis))
		return gt_verifier_no_memory(analysis->verifier);
	for (uint32_t node = 0; node < analysis->nodes; node++)
		analysis->reconvergence[node] = node < analysis->count ? UINT32_MAX : node;
	count = number_postorder(analysis, order, by_order);
	if (!count)
		return gt_verifier_no_memory(analysis->verifier);
	while (changed) {
		changed = false;
		for (uint32_t i = count; i-- > 0;) {
			uint32_t node = by_order[i], dominator = UINT32_MAX;
			unsigned successors =
				node < analysis->count
					? gt_divergence_successors(analysis, node, next)
					: 0;

			for (unsigned j = 0; j < successors; j++) {
				if (analysis->reconvergence[next[j]] == UINT32_MAX)
					continue;
				dominator = dominator == UINT32_MAX
						    ? next[j]
						    : common_postdominator(analysis, order,
									   dominator, next[j]);
			}
			analysis->work += successors + 1;
			if (successors && dominator != analysis->reconvergence[node]) {
				analysis->reconvergence[node] = dominator;
				changed = true;
			}
		}
	}
	return 0;
}

static void mark_divergent(struct gt_divergence *analysis, uint32_t at, int32_t cause)
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
			mark_divergent(analysis, at, cause);
}

/* Values written on divergent paths vary where the lanes reconverge. */
static void merge_lanes(struct gt_divergence *analysis, uint32_t node, uint16_t registers,
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

	analysis->traversal++;
	for (unsigned i = gt_divergence_successors(analysis, branch, next); i-- > 0;)
		analysis->stack[height++] = next[i];
	while (height) {
		uint32_t at = analysis->stack[--height];
		struct gt_units written;
		bool all;

		if (at == last || at >= analysis->count ||
		    analysis->visited[at] == analysis->traversal)
			continue;
		analysis->visited[at] = analysis->traversal;
		analysis->work++;
		mark_divergent(analysis, at, (int32_t)branch);
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
			merge_lanes(analysis, at, registers, &units);
	}
	if (last != UINT32_MAX)
		merge_lanes(analysis, last, registers, &units);
}
