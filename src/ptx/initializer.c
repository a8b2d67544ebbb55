/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Initial values of variables (PTX ISA 9.0, 5.4.4), and checks of their number and type. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ptx/parser.h"

static int find_symbol(struct ptx_parser *parser, struct gt_ptx_address *address)
{
	const struct ptx_binding *binding;
	uint32_t index;

	if (parser->token.kind != TOKEN_IDENTIFIER)
		return ptx_expected(parser, "the name of a variable or function");
	binding = ptx_lookup(parser, parser->token.text, parser->token.length, &index);
	if (!binding)
		return ptx_unknown_name(parser, &parser->token);
	if (binding->variable && binding->variable->space != GT_PTX_SPACE_GLOBAL &&
	    binding->variable->space != GT_PTX_SPACE_CONST)
		return ptx_expected(parser, "a function or a variable in .global or .const memory");
	address->variable = binding->variable;
	address->function = binding->function;
	ptx_advance(parser);
	return 0;
}

/* symbol, symbol + 4, generic(symbol) + 4; mask: of 0xff00(…), or 0 */
static int parse_address(struct ptx_parser *parser, uint64_t mask, struct gt_ptx_initializer *ret)
{
	struct gt_ptx_address *address = ptx_take(parser, sizeof(*address));
	int error;

	if (!address)
		return -ENOMEM;
	address->mask = mask;
	ret->kind = GT_PTX_INITIALIZER_ADDRESS;
	ret->address = address;
	if (!ptx_at_identifier(parser, "generic")) {
		error = find_symbol(parser, address);
	} else {
		address->generic = true;
		ptx_advance(parser);
		error = ptx_expect_symbol(parser, '(', "'(' after generic");
		if (!error)
			error = find_symbol(parser, address);
		if (!error)
			error = ptx_expect_symbol(parser, ')', "')' after generic(…");
	}
	return error ? error : ptx_parse_offset(parser, &address->offset);
}

/* Whether the token after this one is `(`: 0xff00(symbol). */
static bool is_mask(const struct ptx_parser *parser)
{
	struct ptx_lexer ahead = parser->lexer;
	struct ptx_token token;

	if (parser->token.kind != TOKEN_INTEGER)
		return false;
	ahead.diag = NULL;
	ptx_lexer_next(&ahead, &token);
	return token.kind == TOKEN_PUNCTUATION && token.symbol == '(';
}

static int parse_masked(struct ptx_parser *parser, struct gt_ptx_initializer *ret)
{
	uint64_t mask = parser->token.bits;
	int error;

	if (!mask)
		return ptx_expected(parser, "a mask that is not 0");
	ptx_advance(parser);
	ptx_advance(parser);
	error = parse_address(parser, mask, ret);
	return error ? error : ptx_expect_symbol(parser, ')', "')' after a masked address");
}

/* name = word or number */
static int parse_field(struct ptx_parser *parser, struct gt_ptx_initializer *ret)
{
	struct gt_ptx_field *field = ptx_take(parser, sizeof(*field));
	struct ptx_name *name = NULL, *word = NULL;
	int error;

	if (!field)
		return -ENOMEM;
	ret->kind = GT_PTX_INITIALIZER_FIELD;
	ret->field = field;
	error = ptx_expect_identifier(parser, "the name of a field", &name, NULL);
	if (!error)
		error = ptx_expect_symbol(parser, '=', "'=' after the name of a field");
	if (error)
		return error;
	field->name = name->text;
	if (parser->token.kind == TOKEN_INTEGER)
		return ptx_expect_u64(parser, "a number", &field->number);
	error = ptx_expect_identifier(parser, "the value of a field", &word, NULL);
	if (!error)
		field->word = word->text;
	return error;
}

static int parse_scalar(struct ptx_parser *parser, enum gt_ptx_class class,
			struct gt_ptx_initializer *ret)
{
	struct gt_ptx_position position = parser->token.position;
	struct ptx_constant constant;
	int error;

