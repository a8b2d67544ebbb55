/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For each register, the set of variables whose addresses it may be computed from, without regard
 * to the order of instructions. Variables are numbered by bits; more than 64 share them.
 */
#include "patch/statics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

enum {
	/* Of a function: compilers define registers before their uses, and loops need few more. */
	MAX_PASSES = 16,
};

/* How instructions use their operands. */
enum static_use {
	STATIC_USE_OTHER,    /* operands may be stored or written to */
	STATIC_USE_LOADS,    /* from an address; the result is not computed from it */
	STATIC_USE_COMPUTES, /* the first operand from the others */
};

static const uint8_t uses[GT_PTX_OP_COUNT] = {
	[GT_PTX_OP_LD] = STATIC_USE_LOADS,       [GT_PTX_OP_LDU] = STATIC_USE_LOADS,
	[GT_PTX_OP_PREFETCH] = STATIC_USE_LOADS, [GT_PTX_OP_PREFETCHU] = STATIC_USE_LOADS,
	[GT_PTX_OP_ADD] = STATIC_USE_COMPUTES,   [GT_PTX_OP_ADDC] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_AND] = STATIC_USE_COMPUTES,   [GT_PTX_OP_CVT] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_CVTA] = STATIC_USE_COMPUTES,  [GT_PTX_OP_ISSPACEP] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_LOP3] = STATIC_USE_COMPUTES,  [GT_PTX_OP_MAD] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_MADC] = STATIC_USE_COMPUTES,  [GT_PTX_OP_MAX] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_MIN] = STATIC_USE_COMPUTES,   [GT_PTX_OP_MOV] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_MUL] = STATIC_USE_COMPUTES,   [GT_PTX_OP_OR] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_SELP] = STATIC_USE_COMPUTES,  [GT_PTX_OP_SETP] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_SHL] = STATIC_USE_COMPUTES,   [GT_PTX_OP_SHR] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_SUB] = STATIC_USE_COMPUTES,   [GT_PTX_OP_SUBC] = STATIC_USE_COMPUTES,
	[GT_PTX_OP_XOR] = STATIC_USE_COMPUTES,
};

struct statics {
	uint64_t *registers; /* of the function, by number */
	uint64_t escaped;
	bool changed;
};

bool gt_patch_is_static(const struct gt_ptx_variable *variable)
{
	return !variable->function && variable->linkage == GT_PTX_LINKAGE_NONE &&
	       (variable->space == GT_PTX_SPACE_GLOBAL || variable->space == GT_PTX_SPACE_CONST) &&
	       !strncmp(variable->name, "_ZZ", 3);
}

static uint64_t bit_of(const struct gt_ptx_variable *variable)
{
	return gt_patch_is_static(variable) ? UINT64_C(1) << variable->number % 64 : 0;
}

static uint64_t *register_of(const struct statics *statics, const struct gt_ptx_operand *operand)
{
	bool is_register = operand->kind == GT_PTX_OPERAND_REGISTER &&
			   operand->variable->space == GT_PTX_SPACE_REG;

	return is_register ? &statics->registers[gt_ptx_operand_register(operand)] : NULL;
}

static uint64_t bits_of(const struct statics *statics, const struct gt_ptx_operand *operand)
{
	const uint64_t *known = register_of(statics, operand);
	uint64_t bits = 0;

	switch ((enum gt_ptx_operand_kind)operand->kind) {
	case GT_PTX_OPERAND_REGISTER:
		return known ? *known : 0;
	case GT_PTX_OPERAND_SYMBOL:
		return bit_of(operand->variable);
	case GT_PTX_OPERAND_ADDRESS:
	case GT_PTX_OPERAND_VECTOR:
	case GT_PTX_OPERAND_PAIR:
		for (uint32_t i = 0; i < operand->count; i++)
			bits |= bits_of(statics, &operand->items[i]);
		return bits;
	default:
		return 0;
	}
}

static uint64_t bits_of_all(const struct statics *statics, const struct gt_ptx_operand *operands,
			    uint32_t count)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < count; i++)
		bits |= bits_of(statics, &operands[i]);
	return bits;
}

