/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The call graph: recursion, stack sizes, and the needs of kernels. */
#include <errno.h>
#include <string.h>

#include "exec/engine/engine.h"

enum {
	MAX_OFFSETS = 64 << 20, /* kernels × functions that they may call */
};

struct call_graph {
	struct sg_module *module;
	uint32_t *number, *low, *path, *edge, *stack;
	uint64_t *need; /* bytes of stack including callees; cycles count once */
	bool *is_done;
	GT_VEC(struct sg_function *) targets; /* of indirect calls */
	uint32_t next_number, depth, stack_depth;
};

/* Returns function number i of those that `function` may call, or NULL. */
static const struct sg_function *callee_at(const struct call_graph *graph,
					   const struct sg_function *function, uint32_t i)
{
	if (i < function->callees.count)
		return function->callees.items[i];
	i -= (uint32_t)function->callees.count;
	return function->has_indirect_call && i < graph->targets.count ? graph->targets.items[i]
								       : NULL;
}

static uint64_t frame_need(const struct sg_function *function)
{
	return ((function->local_size + 15ull) & ~15ull) + SG_CALL_COST;
}

static void enter(struct call_graph *graph, uint32_t function)
{
	graph->path[graph->depth++] = function;
	graph->edge[function] = 0;
	graph->number[function] = graph->low[function] = graph->next_number++;
	graph->stack[graph->stack_depth++] = function;
	graph->need[function] = 0;
}

/* Pops a strongly connected component of functions off the stack. */
static void finish_component(struct call_graph *graph, uint32_t root)
{
	struct sg_function *const *functions = graph->module->functions.items;
	uint64_t inner = 0, below = 0;
	uint32_t first = graph->stack_depth;

	do {
		first--;
		inner += frame_need(functions[graph->stack[first]]);
		if (graph->need[graph->stack[first]] > below)
			below = graph->need[graph->stack[first]];
	} while (graph->stack[first] != root);
	for (uint32_t i = first; i < graph->stack_depth; i++) {
		graph->is_done[graph->stack[i]] = true;
		graph->need[graph->stack[i]] = inner + below;
		if (graph->stack_depth - first > 1)
			functions[graph->stack[i]]->is_recursive = true;
	}
	graph->stack_depth = first;
}

/* Tarjan's algorithm for strongly connected components; callees come before callers. */
static void visit(struct call_graph *graph, uint32_t root)
{
	struct sg_function *const *functions = graph->module->functions.items;

	enter(graph, root);
	while (graph->depth) {
		uint32_t function = graph->path[graph->depth - 1];
		const struct sg_function *callee =
			callee_at(graph, functions[function], graph->edge[function]++);
		uint32_t caller;

		if (callee && callee->number == function)
			functions[function]->is_recursive = true;
		if (callee && graph->number[callee->number] == UINT32_MAX) {
			enter(graph, callee->number);
			continue;
		}
		if (callee && graph->is_done[callee->number]) {
			if (graph->need[callee->number] > graph->need[function])
				graph->need[function] = graph->need[callee->number];
			continue;
		}
		if (callee) {
			if (graph->number[callee->number] < graph->low[function])
				graph->low[function] = graph->number[callee->number];
			continue;
		}
		graph->depth--;
		if (graph->low[function] == graph->number[function])
			finish_component(graph, function);
		if (!graph->depth)
			break;
		caller = graph->path[graph->depth - 1];
		if (graph->low[function] < graph->low[caller])
			graph->low[caller] = graph->low[function];
		if (graph->is_done[function] && graph->need[function] > graph->need[caller])
			graph->need[caller] = graph->need[function];
	}
}

/* ---- kernels --------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Lays out the shared variables that a kernel can reach; dynamic ones come last. */
static int lay_out_shared(struct sg_function *kernel)
{
	const struct sg_module *module = kernel->module;
	GT_VEC(uint32_t) used = {0};
	uint64_t size = 0, dynamic = 16;
	int error = 0;

	kernel->shared_offsets = calloc(module->shared.count + 1, sizeof(uint32_t));
	if (!kernel->shared_offsets)
		return -ENOMEM;
	for (uint32_t f = 0; f < kernel->reachable_count && !error; f++)
		for (size_t i = 0; i < kernel->reachable[f]->shared_used.count && !error; i++)
			error = gt_vec_push(&used, kernel->reachable[f]->shared_used.items[i]);
	if (used.count)
		qsort(used.items, used.count, sizeof(uint32_t), compare_numbers);
	for (size_t i = 0; i < used.count && !error; i++) {
		const struct sg_shared_variable *variable = &module->shared.items[used.items[i]];

		if (i && used.items[i] == used.items[i - 1])
			continue;
		if (!variable->size) {
			if (variable->alignment > dynamic)
				dynamic = variable->alignment;
			continue;
		}
		size = (size + variable->alignment - 1) & ~(uint64_t)(variable->alignment - 1);
		kernel->shared_offsets[used.items[i]] = (uint32_t)size;
		size += variable->size;
		if (size > UINT32_MAX / 2)
			error = -E2BIG;
	}
	kernel->shared_static = (uint32_t)size;
	size = (size + dynamic - 1) & ~(dynamic - 1);
	for (size_t i = 0; i < used.count && !error; i++)
		if (!module->shared.items[used.items[i]].size) {
			kernel->shared_offsets[used.items[i]] = (uint32_t)size;
			kernel->shared_static = (uint32_t)size;
		}
	gt_vec_free(&used);
	return error;
}

