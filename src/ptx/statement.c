/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The body of a function: blocks, labels, declarations, directives. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

static int parse_block(struct ptx_parser *parser, struct gt_ptx_statement *owner,
		       struct gt_ptx_block **ret_block);

static struct gt_ptx_statement *new_statement(struct ptx_parser *parser,
					      const struct gt_ptx_position *start)
{
	struct gt_ptx_statement *statement = ptx_take(parser, sizeof(*statement));

	if (!statement)
		return NULL;
	statement->position = *start;
	statement->block = parser->block;
	statement->number = parser->function->statement_count++;
	return statement;
}

/*
 * L<3>, of which the operand L is on the stack: the labels L0, L1, L2. Not inlined: its buffer does
 * not belong into the frames of nested blocks.
 */
__attribute__((noinline)) static int parse_label_range(struct ptx_parser *parser)
{
	struct ptx_pending_label use = parser->pending.items[parser->pending.count - 1];
	struct gt_ptx_operand operand = parser->operands.items[parser->operands.count - 1];
	const char *prefix = use.name->text;
	uint32_t count = 0;
	int error = ptx_expect_u32(parser, "the number of labels", &count);

	if (error)
		return error;
	if (!count || count > GT_PTX_MAX_TARGETS)
		return ptx_fail_at(parser, &use.position, -E2BIG,
				   "%u labels in < > (allowed: 1 to %d)", count,
				   GT_PTX_MAX_TARGETS);
	parser->pending.count--;
	parser->operands.count--;
	for (uint32_t i = 0; i < count; i++) {
		char name[GT_PTX_MAX_IDENTIFIER + 16];
		int length = snprintf(name, sizeof(name), "%s%u", prefix, i);

		use.name = ptx_names_intern(&parser->names, name, (size_t)length);
		operand.index = (uint32_t)parser->pending.count;
		if (!use.name || gt_vec_push(&parser->pending, use) ||
		    gt_vec_push(&parser->operands, operand))
			return ptx_no_memory(parser);
	}
	return ptx_expect_symbol(parser, '>', "'>' after the number of labels");
}

/* .branchtargets L1, L2; or .calltargets f, g; */
static int parse_targets(struct ptx_parser *parser, struct gt_ptx_targets *targets)
{
	size_t mark = parser->operands.count;
	struct gt_ptx_position position;
	int error;

	do {
		position = parser->token.position;
		if (parser->token.kind != TOKEN_IDENTIFIER)
			return ptx_expected(parser, "a target");
		error = ptx_parse_operand(parser, targets->is_call ? OPERAND_ANY : OPERAND_LABEL);
		if (error)
			return error;
		if (targets->is_call && parser->operands.items[parser->operands.count - 1].kind !=
						GT_PTX_OPERAND_FUNCTION)
			return ptx_fail_at(parser, &position, -EINVAL,
					   "a target of .calltargets is no function");
		if (!targets->is_call && ptx_take_symbol(parser, '<'))
			error = parse_label_range(parser);
		if (error)
			return error;
	} while (ptx_take_symbol(parser, ','));
	error = ptx_expect_symbol(parser, ';', "',' or ';' after a target");
	return error ? error : ptx_keep_operands(parser, mark, &targets->items, &targets->count);
}

static int parse_target_list(struct ptx_parser *parser, struct gt_ptx_statement *statement,
			     struct gt_ptx_label *label)
{
	struct gt_ptx_targets *targets = ptx_take(parser, sizeof(*targets));
	int error;

	if (!targets)
		return -ENOMEM;
	targets->is_call = ptx_at_word(parser, ".calltargets");
	ptx_advance(parser);
	error = parse_targets(parser, targets);
	if (error)
		return error;
	statement->kind = GT_PTX_STATEMENT_TARGETS;
	statement->targets = targets;
	label->targets = targets;
	return 0;
}

static int parse_prototype(struct ptx_parser *parser, struct gt_ptx_statement *statement,
			   struct gt_ptx_label *label)
{
	struct gt_ptx_function *prototype = NULL;
	int error;

	ptx_advance(parser);
	error = ptx_parse_prototype(parser, label->name, &prototype);
	if (error)
		return error;
	statement->kind = GT_PTX_STATEMENT_PROTOTYPE;
	statement->prototype = prototype;
	label->prototype = prototype;
	return 0;
}

/* label: directly before the statement, or NULL. */
static int parse_directive(struct ptx_parser *parser, struct gt_ptx_statement *statement,
			   struct gt_ptx_label *label)
{
	enum gt_ptx_linkage linkage = GT_PTX_LINKAGE_NONE;
	bool is_targets =
		ptx_at_word(parser, ".branchtargets") || ptx_at_word(parser, ".calltargets");