	if (class == GT_PTX_CLASS_OPAQUE)
		return parse_field(parser, ret);
	if (parser->token.kind == TOKEN_IDENTIFIER && !ptx_at_identifier(parser, "WARP_SZ"))
		return parse_address(parser, 0, ret);
	if (is_mask(parser))
		return parse_masked(parser, ret);
	if (!ptx_at_constant(parser))
		return ptx_expected(parser, "an initial value");
	error = ptx_parse_constant(parser, &constant);
	if (error)
		return error;
	if (constant.kind == CONSTANT_INTEGER && class == GT_PTX_CLASS_FLOAT)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "an integer is the initial value of a floating-point variable");
	if (constant.kind != CONSTANT_INTEGER &&
	    (class == GT_PTX_CLASS_SIGNED || class == GT_PTX_CLASS_UNSIGNED))
		return ptx_fail_at(parser, &position, -EINVAL,
				   "a floating-point number is the initial value of an integer");
	ret->kind = constant.kind == CONSTANT_INTEGER   ? GT_PTX_INITIALIZER_INTEGER
		    : constant.kind == CONSTANT_FLOAT32 ? GT_PTX_INITIALIZER_FLOAT32
							: GT_PTX_INITIALIZER_FLOAT64;
	ret->bits = constant.bits;
	return 0;
}

static int parse_value(struct ptx_parser *parser, const struct gt_ptx_variable *variable,
		       uint32_t level, struct gt_ptx_initializer *ret);

/* Returns the maximum number of values in { } at this level; 0: unlimited. */
static uint64_t room_at(const struct gt_ptx_variable *variable, uint32_t level)
{
	if (level < variable->dimension_count)
		return variable->dimensions[level];
	return variable->vector;
}

/* Checks another value of { } with `count` values. */
static int parse_item(struct ptx_parser *parser, const struct gt_ptx_variable *variable,
		      uint32_t level, size_t count)
{
	bool is_opaque = gt_ptx_type_info(variable->type)->class == GT_PTX_CLASS_OPAQUE;
	const struct gt_ptx_position *position = &parser->token.position;
	uint64_t room = room_at(variable, level);
	struct gt_ptx_initializer item = {0};
	int error;

	if (!is_opaque && room && count >= room)
		return ptx_fail_at(parser, position, -EINVAL,
				   "more than %" PRIu64 " values in { } for \"%.200s\"", room,
				   variable->name);
	if (parser->initializers.count >= GT_PTX_MAX_VALUES)
		return ptx_fail_at(parser, position, -E2BIG, "more than %d initial values",
				   GT_PTX_MAX_VALUES);
	error = parse_value(parser, variable, level + 1, &item);
	if (!error && gt_vec_push(&parser->initializers, item))
		error = ptx_no_memory(parser);
	return error;
}

static int parse_list(struct ptx_parser *parser, const struct gt_ptx_variable *variable,
		      uint32_t level, struct gt_ptx_initializer *ret)
{
	size_t mark = parser->initializers.count, count;
	int error = 0;

	if (!ptx_at_symbol(parser, '}'))
		do
			error = parse_item(parser, variable, level,
					   parser->initializers.count - mark);
		while (!error && ptx_take_symbol(parser, ','));
	if (!error)
		error = ptx_expect_symbol(parser, '}', "',' or '}' after an initial value");
	if (error)
		return error;
	count = parser->initializers.count - mark;
	ret->kind = GT_PTX_INITIALIZER_LIST;
	ret->count = (uint32_t)count;
	parser->initializers.count = mark;
	return ptx_keep(parser, parser->initializers.items, mark, count,
			sizeof(*parser->initializers.items), &ret->items);
}

/* level: the number of open {: the dimensions, then the elements of a vector. */
static int parse_value(struct ptx_parser *parser, const struct gt_ptx_variable *variable,
		       uint32_t level, struct gt_ptx_initializer *ret)
{
	enum gt_ptx_class class = gt_ptx_type_info(variable->type)->class;
	uint32_t depth = variable->dimension_count + (variable->vector > 1);

	if (class == GT_PTX_CLASS_OPAQUE)
		depth++;
	ret->offset = parser->token.position.offset;
	if (level >= depth) {
		if (ptx_at_symbol(parser, '{'))
			return ptx_expected(parser, "an initial value");
		return parse_scalar(parser, class, ret);
	}
	if (!ptx_take_symbol(parser, '{'))
		return ptx_expected(parser, "'{'");
	return parse_list(parser, variable, level, ret);
}

int ptx_parse_initializer(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	struct gt_ptx_initializer *initializer = ptx_take(parser, sizeof(*initializer));
	int error;

	if (!initializer)
		return -ENOMEM;
	error = parse_value(parser, variable, 0, initializer);
	if (!error)
		variable->initializer = initializer;
	return error;
}
