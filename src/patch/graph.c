/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* What a function's instructions or a variable's initializer refer to. */
struct patch_references {
	GT_VEC(const struct gt_ptx_function *) functions;
	GT_VEC(const struct gt_ptx_variable *) variables;
	bool calls_indirectly;
};

struct gt_patch_graph {
	const struct gt_ptx_module *module;
	struct patch_references *functions; /* by number */
	struct patch_references *variables; /* by number; of those at module scope */
	struct patch_references taken;      /* device functions whose address is taken, each once */
	bool *is_taken;                     /* by number */
	int error;
};

static const struct gt_ptx_function *function_definition(const struct gt_ptx_function *function)
{
	return function->definition ? function->definition : function;
}

const struct gt_ptx_function *gt_patch_referred(const struct gt_ptx_function *function)
{
	const struct gt_ptx_function *definition = function_definition(function);

	return definition->name == function->name ? definition : function;
}

static const struct gt_ptx_variable *variable_definition(const struct gt_ptx_variable *variable)
{
	return variable->definition ? variable->definition : variable;
}

static void add_function(struct gt_patch_graph *graph, struct patch_references *references,
			 const struct gt_ptx_function *function)
{
	int error = gt_vec_push(&references->functions, gt_patch_referred(function));

	graph->error = graph->error ? graph->error : error;
}

/* Kernels are launched by their addresses, and never called. */
static void add_address(struct gt_patch_graph *graph, struct patch_references *references,
			const struct gt_ptx_function *function)
{
	uint32_t number = function_definition(function)->number;

	add_function(graph, references, function);
	if (function->is_entry || graph->is_taken[number])
		return;
	graph->is_taken[number] = true;
	add_function(graph, &graph->taken, function);
}

static void add_variable(struct gt_patch_graph *graph, struct patch_references *references,
			 const struct gt_ptx_variable *variable)
{
	int error;

	if (variable->function)
		return;
	error = gt_vec_push(&references->variables, variable_definition(variable));
	graph->error = graph->error ? graph->error : error;
}

static void add_operand(struct gt_patch_graph *graph, struct patch_references *references,
			const struct gt_ptx_operand *operand)
{
	switch ((enum gt_ptx_operand_kind)operand->kind) {
	case GT_PTX_OPERAND_SYMBOL:
	case GT_PTX_OPERAND_REGISTER: /* a .texref or another opaque variable */
		add_variable(graph, references, operand->variable);
		break;
	case GT_PTX_OPERAND_FUNCTION:
		add_address(graph, references, operand->function);
		break;
	case GT_PTX_OPERAND_ADDRESS:
	case GT_PTX_OPERAND_VECTOR:
	case GT_PTX_OPERAND_PAIR:
		for (uint32_t i = 0; i < operand->count; i++)
			add_operand(graph, references, &operand->items[i]);
		break;
	default:
		break;
	}
}

static void add_call(struct gt_patch_graph *graph, struct patch_references *references,
		     const struct gt_ptx_call *call)
{
	if (call->target->kind == GT_PTX_OPERAND_FUNCTION)
		add_function(graph, references, call->target->function);
	else
		references->calls_indirectly = true;
	for (uint32_t i = 0; i < call->argument_count; i++)
		add_operand(graph, references, &call->arguments[i]);
	if (call->prototype)
		add_operand(graph, references, call->prototype);
}

static void add_instruction(struct gt_patch_graph *graph, struct patch_references *references,
			    const struct gt_ptx_instruction *instruction)
{
	if (instruction->call)
		add_call(graph, references, instruction->call);
	for (uint32_t i = 0; i < instruction->operand_count; i++)
		add_operand(graph, references, &instruction->operands[i]);
}

static void add_body(struct gt_patch_graph *graph, const struct gt_ptx_function *function)
{
	struct patch_references *references = &graph->functions[function->number];

	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement)) {
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION)
			add_instruction(graph, references, &statement->instruction);
		else if (statement->kind == GT_PTX_STATEMENT_TARGETS)
			for (uint32_t i = 0; i < statement->targets->count; i++)
				add_operand(graph, references, &statement->targets->items[i]);
	}
}

struct patch_initial_value {
	struct gt_patch_graph *graph;
	struct patch_references *references;
};

static int add_initial_value(void *context, uint64_t offset, enum gt_ptx_type type,
			     const struct gt_ptx_initializer *value)
{
	const struct patch_initial_value *initial = context;

	if (value->kind != GT_PTX_INITIALIZER_ADDRESS)
		return 0;
	if (value->address->variable)
		add_variable(initial->graph, initial->references, value->address->variable);
	if (value->address->function)
		add_address(initial->graph, initial->references, value->address->function);
	return 0;
}

static void add_initializer(struct gt_patch_graph *graph, const struct gt_ptx_variable *variable)
{
	struct patch_initial_value initial = {
		.graph = graph,
		.references = &graph->variables[variable->number],
	};

	gt_ptx_variable_walk(variable, add_initial_value, &initial);
}

static void add_item(struct gt_patch_graph *graph, const struct gt_ptx_item *item)
{
	switch (item->kind) {
	case GT_PTX_ITEM_FUNCTION:
		if (item->function->body)
			add_body(graph, item->function);
		break;
	case GT_PTX_ITEM_VARIABLES:
		for (const struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next)
			add_initializer(graph, variable);
		break;
	case GT_PTX_ITEM_ALIAS:
		add_function(graph, &graph->functions[item->alias->alias->number],
			     item->alias->target);
		break;
	default:
		break;
	}
}

