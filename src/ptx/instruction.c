/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Instructions: forms (opcode with modifiers), guards, calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "ptx/parser.h"

int ptx_parse_guard(struct ptx_parser *parser, const struct gt_ptx_operand **ret_guard)
{
	struct gt_ptx_position position = parser->token.position;
	bool negated = ptx_take_symbol(parser, '!');
	size_t mark = parser->operands.count;
	struct gt_ptx_operand *guard;
	uint32_t count;
	int error;

	if (parser->token.kind != TOKEN_IDENTIFIER)
		return ptx_expected(parser, "a predicate after '@'");
	error = ptx_parse_operand(parser, OPERAND_ANY);
	if (error)
		return error;
	guard = &parser->operands.items[mark];
	if (guard->kind != GT_PTX_OPERAND_REGISTER)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "the guard of an instruction is not a register");
	if (guard->variable->type != GT_PTX_TYPE_PRED)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "the guard of an instruction is not a predicate");
	guard->negated = negated;
	guard->position = position;
	ptx_end_position(parser, &guard->position);
	return ptx_keep_operands(parser, mark, ret_guard, &count);
}

/* Reads one modifier of a form's text at *text, which moves to its end. */
static int add_modifier(struct ptx_parser *parser, const char **text, struct gt_ptx_modifier *ret)
{
	size_t length = 1 + strcspn(*text + 1, ".");
	struct ptx_name *name = ptx_names_intern(&parser->names, *text, length);

	if (!name)
		return ptx_no_memory(parser);
	ret->text = name->text;
	ret->id = name->modifier ? name->modifier - 1 : GT_PTX_MOD_UNKNOWN;
	*text += length;
	return 0;
}

static int add_modifiers(struct ptx_parser *parser, struct gt_ptx_form *form, const char *text)
{
	struct gt_ptx_modifier *modifiers;
	enum gt_ptx_type *types;
	size_t count = 0;
	int error = 0;

	for (const char *dot = text; *dot; dot++)
		count += *dot == '.';
	modifiers = ptx_take(parser, count * sizeof(*modifiers));
	types = ptx_take(parser, count * sizeof(*types));
	if (!modifiers || !types)
		return -ENOMEM;
	form->vector = 1;
	for (size_t i = 0; i < count && !error; i++) {
		enum gt_ptx_modifier_id id;

		error = add_modifier(parser, &text, &modifiers[i]);
		if (error)
			return error;
		id = modifiers[i].id;
		if (gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE)
			types[form->type_count++] = gt_ptx_modifier_type(id);
		if (id == GT_PTX_MOD_V2 || id == GT_PTX_MOD_V4 || id == GT_PTX_MOD_V8)
			form->vector = id == GT_PTX_MOD_V2 ? 2 : id == GT_PTX_MOD_V4 ? 4 : 8;
	}
	form->modifier_count = (uint32_t)count;
	form->modifiers = modifiers;
	form->types = types;
	return error;
}

static int unknown_opcode(struct ptx_parser *parser, const struct ptx_token *opcode)
{
	return ptx_fail_at(parser, &opcode->position, -EINVAL,
			   "unknown opcode \"%.*s\" in function \"%.200s\"",
			   (int)(opcode->length > 100 ? 100 : opcode->length), opcode->text,
			   parser->function->name);
}

static int new_form(struct ptx_parser *parser, const struct ptx_token *opcode,
		    struct ptx_name *name)
{
	const struct ptx_name *base = ptx_names_find(&parser->names, opcode->text, opcode->length);
	struct gt_ptx_form *form;
	int error;

	if (!base || !base->opcode)
		return unknown_opcode(parser, opcode);
	form = ptx_take(parser, sizeof(*form));
	if (!form)
		return -ENOMEM;
	form->opcode = base->opcode - 1;
	form->number = (uint32_t)parser->forms.count;
	form->text = name->text;
	error = add_modifiers(parser, form, name->text + strlen(base->text));
	if (error)
		return error;
	if (gt_vec_push(&parser->forms, form))
		return ptx_no_memory(parser);
	name->form = form;
	return 0;
}

/* Consumes the modifiers; the buffer gets the form's text if it is not contiguous. */
static const char *form_text(struct ptx_parser *parser, const struct ptx_token *opcode,
			     size_t *ret_length, struct gt_strbuf *buffer)
{
	size_t length = opcode->length;
	uint32_t end = opcode->position.offset + opcode->length;

	while (parser->token.kind == TOKEN_WORD) {
		const struct ptx_token *word = &parser->token;

		if (word->position.offset != end && !buffer->length)
			gt_strbuf_add(buffer, opcode->text, length);
		if (buffer->length)
			gt_strbuf_add(buffer, word->text, word->length);
		length += word->length;
		end = word->position.offset + word->length;
		ptx_advance(parser);
	}
	*ret_length = length;
	return buffer->length ? buffer->data : opcode->text;
}

