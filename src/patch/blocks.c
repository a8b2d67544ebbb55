/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/blocks.h"

#include <ctype.h>
#include <string.h>

/* ---- where blocks start ---------------------------------------------------------------- */

int gt_patch_blocks_find(const struct gt_ptx_function *function, struct gt_patch_blocks *ret_blocks)
{
	bool starts = true, is_reached = true;
	int error = 0;

	*ret_blocks = (struct gt_patch_blocks){0};
	for (const struct gt_ptx_statement *statement = function->body->first; statement && !error;
	     statement = gt_ptx_statement_next(statement)) {
		if (statement->kind == GT_PTX_STATEMENT_LABEL)
			starts |= gt_ptx_label_is_target(statement->label);
		if (statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
			continue;
		if (starts)
			error = gt_vec_push(&ret_blocks->statements, statement);
		is_reached |= starts;
		starts = false;
		if (!gt_ptx_is_jump(&statement->instruction))
			continue;
		/* What follows another jump is reached from a label alone. */
		is_reached &= statement->instruction.guard != NULL;
		starts = is_reached;
	}
	return error;
}

void gt_patch_blocks_clear(struct gt_patch_blocks *blocks)
{
	gt_vec_free(&blocks->statements);
}

/* ---- registers by name ----------------------------------------------------------------- */

/* The number at the end of a name, from `prefix` characters on: "12" of "%r12", not "012". */
static bool read_member(const char *name, size_t prefix, size_t length, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (prefix >= length || (name[prefix] == '0' && prefix + 1 < length))
		return false;
	for (size_t i = prefix; i < length; i++) {
		if (!isdigit((unsigned char)name[i]) || number > UINT32_MAX / 10)
			return false;
		number = number * 10 + (uint64_t)(name[i] - '0');
	}
	*ret_number = (uint32_t)number;
	return number <= UINT32_MAX;
}

/* Whether a declaration has the register, which `member` is the number of in a range. */
static bool declares(const struct gt_ptx_variable *variable, const char *name, size_t length,
		     uint32_t *ret_member)
{
	const char *declared = variable->name + 1;
	size_t prefix = strlen(declared);

	*ret_member = 0;
	if (variable->space != GT_PTX_SPACE_REG || variable->name[0] != '%' || prefix > length ||
	    strncmp(declared, name, prefix) != 0)
		return false;
	if (!variable->is_range)
		return prefix == length;
	return read_member(name, prefix, length, ret_member) && *ret_member < variable->count;
}

static const struct gt_ptx_variable *find_in_block(const struct gt_ptx_block *block,
						   const struct gt_ptx_statement *end,
						   const char *name, size_t length,
						   uint32_t *ret_member)
{
	for (const struct gt_ptx_statement *statement = block->first;
	     statement && statement->number < end->number; statement = statement->next) {
		if (statement->kind != GT_PTX_STATEMENT_VARIABLES)
			continue;
		for (const struct gt_ptx_variable *variable = statement->variables; variable;
		     variable = variable->next)
			if (declares(variable, name, length, ret_member))
				return variable;
	}
	return NULL;
}

bool gt_patch_find_register(const struct gt_ptx_statement *statement, const char *name,
			    size_t length, struct gt_ptx_operand *ret_operand)
{
	const struct gt_ptx_variable *variable = NULL;
	uint32_t member;

	for (const struct gt_ptx_block *block = statement->block; block && !variable;
	     block = block->parent)
		variable = find_in_block(block, statement, name, length, &member);
	if (!variable || variable->vector > 1 || gt_ptx_type_info(variable->type)->bits > 64)
		return false;
	*ret_operand = (struct gt_ptx_operand){
		.kind = GT_PTX_OPERAND_REGISTER,
		.index = member,
		.variable = (struct gt_ptx_variable *)variable,
	};
	return true;
}
