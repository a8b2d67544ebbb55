/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queries of a parsed module. */
#include <string.h>

#include "ptx/ptx.h"

static uint64_t type_size(enum gt_ptx_type type)
{
	return (gt_ptx_type_info(type)->bits + 7) / 8;
}

uint64_t gt_ptx_variable_element_size(const struct gt_ptx_variable *variable)
{
	return type_size(variable->type) * variable->vector;
}

static uint64_t dimension_at(const struct gt_ptx_variable *variable, uint32_t level)
{
	if (!variable->dimensions[level] && !level && variable->initializer)
		return variable->initializer->count;
	return variable->dimensions[level];
}

uint64_t gt_ptx_variable_size(const struct gt_ptx_variable *variable)
{
	uint64_t size = gt_ptx_variable_element_size(variable);

	for (uint32_t i = 0; i < variable->dimension_count; i++)
		size *= dimension_at(variable, i);
	return size;
}

uint32_t gt_ptx_variable_alignment(const struct gt_ptx_variable *variable)
{
	return variable->alignment ? variable->alignment
				   : (uint32_t)gt_ptx_variable_element_size(variable);
}

struct statement_walk {
	const struct gt_ptx_variable *variable;
	int (*visit)(void *context, uint64_t place, enum gt_ptx_type type,
		     const struct gt_ptx_initializer *value);
	void *context;
};

/* size: bytes that the initialiser at this level describes. */
static int walk_value(const struct statement_walk *walk, uint32_t level, uint64_t place,
		      uint64_t size, const struct gt_ptx_initializer *initializer)
{
	uint64_t step;
	int stop = 0;

	if (initializer->kind == GT_PTX_INITIALIZER_FIELD)
		return 0;
	if (initializer->kind != GT_PTX_INITIALIZER_LIST)
		return walk->visit(walk->context, place, walk->variable->type, initializer);
	if (!initializer->count)
		return 0;
	step = type_size(walk->variable->type);
	if (level < walk->variable->dimension_count)
		step = size / dimension_at(walk->variable, level);
	for (uint32_t i = 0; i < initializer->count && !stop; i++)
		stop = walk_value(walk, level + 1, place + i * step, step, &initializer->items[i]);
	return stop;
}

int gt_ptx_variable_walk(const struct gt_ptx_variable *variable,
			 int (*visit)(void *context, uint64_t place, enum gt_ptx_type type,
				      const struct gt_ptx_initializer *value),
			 void *context)
{
	struct statement_walk walk = {.variable = variable, .visit = visit, .context = context};

	if (!variable->initializer)
		return 0;
	return walk_value(&walk, 0, 0, gt_ptx_variable_size(variable), variable->initializer);
}

int64_t gt_ptx_operand_offset(const struct gt_ptx_operand *operand)
{
	return operand->selector == GT_PTX_SELECT_OTHER ? 0 : operand->offset;
}

uint32_t gt_ptx_operand_register(const struct gt_ptx_operand *operand)
{
	const struct gt_ptx_variable *variable = operand->variable;
	uint32_t element = 0;

	if (operand->selector >= GT_PTX_SELECT_X && operand->selector <= GT_PTX_SELECT_W)
		element = operand->selector - GT_PTX_SELECT_X;
	return variable->first_register + operand->index * variable->vector + element;
}

bool gt_ptx_form_has(const struct gt_ptx_form *form, enum gt_ptx_modifier_id id)
{
	for (uint32_t i = 0; i < form->modifier_count; i++)
		if (form->modifiers[i].id == id)
			return true;
	return false;
}

struct gt_ptx_statement *gt_ptx_statement_next(const struct gt_ptx_statement *statement)
{
	const struct gt_ptx_block *block = statement->block;

	if (statement->kind == GT_PTX_STATEMENT_BLOCK && statement->inner->first)
		return statement->inner->first;
	while (!statement->next) {
		if (!block->owner)
			return NULL;
		statement = block->owner;
		block = block->parent;
	}
	return statement->next;
}

static bool any_is_local(const struct gt_ptx_variable *variable)
{
	while (variable && variable->space != GT_PTX_SPACE_LOCAL)
		variable = variable->next;
	return variable;
}

static bool declares_local(const struct gt_ptx_function *function)
{
	const struct gt_ptx_statement *statement = function->body ? function->body->first : NULL;

	for (; statement; statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_VARIABLES &&
		    any_is_local(statement->variables))
			return true;
	return false;
}

bool gt_ptx_has_private_arrays(const struct gt_ptx_module *module)
{
	for (const struct gt_ptx_item *item = module->items; item; item = item->next)
		if ((item->kind == GT_PTX_ITEM_VARIABLES && any_is_local(item->variables)) ||
		    (item->kind == GT_PTX_ITEM_FUNCTION && declares_local(item->function)))
			return true;
	return false;
}

bool gt_ptx_is_jump(const struct gt_ptx_instruction *instruction)
{
	switch (instruction->form->opcode) {
	case GT_PTX_OP_BRA:
	case GT_PTX_OP_BRX:
	case GT_PTX_OP_RET:
	case GT_PTX_OP_EXIT:
		return true;
	default:
		return false;
	}
}

const struct gt_ptx_directive *gt_ptx_function_directive(const struct gt_ptx_function *function,
							 enum gt_ptx_directive_id id)
{
	for (const struct gt_ptx_directive *directive = function->directives; directive;
	     directive = directive->next)
		if (directive->id == id)
			return directive;
	return NULL;
}

struct gt_ptx_function *gt_ptx_find_function(const struct gt_ptx_module *module, const char *name)
{
	for (struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		if (!strcmp(function->name, name))
			return function->definition ? function->definition : function;
	return NULL;
}

struct gt_ptx_variable *gt_ptx_find_variable(const struct gt_ptx_module *module, const char *name)
{
	for (const struct gt_ptx_item *item = module->items; item; item = item->next) {
		if (item->kind != GT_PTX_ITEM_VARIABLES)
			continue;
		for (struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next)
			if (!strcmp(variable->name, name))
				return variable->definition ? variable->definition : variable;
	}
	return NULL;
}
