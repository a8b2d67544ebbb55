/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loops of the control flow graph (Aho, Lam, Sethi, Ullman, "Compilers", 9.6.6). */
#include "gpubpf/verify/loops.h"

#include <errno.h>

/* Predecessors in linked lists, as in dataflow.c: edge e starts at instruction (e - 1) / 2. */
struct loop_graph {
	uint32_t *first, *links, *stack;
	bool *retreats; /* by edge */
};

/* Find the retreating edges of a function: those to an instruction on the path of the search. */
static void find_retreating(struct gt_verifier *verifier, struct loop_graph *graph, uint32_t start,
			    uint8_t *state)
{
	enum { UNSEEN, FIRST, SECOND, DONE };
	uint32_t height = 0, next[3];

	graph->stack[height++] = start;
	state[start] = FIRST;
	while (height) {
		uint32_t at = graph->stack[height - 1];
		unsigned edge = state[at] - FIRST;

		if (edge >= gt_cfg_successors(verifier, at, next)) {
			state[at] = DONE;
			height--;
			continue;
		}
		state[at]++;
		if (state[next[edge]] == UNSEEN) {
			state[next[edge]] = FIRST;
			graph->stack[height++] = next[edge];
		} else if (state[next[edge]] != DONE) {
			graph->retreats[2 * at + edge] = true;
			verifier->aux[next[edge]].retreats_to = true;
		}
	}
}

static void find_edges(const struct gt_verifier *verifier, struct loop_graph *graph)
{
	uint32_t next[3];

	for (uint32_t at = 0; at < verifier->count; at++) {
		if (!verifier->aux[at].reachable)
			continue;
		for (unsigned i = gt_cfg_successors(verifier, at, next); i-- > 0;) {
			graph->links[2 * at + i] = graph->first[next[i]];
			graph->first[next[i]] = 2 * at + i + 1;
		}
	}
}

/* Fill a loop's body: backwards from the jumps to its header. */
static void find_body(const struct loop_graph *graph, struct gt_loop *loop)
{
	uint32_t height = 0;

	loop->body[loop->header / 64] |= UINT64_C(1) << loop->header % 64;
	for (uint32_t edge = graph->first[loop->header]; edge; edge = graph->links[edge - 1])
		if (graph->retreats[edge - 1] && !gt_loop_contains(loop, (edge - 1) / 2)) {
			graph->stack[height++] = (edge - 1) / 2;
			loop->body[(edge - 1) / 2 / 64] |= UINT64_C(1) << (edge - 1) / 2 % 64;
		}
	while (height) {
		uint32_t at = graph->stack[--height];

		for (uint32_t edge = graph->first[at]; edge; edge = graph->links[edge - 1]) {
			uint32_t from = (edge - 1) / 2;

			if (gt_loop_contains(loop, from))
				continue;
			loop->body[from / 64] |= UINT64_C(1) << from % 64;
			graph->stack[height++] = from;
		}
	}
}

static int add_loops(struct gt_verifier *verifier, const struct loop_graph *graph)
{
	struct gt_loops *loops = verifier->loops;

	for (uint32_t at = 0; at < verifier->count; at++) {
		struct gt_loop *loop = &loops->items[loops->count];

		bool is_call = gt_bpf_is_loop_call(&verifier->insns[at]);

		if ((!verifier->aux[at].retreats_to && !is_call) || !verifier->aux[at].reachable)
			continue;
		if (loops->count == GT_MAX_LOOPS)
			return -E2BIG;
		loop->header = at;
		loop->body = calloc(verifier->count / 64 + 1, sizeof(*loop->body));
		loops->count++;
		if (!loop->body)
			return gt_verifier_no_memory(verifier);
		find_body(graph, loop);
		loop->is_call = is_call;
		for (uint32_t i = 0; i < verifier->count; i++)
			loop->has_may_goto |= gt_loop_contains(loop, i) &&
					      gt_bpf_is_may_goto(&verifier->insns[i]);
	}
	return 0;
}

int gt_loops_find(struct gt_verifier *verifier)
{
	gt_autofree uint32_t *first = calloc(verifier->count + 1u, sizeof(*first));
	gt_autofree uint32_t *links = calloc(2u * verifier->count, sizeof(*links));
	gt_autofree uint32_t *stack = calloc(verifier->count + 1u, sizeof(*stack));
	gt_autofree bool *retreats = calloc(2u * verifier->count, sizeof(*retreats));
	gt_autofree uint8_t *state = calloc(verifier->count + 1u, sizeof(*state));
	struct loop_graph graph = {first, links, stack, retreats};

	if (verifier->loops)
		return 0;
	if (verifier->count > GT_MAX_LOOP_PROGRAM)
		return -E2BIG;
	verifier->loops = calloc(1, sizeof(*verifier->loops));
	if (!first || !links || !stack || !retreats || !state || !verifier->loops)
		return gt_verifier_no_memory(verifier);
	verifier->loops->items = calloc(GT_MAX_LOOPS + 1, sizeof(*verifier->loops->items));
	if (!verifier->loops->items)
		return gt_verifier_no_memory(verifier);
	find_edges(verifier, &graph);
	for (uint32_t i = 0; i < verifier->facts.subprogram_count; i++)
		if (verifier->aux[verifier->facts.subprograms[i].start].reachable)
			find_retreating(verifier, &graph, verifier->facts.subprograms[i].start,
					state);
	return add_loops(verifier, &graph);
}

void gt_loops_free(struct gt_loops *loops)
{
	if (!loops)
		return;
	for (uint32_t i = 0; i < loops->count; i++) {
		free(loops->items[i].body);
		free(loops->items[i].values);
		free(loops->items[i].tests);
	}
	free(loops->items);
	free(loops);
}

struct gt_loop *gt_loop_at(const struct gt_verifier *verifier, uint32_t header)
{
	uint32_t low = 0, high = verifier->loops ? verifier->loops->count : 0;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (verifier->loops->items[middle].header < header)
			low = middle + 1;
		else
			high = middle;
	}
	if (!verifier->loops || low == verifier->loops->count ||
	    verifier->loops->items[low].header != header)
		return NULL;
	return &verifier->loops->items[low];
}