static void add_bits(struct statics *statics, const struct gt_ptx_operand *operand, uint64_t bits)
{
	uint64_t *known = register_of(statics, operand);

	if (operand->kind == GT_PTX_OPERAND_VECTOR || operand->kind == GT_PTX_OPERAND_PAIR)
		for (uint32_t i = 0; i < operand->count; i++)
			add_bits(statics, &operand->items[i], bits);
	if (!known || !(bits & ~*known))
		return;
	*known |= bits;
	statics->changed = true;
}

static void follow(struct statics *statics, const struct gt_ptx_instruction *instruction)
{
	const struct gt_ptx_operand *operands = instruction->operands;
	uint32_t count = instruction->operand_count;

	if (instruction->call)
		statics->escaped |= bits_of_all(statics, instruction->call->arguments,
						instruction->call->argument_count);
	switch ((enum static_use)uses[instruction->form->opcode]) {
	case STATIC_USE_LOADS:
		break;
	case STATIC_USE_COMPUTES:
		if (count)
			add_bits(statics, &operands[0],
				 bits_of_all(statics, operands + 1, count - 1));
		break;
	default:
		statics->escaped |= bits_of_all(statics, operands, count);
	}
}

/* A caller may store to an address that is returned. */
static void follow_returns(struct statics *statics, const struct gt_ptx_function *function)
{
	for (const struct gt_ptx_variable *variable = function->returns; variable;
	     variable = variable->next)
		if (variable->space == GT_PTX_SPACE_REG)
			for (uint32_t i = 0; i < (variable->vector ? variable->vector : 1); i++)
				statics->escaped |=
					statics->registers[variable->first_register + i];
}

static int follow_function(struct statics *statics, const struct gt_ptx_function *function)
{
	gt_autofree uint64_t *registers =
		calloc((size_t)function->register_count + 1, sizeof(*registers));

	if (!registers)
		return -ENOMEM;
	statics->registers = registers;
	statics->changed = true;
	for (unsigned pass = 0; statics->changed; pass++) {
		if (pass == MAX_PASSES) {
			statics->escaped = UINT64_MAX;
			break;
		}
		statics->changed = false;
		for (const struct gt_ptx_statement *statement = function->body->first; statement;
		     statement = gt_ptx_statement_next(statement))
			if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION)
				follow(statics, &statement->instruction);
	}
	follow_returns(statics, function);
	statics->registers = NULL;
	return 0;
}

/* An address in memory may be loaded and written to. */
static int add_initial_address(void *context, uint64_t offset, enum gt_ptx_type type,
			       const struct gt_ptx_initializer *value)
{
	struct statics *statics = context;

	if (value->kind == GT_PTX_INITIALIZER_ADDRESS && value->address->variable)
		statics->escaped |= bit_of(value->address->variable);
	return 0;
}

static void mark_read_only(const struct statics *statics, const struct gt_ptx_variable *variable,
			   bool *read_only)
{
	for (; variable; variable = variable->next)
		read_only[variable->number] =
			gt_patch_is_static(variable) && !(statics->escaped & bit_of(variable));
}

int gt_patch_find_read_only(const struct gt_ptx_module *module, bool **ret_read_only)
{
	gt_autofree bool *read_only = calloc(module->variable_count + 1, sizeof(*read_only));
	struct statics statics = {0};

	if (!read_only)
		return -ENOMEM;
	for (const struct gt_ptx_item *item = module->items; item; item = item->next) {
		if (item->kind == GT_PTX_ITEM_FUNCTION && item->function->body &&
		    follow_function(&statics, item->function))
			return -ENOMEM;
		for (const struct gt_ptx_variable *variable =
			     item->kind == GT_PTX_ITEM_VARIABLES ? item->variables : NULL;
		     variable; variable = variable->next)
			gt_ptx_variable_walk(variable, add_initial_address, &statics);
	}
	for (const struct gt_ptx_item *item = module->items; item; item = item->next)
		if (item->kind == GT_PTX_ITEM_VARIABLES)
			mark_read_only(&statics, item->variables, read_only);
	*ret_read_only = gt_take(read_only);
	return 0;
}