int gt_patch_graph_new(const struct gt_ptx_module *module, struct gt_patch_graph **ret_graph)
{
	gt_auto(patch_graph) struct gt_patch_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -ENOMEM;
	graph->module = module;
	graph->functions = calloc(module->function_count + 1, sizeof(*graph->functions));
	graph->variables = calloc(module->variable_count + 1, sizeof(*graph->variables));
	graph->is_taken = calloc(module->function_count + 1, sizeof(*graph->is_taken));
	if (!graph->functions || !graph->variables || !graph->is_taken)
		return -ENOMEM;
	for (const struct gt_ptx_item *item = module->items; item; item = item->next)
		add_item(graph, item);
	if (graph->error)
		return graph->error;
	*ret_graph = gt_take(graph);
	return 0;
}

static void clear_references(struct patch_references *references)
{
	gt_vec_free(&references->functions);
	gt_vec_free(&references->variables);
}

void gt_patch_graph_free(struct gt_patch_graph *graph)
{
	if (!graph)
		return;
	for (uint32_t i = 0; graph->functions && i < graph->module->function_count; i++)
		clear_references(&graph->functions[i]);
	for (uint32_t i = 0; graph->variables && i < graph->module->variable_count; i++)
		clear_references(&graph->variables[i]);
	clear_references(&graph->taken);
	free(graph->functions);
	free(graph->variables);
	free(graph->is_taken);
	free(graph);
}

int gt_patch_reach_new(const struct gt_patch_graph *graph, struct gt_patch_reach *ret_reach)
{
	struct gt_patch_reach reach = {
		.functions = calloc(graph->module->function_count + 1, sizeof(bool)),
		.variables = calloc(graph->module->variable_count + 1, sizeof(bool)),
	};

	if (!reach.functions || !reach.variables) {
		gt_patch_reach_clear(&reach);
		return -ENOMEM;
	}
	*ret_reach = reach;
	return 0;
}

void gt_patch_reach_clear(struct gt_patch_reach *reach)
{
	free(reach->functions);
	free(reach->variables);
	gt_vec_free(&reach->list);
	gt_vec_free(&reach->used);
	*reach = (struct gt_patch_reach){0};
}

void gt_patch_reach_reset(struct gt_patch_reach *reach)
{
	gt_vec_each (function, &reach->list)
		reach->functions[(*function)->number] = false;
	gt_vec_each (variable, &reach->used)
		reach->variables[*variable] = false;
	reach->list.count = 0;
	reach->used.count = 0;
	reach->followed = 0;
	reach->calls_indirectly = false;
}

/* References that are reached and whose own references were not followed yet. */
struct patch_worklist {
	struct gt_patch_reach *reach;
	GT_VEC(const struct patch_references *) references;
	int error;
};

static void reach_function(struct patch_worklist *work, const struct gt_patch_graph *graph,
			   const struct gt_ptx_function *function)
{
	if (work->reach->functions[function->number] || work->error)
		return;
	work->error = gt_vec_push(&work->reach->list, function);
	if (work->error)
		return;
	work->reach->functions[function->number] = true;
	work->error = gt_vec_push(&work->references, &graph->functions[function->number]);
}

static void reach_variable(struct patch_worklist *work, const struct gt_patch_graph *graph,
			   const struct gt_ptx_variable *variable)
{
	if (work->reach->variables[variable->number] || work->error)
		return;
	work->error = gt_vec_push(&work->reach->used, variable->number);
	if (work->error)
		return;
	work->reach->variables[variable->number] = true;
	work->error = gt_vec_push(&work->references, &graph->variables[variable->number]);
}

static void reach_taken(struct patch_worklist *work, const struct gt_patch_graph *graph)
{
	gt_vec_each (next, &graph->taken.functions)
		reach_function(work, graph, *next);
}

/* Follow all references of the list. Once something calls indirectly, all that is taken is in it.
 */
static int follow_references(struct patch_worklist *work, const struct gt_patch_graph *graph)
{
	while (!work->error && work->references.count) {
		const struct patch_references *references =
			work->references.items[--work->references.count];

		gt_vec_each (next, &references->functions)
			reach_function(work, graph, *next);
		gt_vec_each (next, &references->variables)
			reach_variable(work, graph, *next);
		if (!references->calls_indirectly || work->reach->calls_indirectly)
			continue;
		work->reach->calls_indirectly = true;
		reach_taken(work, graph);
	}
	gt_vec_free(&work->references);
	return work->error;
}

int gt_patch_reach_add(const struct gt_patch_graph *graph, const struct gt_ptx_function *function,
		       struct gt_patch_reach *reach)
{
	struct patch_worklist work = {.reach = reach};

	reach_function(&work, graph, gt_patch_referred(function));
	return follow_references(&work, graph);
}

int gt_patch_reach_add_taken(const struct gt_patch_graph *graph, struct gt_patch_reach *reach)
{
	struct patch_worklist work = {.reach = reach};

	reach_taken(&work, graph);
	return follow_references(&work, graph);
}

static bool refers_to_kernel(const struct patch_references *references,
			     const struct gt_patch_reach *reach)
{
	gt_vec_each (function, &references->functions)
		if ((*function)->is_entry && reach->functions[(*function)->number])
			return true;
	return false;
}

bool gt_patch_reach_is_shared(const struct gt_patch_graph *graph,
			      const struct gt_patch_reach *reach)
{
	for (uint32_t i = 0; i < graph->module->function_count; i++)
		if (!reach->functions[i] && refers_to_kernel(&graph->functions[i], reach))
			return true;
	for (uint32_t i = 0; i < graph->module->variable_count; i++)
		if (!reach->variables[i] && refers_to_kernel(&graph->variables[i], reach))
			return true;
	return false;
}
