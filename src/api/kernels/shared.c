/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/shared.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/vec.h"

struct shared_search {
	bool *variables; /* by number: counted */
	bool *functions; /* by number: visited or queued */
	GT_VEC(const struct gt_ptx_function *) waiting;
	uint64_t bytes;
	int error;
};

static void count_variable(struct shared_search *search, const struct gt_ptx_variable *variable)
{
	uint64_t alignment;

	if (variable->definition)
		variable = variable->definition;
	if (variable->space != GT_PTX_SPACE_SHARED || search->variables[variable->number])
		return;
	search->variables[variable->number] = true;
	alignment = gt_ptx_variable_alignment(variable);
	if (alignment)
		search->bytes = (search->bytes + alignment - 1) / alignment * alignment;
	if (__builtin_add_overflow(search->bytes, gt_ptx_variable_size(variable), &search->bytes))
		search->error = -E2BIG;
}

static void count_function(struct shared_search *search, const struct gt_ptx_function *function)
{
	if (function->definition)
		function = function->definition;
	if (!function->body || search->functions[function->number])
		return;
	search->functions[function->number] = true;
	if (gt_vec_push(&search->waiting, function))
		search->error = -ENOMEM;
}

/* Operands within each other are as deep as the parser lets them be. */
static void count_operands(struct shared_search *search, const struct gt_ptx_operand *operands,
			   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		switch (operands[i].kind) {
		case GT_PTX_OPERAND_SYMBOL:
			count_variable(search, operands[i].variable);
			break;
		case GT_PTX_OPERAND_FUNCTION:
			count_function(search, operands[i].function);
			break;
		case GT_PTX_OPERAND_ADDRESS:
		case GT_PTX_OPERAND_VECTOR:
		case GT_PTX_OPERAND_PAIR:
			count_operands(search, operands[i].items, operands[i].count);
			break;
		default:
			break;
		}
	}
}

static void count_instruction(struct shared_search *search,
			      const struct gt_ptx_instruction *instruction)
{
	const struct gt_ptx_call *call = instruction->call;

	count_operands(search, instruction->operands, instruction->operand_count);
	if (!call)
		return;
	count_operands(search, call->arguments, call->argument_count);
	if (call->target->kind != GT_PTX_OPERAND_FUNCTION)
		search->error = -ENOENT;
	else
		count_function(search, call->target->function);
}

static void count_body(struct shared_search *search, const struct gt_ptx_function *function)
{
	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement)) {
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION)
			count_instruction(search, &statement->instruction);
		else if (statement->kind == GT_PTX_STATEMENT_VARIABLES)
			for (const struct gt_ptx_variable *variable = statement->variables;
			     variable; variable = variable->next)
				count_variable(search, variable);
	}
}

int gt_ptx_shared_bytes(const struct gt_ptx_module *module, const struct gt_ptx_function *kernel,
			uint64_t *ret_bytes)
{
	gt_autofree bool *variables = calloc(module->variable_count + 1, sizeof(*variables));
	gt_autofree bool *functions = calloc(module->function_count + 1, sizeof(*functions));
	struct shared_search search = {.variables = variables, .functions = functions};

	if (!variables || !functions)
		return -ENOMEM;
	count_function(&search, kernel);
	while (search.waiting.count && !search.error)
		count_body(&search, search.waiting.items[--search.waiting.count]);
	gt_vec_free(&search.waiting);
	if (search.error)
		return search.error;
	*ret_bytes = search.bytes;
	return 0;
}