/* Lists the functions that a kernel can reach, itself first, and lays out their registers. */
static int find_reachable(const struct call_graph *graph, struct sg_function *kernel,
			  uint32_t *seen)
{
	uint32_t called = (uint32_t)graph->module->first_kernel, count = 0;
	GT_VEC(const struct sg_function *) reachable = {0};

	kernel->called_count = called;
	kernel->registers_size = kernel->frame_size;
	kernel->stack_need = graph->need[kernel->number];
	if (gt_vec_push(&reachable, kernel))
		return -ENOMEM;
	if (kernel->callees.count || kernel->has_indirect_call) {
		kernel->frame_offsets = malloc((called + 1) * sizeof(uint32_t));
		if (!kernel->frame_offsets) {
			gt_vec_free(&reachable);
			return -ENOMEM;
		}
		memset(kernel->frame_offsets, 0xff, (called + 1) * sizeof(uint32_t));
	}
	for (; count < reachable.count; count++) {
		const struct sg_function *function = reachable.items[count], *callee;

		kernel->needs_stack |= function->is_recursive || function->has_indirect_call ||
				       function->uses_stack_pointer;
		kernel->needs_reserved_shared |= function->uses_reserved_shared;
		kernel->needs_cluster |= function->uses_cluster_barrier;
		for (uint32_t i = 0; (callee = callee_at(graph, function, i)); i++) {
			if (seen[callee->number] == kernel->number)
				continue;
			seen[callee->number] = kernel->number;
			kernel->frame_offsets[callee->number] = (uint32_t)kernel->registers_size;
			kernel->registers_size += callee->frame_size;
			if (gt_vec_push(&reachable, callee)) {
				gt_vec_free(&reachable);
				return -ENOMEM;
			}
			if (kernel->registers_size > UINT32_MAX / 2) {
				gt_vec_free(&reachable);
				return -E2BIG;
			}
		}
	}
	kernel->reachable = reachable.items;
	kernel->reachable_count = (uint32_t)reachable.count;
	return lay_out_shared(kernel);
}

static int find_kernels(const struct call_graph *graph)
{
	struct sg_module *module = graph->module;
	gt_autofree uint32_t *seen = malloc((module->functions.count + 1) * sizeof(*seen));
	int error = 0;

	if (!seen)
		return -ENOMEM;
	memset(seen, 0xff, (module->functions.count + 1) * sizeof(*seen));
	for (size_t i = module->first_kernel; i < module->functions.count && !error; i++)
		error = find_reachable(graph, module->functions.items[i], seen);
	return error;
}

/* A module may declare a function otherwise than the module that defines it. */
static int check_calls(const struct sg_module *module, struct gt_diag *diag)
{
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct sg_function *function = module->functions.items[i];

		for (const struct sg_call *call = function->calls; call; call = call->next)
			if (call->callee && !sg_call_fits(call, call->callee))
				return gt_diag(diag, -EINVAL, "load", NULL,
					       "'%s' calls '%s' with other parameters or results "
					       "than it has",
					       function->name, call->callee->name);
	}
	return 0;
}

int sg_module_find_calls(struct sg_module *module, struct gt_diag *diag)
{
	size_t count = module->functions.count;
	gt_autofree uint32_t *memory = malloc((count + 1) * 5 * sizeof(*memory));
	gt_autofree uint64_t *need = calloc(count + 1, sizeof(*need));
	gt_autofree bool *done = calloc(count + 1, sizeof(*done));
	struct call_graph graph = {
		.module = module, .number = memory, .need = need, .is_done = done};
	int error = check_calls(module, diag);

	if (error)
		return error;
	if (!memory || !need || !done)
		return -ENOMEM;
	graph.low = memory + count;
	graph.path = memory + 2 * count;
	graph.edge = memory + 3 * count;
	graph.stack = memory + 4 * count;
	if ((count - module->first_kernel) * (module->first_kernel + 1) > MAX_OFFSETS)
		return gt_diag(diag, -E2BIG, "load", NULL, "the module has too many functions");
	memset(graph.number, 0xff, count * sizeof(uint32_t));
	for (size_t i = 0; i < module->first_kernel && !error; i++)
		if (module->functions.items[i]->is_address_taken)
			error = gt_vec_push(&graph.targets, module->functions.items[i]);
	for (size_t i = 0; i < count && !error; i++)
		if (graph.number[i] == UINT32_MAX)
			visit(&graph, (uint32_t)i);
	if (!error)
		error = find_kernels(&graph);
	if (error == -E2BIG)
		gt_diag(diag, error, "load", NULL,
			"a kernel needs too much memory for its registers or shared variables");
	gt_vec_free(&graph.targets);
	return error;
}
