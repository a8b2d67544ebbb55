/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/site.h"

#include <errno.h>

#include "base/clean.h"
#include "patch/blocks.h"
#include "patch/lines.h"

#define KIND(name) (1u << GT_KIND_##name)

/* ---- memory accesses ------------------------------------------------------------------- */

/* Where the operands of an access are; -1: it has none. */
static const struct patch_access_row {
	enum gt_ptx_opcode opcode;
	enum gt_memory_access kind;
	int address, value;
} access_rows[] = {
	{GT_PTX_OP_LD, GT_MEMORY_LOAD, 1, 0},    {GT_PTX_OP_LDU, GT_MEMORY_LOAD, 1, 0},
	{GT_PTX_OP_ST, GT_MEMORY_STORE, 0, 1},   {GT_PTX_OP_ATOM, GT_MEMORY_ATOMIC, 1, 2},
	{GT_PTX_OP_RED, GT_MEMORY_ATOMIC, 0, 1}, {GT_PTX_OP_CP, GT_MEMORY_COPY, 1, -1},
};

static const struct patch_access_row *find_access_row(enum gt_ptx_opcode opcode)
{
	for (size_t i = 0; i < gt_countof(access_rows); i++)
		if (access_rows[i].opcode == opcode)
			return &access_rows[i];
	return NULL;
}

/* The state space that a form names. -ENOENT: one whose accesses are no sites. */
static int read_space(const struct gt_ptx_form *form, enum gt_bpf_space *ret_space)
{
	*ret_space = GT_SPACE_GENERIC;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		switch (form->modifiers[i].id) {
		case GT_PTX_MOD_GLOBAL:
			*ret_space = GT_SPACE_GLOBAL;
			return 0;
		case GT_PTX_MOD_SHARED:
		case GT_PTX_MOD_SHARED_CTA:
		case GT_PTX_MOD_SHARED_CLUSTER:
			*ret_space = GT_SPACE_SHARED;
			return 0;
		case GT_PTX_MOD_LOCAL:
			*ret_space = GT_SPACE_LOCAL;
			return 0;
		case GT_PTX_MOD_PARAM:
		case GT_PTX_MOD_PARAM_ENTRY:
		case GT_PTX_MOD_PARAM_FUNC:
		case GT_PTX_MOD_CONST:
			return -ENOENT;
		default:
			break;
		}
	}
	return 0;
}

/* cp.async.ca.shared.global [to], [from], bytes: the address that is read counts. */
static int read_copy(const struct gt_ptx_instruction *instruction, struct gt_patch_access *access)
{
	if (!gt_ptx_form_has(instruction->form, GT_PTX_MOD_ASYNC) ||
	    gt_ptx_form_has(instruction->form, GT_PTX_MOD_BULK) || instruction->operand_count < 3 ||
	    instruction->operands[2].kind != GT_PTX_OPERAND_INTEGER ||
	    instruction->operands[2].integer > GT_MAX_ACCESS_WIDTH)
		return -ENOENT;
	access->space = GT_SPACE_GLOBAL;
	access->width = (uint32_t)instruction->operands[2].integer;
	return 0;
}

int gt_patch_read_access(const struct gt_ptx_instruction *instruction,
			 struct gt_patch_access *ret_access)
{
	const struct gt_ptx_form *form = instruction->form;
	const struct patch_access_row *row = find_access_row(form->opcode);
	struct gt_patch_access access = {.elements = form->vector};
	const struct gt_ptx_operand *address;

	if (!row || instruction->operand_count <= (uint32_t)row->address ||
	    (row->value >= 0 && instruction->operand_count <= (uint32_t)row->value))
		return -ENOENT;
	address = &instruction->operands[row->address];
	if (address->kind != GT_PTX_OPERAND_ADDRESS || !address->count)
		return -ENOENT;
	access.kind = row->kind;
	access.address = &address->items[0];
	if (row->kind == GT_MEMORY_COPY) {
		if (read_copy(instruction, &access))
			return -ENOENT;
		*ret_access = access;
		return 0;
	}
	if (read_space(form, &access.space) || !form->type_count)
		return -ENOENT;
	access.value = &instruction->operands[row->value];
	access.element_bits = gt_ptx_type_info(form->types[form->type_count - 1])->bits;
	access.width = access.element_bits / 8 * access.elements;
	if (access.width > GT_MAX_ACCESS_WIDTH)
		return -ENOENT;
	*ret_access = access;
	return 0;
}

/* ---- kinds ----------------------------------------------------------------------------- */

static uint32_t access_kinds(const struct gt_ptx_instruction *instruction)
{
	static const uint32_t kinds[] = {
		[GT_MEMORY_LOAD] = KIND(LOAD) | KIND(LOAD_BEGIN),
		[GT_MEMORY_STORE] = KIND(STORE),
		[GT_MEMORY_ATOMIC] = KIND(ATOMIC),
		[GT_MEMORY_COPY] = KIND(COPY),
	};
	struct gt_patch_access access;

	return gt_patch_read_access(instruction, &access) ? 0 : kinds[access.kind];
}

static bool is_block_barrier(const struct gt_ptx_form *form)
{
	return !gt_ptx_form_has(form, GT_PTX_MOD_WARP) &&
	       !gt_ptx_form_has(form, GT_PTX_MOD_CLUSTER);
}

static uint32_t branch_kinds(const struct gt_ptx_statement *statement)
{
	const struct gt_ptx_instruction *instruction = &statement->instruction;
	uint32_t kinds = instruction->guard ? KIND(BRANCH) : 0;

	if (instruction->operand_count && instruction->operands[0].kind == GT_PTX_OPERAND_LABEL) {
		const struct gt_ptx_statement *target = instruction->operands[0].label->statement;

		if (target && target->number < statement->number)
			kinds |= KIND(LOOP);
	}
	return kinds;
}