static int parse_form(struct ptx_parser *parser, const struct ptx_token *opcode,
		      const struct gt_ptx_form **ret_form)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	size_t length;
	const char *text = form_text(parser, opcode, &length, &buffer);
	struct ptx_name *name;

	if (buffer.failed)
		return ptx_no_memory(parser);
	if (length > GT_PTX_MAX_IDENTIFIER)
		return ptx_fail_at(parser, &opcode->position, -E2BIG,
				   "an instruction has too many modifiers");
	name = ptx_names_intern(&parser->names, text, length);
	if (!name)
		return ptx_no_memory(parser);
	if (!name->form) {
		int error = new_form(parser, opcode, name);

		if (error)
			return error;
	}
	*ret_form = name->form;
	return 0;
}

/* The callee or the prototype, copied to the module. */
static int parse_one(struct ptx_parser *parser, enum ptx_operand_context context,
		     const struct gt_ptx_operand **ret_operand)
{
	size_t mark = parser->operands.count;
	uint32_t count;
	int error = ptx_parse_operand(parser, context);

	return error ? error : ptx_keep_operands(parser, mark, ret_operand, &count);
}

static int parse_callee(struct ptx_parser *parser, struct gt_ptx_call *call)
{
	struct gt_ptx_position position = parser->token.position;
	int error;

	if (parser->token.kind != TOKEN_IDENTIFIER)
		return ptx_expected(parser, "the function to call");
	error = parse_one(parser, OPERAND_ANY, &call->target);
	if (error)
		return error;
	if (call->target->kind != GT_PTX_OPERAND_FUNCTION &&
	    call->target->kind != GT_PTX_OPERAND_REGISTER)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "the target of a call is neither a function nor a register");
	return 0;
}

/* (ret), target, (arguments), prototype */
static int parse_call(struct ptx_parser *parser, struct gt_ptx_call *call)
{
	int error = 0;

	if (ptx_take_symbol(parser, '(')) {
		error = ptx_parse_operand_list(parser, ')', "',' or ')' after a result",
					       &call->returns, &call->return_count);
		if (!error)
			error = ptx_expect_symbol(parser, ',', "',' after the results of a call");
	}
	if (!error)
		error = parse_callee(parser, call);
	if (error || !ptx_take_symbol(parser, ','))
		return error;
	if (ptx_take_symbol(parser, '(')) {
		error = ptx_parse_operand_list(parser, ')', "',' or ')' after an argument",
					       &call->arguments, &call->argument_count);
		if (error || !ptx_take_symbol(parser, ','))
			return error;
	}
	return parse_one(parser, OPERAND_PROTOTYPE, &call->prototype);
}

/* Returns how a name is interpreted, by opcode and operand. */
static enum ptx_operand_context context_of(enum gt_ptx_opcode opcode, size_t place)
{
	if (opcode == GT_PTX_OP_BRA || (opcode == GT_PTX_OP_BRX && place == 1))
		return OPERAND_LABEL;
	if (opcode == GT_PTX_OP_MOV || opcode == GT_PTX_OP_CVTA)
		return OPERAND_ANY;
	return OPERAND_MEMORY;
}

static int parse_operands(struct ptx_parser *parser, struct gt_ptx_instruction *instruction)
{
	size_t mark = parser->operands.count, count = 0;
	int error;

	do {
		if (count == GT_PTX_MAX_OPERANDS)
			return ptx_fail_at(parser, &parser->token.position, -E2BIG,
					   "an instruction has more than %d operands",
					   GT_PTX_MAX_OPERANDS);
		error = ptx_parse_operand(parser, context_of(instruction->form->opcode, count++));
		if (error)
			return error;
	} while (ptx_take_symbol(parser, ','));
	return ptx_keep_operands(parser, mark, &instruction->operands, &instruction->operand_count);
}

int ptx_parse_instruction(struct ptx_parser *parser, const struct ptx_token *opcode,
			  struct gt_ptx_instruction *instruction)
{
	int error = parse_form(parser, opcode, &instruction->form);

	if (error)
		return error;
	if (instruction->form->opcode == GT_PTX_OP_CALL) {
		struct gt_ptx_call *call = ptx_take(parser, sizeof(*call));

		if (!call)
			return -ENOMEM;
		instruction->call = call;
		error = parse_call(parser, call);
	} else if (!ptx_at_symbol(parser, ';')) {
		error = parse_operands(parser, instruction);
	}
	if (error)
		return error;
	return ptx_expect_symbol(parser, ';', "',' or ';' after an operand");
}