	if (is_targets || ptx_at_word(parser, ".callprototype")) {
		if (!label)
			return ptx_expected(parser, "a label before such a list");
		return is_targets ? parse_target_list(parser, statement, label)
				  : parse_prototype(parser, statement, label);
	}
	if (ptx_take_word(parser, ".loc")) {
		statement->kind = GT_PTX_STATEMENT_LOC;
		return ptx_parse_loc(parser, &statement->loc);
	}
	if (ptx_take_word(parser, ".pragma")) {
		statement->kind = GT_PTX_STATEMENT_PRAGMA;
		return ptx_parse_pragma(parser, &statement->pragma);
	}
	if (ptx_take_word(parser, ".extern"))
		linkage = GT_PTX_LINKAGE_EXTERN;
	if (!ptx_at_variables(parser) && !ptx_at_word(parser, ".align"))
		return ptx_expected(parser, "a statement");
	statement->kind = GT_PTX_STATEMENT_VARIABLES;
	return ptx_parse_variables(parser, linkage, &statement->variables);
}

/* After its name; the `:` is next. */
static int parse_label(struct ptx_parser *parser, const struct ptx_token *token,
		       struct gt_ptx_statement *statement)
{
	struct ptx_name *name = ptx_names_intern(&parser->names, token->text, token->length);
	int error;

	if (!name)
		return ptx_no_memory(parser);
	ptx_advance(parser);
	statement->kind = GT_PTX_STATEMENT_LABEL;
	error = ptx_label_declare(parser, name, &token->position, &statement->label);
	if (!error)
		statement->label->statement = statement;
	return error;
}

static int parse_guarded(struct ptx_parser *parser, struct gt_ptx_statement *statement)
{
	struct ptx_token opcode;
	int error = ptx_parse_guard(parser, &statement->instruction.guard);

	if (error)
		return error;
	opcode = parser->token;
	if (opcode.kind != TOKEN_IDENTIFIER)
		return ptx_expected(parser, "an instruction after its guard");
	ptx_advance(parser);
	return ptx_parse_instruction(parser, &opcode, &statement->instruction);
}

static int parse_statement(struct ptx_parser *parser, struct gt_ptx_statement *statement,
			   struct gt_ptx_label *label)
{
	struct ptx_token first = parser->token;

	switch (first.kind) {
	case TOKEN_IDENTIFIER:
		ptx_advance(parser);
		if (ptx_at_symbol(parser, ':'))
			return parse_label(parser, &first, statement);
		return ptx_parse_instruction(parser, &first, &statement->instruction);
	case TOKEN_WORD:
		return parse_directive(parser, statement, label);
	default:
		if (ptx_take_symbol(parser, '@'))
			return parse_guarded(parser, statement);
		if (!ptx_at_symbol(parser, '{'))
			return ptx_expected(parser, "a statement or '}'");
		statement->kind = GT_PTX_STATEMENT_BLOCK;
		return parse_block(parser, statement, &statement->inner);
	}
}

/* All statements of a block, and its `}`. */
static int parse_statements(struct ptx_parser *parser, struct gt_ptx_block *block)
{
	struct gt_ptx_statement **last = &block->first;
	struct gt_ptx_label *label = NULL;

	while (!ptx_take_symbol(parser, '}')) {
		struct gt_ptx_statement *statement = new_statement(parser, &parser->token.position);
		int error;

		if (!statement)
			return -ENOMEM;
		error = parse_statement(parser, statement, label);
		if (error)
			return error;
		ptx_end_position(parser, &statement->position);
		label = statement->kind == GT_PTX_STATEMENT_LABEL ? statement->label : NULL;
		*last = statement;
		last = &statement->next;
	}
	return 0;
}

static int parse_block(struct ptx_parser *parser, struct gt_ptx_statement *owner,
		       struct gt_ptx_block **ret_block)
{
	struct gt_ptx_block *block = ptx_take(parser, sizeof(*block)), *outer = parser->block;
	struct ptx_scoped_label *outer_labels = parser->block_labels;
	size_t mark = parser->pending.count;
	int error;

	if (!block)
		return -ENOMEM;
	*block = (struct gt_ptx_block){.position = parser->token.position,
				       .function = parser->function,
				       .parent = outer,
				       .owner = owner};
	error = ptx_scope_enter(parser);
	if (error)
		return error;
	ptx_advance(parser);
	parser->block = block;
	parser->block_labels = NULL;
	error = parse_statements(parser, block);
	ptx_end_position(parser, &block->position);
	if (!error)
		error = ptx_labels_leave_block(parser, block, mark);
	parser->block = outer;
	parser->block_labels = outer_labels;
	ptx_scope_leave(parser);
	if (!error)
		*ret_block = block;
	return error;
}

int ptx_parse_body(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	return parse_block(parser, NULL, &function->body);
}