/* Whether an instruction overwrites its own guard, so that it cannot be tested after it. */
static bool writes_guard(const struct gt_ptx_instruction *instruction)
{
	return instruction->guard && instruction->operand_count &&
	       instruction->operands[0].kind == GT_PTX_OPERAND_REGISTER &&
	       instruction->operands[0].variable == instruction->guard->variable;
}

static uint32_t barrier_kinds(const struct gt_ptx_instruction *instruction)
{
	if (!is_block_barrier(instruction->form))
		return 0;
	return KIND(BARRIER) | (writes_guard(instruction) ? 0 : KIND(BARRIER_END));
}

uint32_t gt_patch_statement_kinds(const struct gt_ptx_statement *statement)
{
	bool in_kernel = statement->block->function->is_entry;

	if (statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
		return 0;
	switch (statement->instruction.form->opcode) {
	case GT_PTX_OP_RET:
		return in_kernel ? KIND(EXIT) | KIND(BLOCK_END) : KIND(RETURN);
	case GT_PTX_OP_EXIT:
		return KIND(EXIT) | KIND(BLOCK_END);
	case GT_PTX_OP_BAR:
	case GT_PTX_OP_BARRIER:
		return barrier_kinds(&statement->instruction);
	case GT_PTX_OP_BRA:
		return branch_kinds(statement);
	default:
		return access_kinds(&statement->instruction);
	}
}

uint32_t gt_patch_begin_kinds(const struct gt_ptx_function *function)
{
	return function->is_entry ? KIND(ENTRY) | KIND(BLOCK_BEGIN) : KIND(CALL);
}

/* The last instruction in the text, or a label there that branches lead to. */
static const struct gt_ptx_statement *last_executed(const struct gt_ptx_function *function)
{
	const struct gt_ptx_statement *last = NULL;

	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION ||
		    (statement->kind == GT_PTX_STATEMENT_LABEL && statement->label->is_used))
			last = statement;
	return last;
}

static bool leaves_always(const struct gt_ptx_statement *statement)
{
	return statement->kind == GT_PTX_STATEMENT_INSTRUCTION && !statement->instruction.guard &&
	       (gt_ptx_is_jump(&statement->instruction) ||
		statement->instruction.form->opcode == GT_PTX_OP_TRAP);
}

uint32_t gt_patch_end_kinds(const struct gt_ptx_function *function)
{
	const struct gt_ptx_statement *last = last_executed(function);

	if (last && leaves_always(last))
		return 0;
	return function->is_entry ? KIND(EXIT) | KIND(BLOCK_END) : KIND(RETURN);
}

/* Whether the kernel does nothing more from a statement on but end. */
static bool only_ends(const struct gt_ptx_statement *statement)
{
	while (statement && statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
		statement = gt_ptx_statement_next(statement);
	if (!statement)
		return true;
	return !statement->instruction.guard &&
	       (statement->instruction.form->opcode == GT_PTX_OP_RET ||
		statement->instruction.form->opcode == GT_PTX_OP_EXIT);
}

uint32_t gt_patch_early_exit_kinds(const struct gt_ptx_statement *statement)
{
	const struct gt_ptx_instruction *instruction = &statement->instruction;
	const struct gt_ptx_operand *target;

	if (statement->kind != GT_PTX_STATEMENT_INSTRUCTION ||
	    instruction->form->opcode != GT_PTX_OP_BRA || !instruction->operand_count ||
	    !statement->block->function->is_entry)
		return 0;
	target = &instruction->operands[0];
	if (target->kind != GT_PTX_OPERAND_LABEL || !target->label->statement)
		return 0;
	return only_ends(target->label->statement) ? KIND(EXIT) | KIND(BLOCK_END) : 0;
}

uint32_t gt_patch_site_kinds(enum gt_section_kind kind)
{
	if (kind == GT_KIND_FINISH)
		return KIND(EXIT);
	return kind == GT_KIND_MEMORY ? KIND(LOAD) | KIND(STORE) : 1u << kind;
}

uint32_t gt_patch_kinds_after(uint32_t kinds)
{
	return kinds & (KIND(LOAD) | KIND(ATOMIC) | KIND(BARRIER_END));
}

/* At least one if there are any. */
static uint32_t count_lines(const struct gt_ptx_function *function)
{
	struct gt_patch_lines lines;
	uint32_t count =
		gt_patch_lines_find(function, &lines) ? 1 : (uint32_t)lines.statements.count;

	gt_patch_lines_clear(&lines);
	return count;
}

/* At least one. */
static uint32_t count_blocks(const struct gt_ptx_function *function)
{
	struct gt_patch_blocks blocks;
	uint32_t count =
		gt_patch_blocks_find(function, &blocks) ? 1 : (uint32_t)blocks.statements.count;

	gt_patch_blocks_clear(&blocks);
	return count ? count : 1;
}

uint32_t gt_patch_count_sites(const struct gt_ptx_function *function, uint32_t kinds, bool finishes)
{
	uint32_t count = kinds & KIND(LINE) ? count_lines(function) : 0;

	if (kinds & KIND(BASIC_BLOCK))
		count += count_blocks(function);
	if (kinds & KIND(LOOP_END))
		kinds |= KIND(LOOP);
	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement))
		count += !!((gt_patch_statement_kinds(statement) |
			     (finishes ? gt_patch_early_exit_kinds(statement) : 0)) &
			    kinds);
	return count;
}
