/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operands of instructions (PTX ISA 9.0, chapter 6). */
#include <errno.h>
#include <string.h>

#include "ptx/parser.h"

static int parse_bare(struct ptx_parser *parser, enum ptx_operand_context context,
		      struct gt_ptx_operand *operand);

static int push(struct ptx_parser *parser, const struct gt_ptx_operand *operand)
{
	return gt_vec_push(&parser->operands, *operand) ? ptx_no_memory(parser) : 0;
}

int ptx_keep_operands(struct ptx_parser *parser, size_t mark,
		      const struct gt_ptx_operand **ret_items, uint32_t *ret_count)
{
	size_t count = parser->operands.count - mark;
	struct gt_ptx_operand *items = NULL;
	int error = ptx_keep(parser, parser->operands.items, mark, count, sizeof(*items), &items);

	parser->operands.count = mark;
	if (error)
		return error;
	/* Labels that are declared later are set in the copied operands. */
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == GT_PTX_OPERAND_LABEL && !items[i].label) {
			parser->pending.items[items[i].index].operand = &items[i];
			items[i].index = 0;
		}
	*ret_items = items;
	*ret_count = (uint32_t)count;
	return 0;
}

int ptx_parse_operand_list(struct ptx_parser *parser, int close, const char *what,
			   const struct gt_ptx_operand **ret_items, uint32_t *ret_count)
{
	size_t mark = parser->operands.count;
	int error = ptx_nest(parser);

	if (!error && !ptx_at_symbol(parser, close))
		do {
			if (parser->operands.count - mark >= GT_PTX_MAX_OPERANDS)
				error = ptx_fail_at(parser, &parser->token.position, -E2BIG,
						    "more than %d operands in a list",
						    GT_PTX_MAX_OPERANDS);
			else
				error = ptx_parse_operand(parser, OPERAND_ANY);
		} while (!error && ptx_take_symbol(parser, ','));
	parser->nesting--;
	if (!error)
		error = ptx_expect_symbol(parser, close, what);
	return error ? error : ptx_keep_operands(parser, mark, ret_items, ret_count);
}

static enum gt_ptx_selector find_selector(const char *text, size_t length)
{
	static const struct {
		char text[3];
		enum gt_ptx_selector selector;
	} selectors[] = {
		{"x", GT_PTX_SELECT_X},   {"y", GT_PTX_SELECT_Y},   {"z", GT_PTX_SELECT_Z},
		{"w", GT_PTX_SELECT_W},   {"r", GT_PTX_SELECT_X},   {"g", GT_PTX_SELECT_Y},
		{"b", GT_PTX_SELECT_Z},   {"a", GT_PTX_SELECT_W},   {"b0", GT_PTX_SELECT_B0},
		{"b1", GT_PTX_SELECT_B1}, {"b2", GT_PTX_SELECT_B2}, {"b3", GT_PTX_SELECT_B3},
		{"h0", GT_PTX_SELECT_H0}, {"h1", GT_PTX_SELECT_H1},
	};

	for (size_t i = 0; i < gt_countof(selectors); i++)
		if (length == strlen(selectors[i].text) && !memcmp(text, selectors[i].text, length))
			return selectors[i].selector;
	/* .b3210, .h10: any number of bytes and halves */
	if (length > 1 && (text[0] == 'b' || text[0] == 'h') &&
	    strspn(text + 1, "01234567") >= length - 1)
		return GT_PTX_SELECT_OTHER;
	return GT_PTX_SELECT_NONE;
}

/* Checks a selector against the elements of a register or special register. */
static uint32_t operand_vector(const struct gt_ptx_operand *operand)
{
	if (operand->kind == GT_PTX_OPERAND_SPECIAL)
		return gt_ptx_special_info(operand->special)->vector;
	return operand->variable->vector;
}

static int parse_selector(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	const struct ptx_token *token = &parser->token;
	enum gt_ptx_selector selector = find_selector(token->text + 1, token->length - 1);
	uint32_t vector = operand_vector(operand);
	struct ptx_name *name;

	if (selector == GT_PTX_SELECT_NONE)
		return ptx_expected(parser, "',' or an element such as .x");
	if (selector <= GT_PTX_SELECT_W && (vector == 1 || selector > vector))
		return ptx_fail_at(parser, &token->position, -EINVAL,
				   "a register of %u element%s has no element \"%.*s\"", vector,
				   vector == 1 ? "" : "s", (int)token->length, token->text);
	if (selector == GT_PTX_SELECT_OTHER) {
		name = ptx_names_intern(&parser->names, token->text + 1, token->length - 1);
		if (!name)
			return ptx_no_memory(parser);
		operand->selector_text = name->text;
	}
	operand->selector = selector;
	ptx_advance(parser);
	return 0;
}

static int parse_label_use(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	struct ptx_pending_label use = {.position = parser->token.position};

	use.name = ptx_names_intern(&parser->names, parser->token.text, parser->token.length);
	if (!use.name || parser->pending.count >= UINT32_MAX)
		return ptx_no_memory(parser);
	operand->kind = GT_PTX_OPERAND_LABEL;
	operand->index = (uint32_t)parser->pending.count;
	if (gt_vec_push(&parser->pending, use))
		return ptx_no_memory(parser);
	ptx_advance(parser);
	return 0;
}

/* %tid, or a numbered one: %envreg7 */
static bool find_special(const struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	const struct ptx_token *token = &parser->token;
	const struct ptx_name *name = ptx_names_find(&parser->names, token->text, token->length);
	const struct gt_ptx_special_info *info;
	uint32_t length = token->length, number = 0;

	if (!name || !name->special) {
		while (length && token->text[length - 1] >= '0' && token->text[length - 1] <= '9')
			length--;
		if (length == token->length || token->length - length > 2)
			return false;
		for (uint32_t i = length; i < token->length; i++)
			number = number * 10 + (uint32_t)(token->text[i] - '0');
		name = ptx_names_find(&parser->names, token->text, length);
		if (!name || !name->special)
			return false;
	}
	info = gt_ptx_special_info(name->special - 1);
	if (info->members ? length == token->length || number >= info->members
			  : length != token->length)
		return false;
	operand->kind = GT_PTX_OPERAND_SPECIAL;
	operand->special = name->special - 1;
	operand->index = number;
	return true;
}

/* After symbol[: the address of an element; or with OPERAND_MEMORY the element, [symbol + bytes].
 */
static int parse_index(struct ptx_parser *parser, enum ptx_operand_context context,
		       struct gt_ptx_operand *operand)
{
	struct gt_ptx_position position = parser->token.position;
	size_t mark = parser->operands.count;
	struct ptx_constant constant;
	int error;

	if (!ptx_at_constant(parser))
		return ptx_expected(parser, "a constant index (or use [register + offset])");
	error = ptx_parse_constant(parser, &constant);
	if (!error)
		error = ptx_expect_symbol(parser, ']', "']' after an index");
	if (error)
		return error;
	if (constant.kind != CONSTANT_INTEGER)
		return ptx_fail_at(parser, &position, -EINVAL, "an index is an integer");
	operand->offset =
		(int64_t)(constant.bits * gt_ptx_variable_element_size(operand->variable));
	if (context != OPERAND_MEMORY)
		return 0;
	ptx_end_position(parser, &operand->position);
	error = push(parser, operand);
	*operand = (struct gt_ptx_operand){.kind = GT_PTX_OPERAND_ADDRESS,
					   .position = operand->position};
	return error ? error : ptx_keep_operands(parser, mark, &operand->items, &operand->count);
}

static int parse_bound(struct ptx_parser *parser, enum ptx_operand_context context,
		       const struct ptx_binding *binding, uint32_t index,
		       struct gt_ptx_operand *operand)
{
	ptx_advance(parser);
	if (binding->function) {
		operand->kind = GT_PTX_OPERAND_FUNCTION;
		operand->function = binding->function;
		return 0;
	}
	operand->variable = binding->variable;
	operand->index = index;
	if (binding->variable->space != GT_PTX_SPACE_REG) {
		operand->kind = GT_PTX_OPERAND_SYMBOL;
		if (ptx_take_symbol(parser, '['))
			return parse_index(parser, context, operand);
		return ptx_parse_offset(parser, &operand->offset);
	}
	operand->kind = GT_PTX_OPERAND_REGISTER;
	return parser->token.kind == TOKEN_WORD ? parse_selector(parser, operand) : 0;
}

static int parse_name(struct ptx_parser *parser, enum ptx_operand_context context,
		      struct gt_ptx_operand *operand)
{
	const struct ptx_token *token = &parser->token;
	const struct ptx_binding *binding;
	uint32_t index;

	if (context == OPERAND_LABEL)
		return parse_label_use(parser, operand);
	binding = ptx_lookup(parser, token->text, token->length, &index);
	if (binding)
		return parse_bound(parser, context, binding, index, operand);
	if (context == OPERAND_PROTOTYPE)
		return parse_label_use(parser, operand);
	if (ptx_at_identifier(parser, "_")) {
		operand->kind = GT_PTX_OPERAND_SINK;
		ptx_advance(parser);
		return 0;
	}
	if (!find_special(parser, operand))
		return ptx_unknown_name(parser, token);
	ptx_advance(parser);
	return parser->token.kind == TOKEN_WORD ? parse_selector(parser, operand) : 0;
}

static int parse_number(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	struct ptx_constant constant;
	int error = ptx_parse_constant(parser, &constant);

	if (error)
		return error;
	operand->integer = constant.bits;
	operand->is_unsigned = constant.is_unsigned;
	operand->kind = constant.is_warp_size               ? GT_PTX_OPERAND_WARP_SIZE
			: constant.kind == CONSTANT_INTEGER ? GT_PTX_OPERAND_INTEGER
			: constant.kind == CONSTANT_FLOAT32 ? GT_PTX_OPERAND_FLOAT32
							    : GT_PTX_OPERAND_FLOAT64;
	return 0;
}

/* The first item of [ … ]: the base of an offset. */
static int parse_base(struct ptx_parser *parser)
{
	struct gt_ptx_operand operand = {.position = parser->token.position};
	int error = parse_bare(parser, OPERAND_ANY, &operand);

	if (error)
		return error;
	if (operand.negated ||
	    (operand.kind != GT_PTX_OPERAND_REGISTER && operand.kind != GT_PTX_OPERAND_SYMBOL &&
	     operand.kind != GT_PTX_OPERAND_INTEGER))
		return ptx_fail_at(parser, &operand.position, -EINVAL,
				   "an address begins with a register, a symbol or a number");
	if (operand.kind == GT_PTX_OPERAND_REGISTER && operand.selector != GT_PTX_SELECT_OTHER)
		error = ptx_parse_offset(parser, &operand.offset);
	ptx_end_position(parser, &operand.position);
	return error ? error : push(parser, &operand);
}

static int parse_address(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	size_t mark = parser->operands.count;
	int error = ptx_nest(parser);

	if (!error)
		error = parse_base(parser);
	while (!error && ptx_take_symbol(parser, ',')) {
		if (parser->operands.count - mark >= GT_PTX_MAX_OPERANDS)
			error = ptx_fail_at(parser, &parser->token.position, -E2BIG,
					    "more than %d operands in an address",
					    GT_PTX_MAX_OPERANDS);
		else
			error = ptx_parse_operand(parser, OPERAND_ANY);
	}
	parser->nesting--;
	if (!error)
		error = ptx_expect_symbol(parser, ']', "']' after an address");
	operand->kind = GT_PTX_OPERAND_ADDRESS;
	return error ? error : ptx_keep_operands(parser, mark, &operand->items, &operand->count);
}

/* ! or - before a register, not before a constant */
static bool is_negated_register(const struct ptx_parser *parser)
{
	struct ptx_lexer ahead = parser->lexer;
	struct ptx_token token;

	if (!ptx_at_symbol(parser, '!') && !ptx_at_symbol(parser, '-'))
		return false;
	ahead.diag = NULL;
	ptx_lexer_next(&ahead, &token);
	return token.kind == TOKEN_IDENTIFIER &&
	       (token.length != 7 || memcmp(token.text, "WARP_SZ", 7) != 0);
}

/* ! negates predicates, - integers (of video instructions). */
static int parse_negated(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	struct gt_ptx_position position = parser->token.position;
	bool is_not = ptx_at_symbol(parser, '!'), is_predicate;
	int error;

	ptx_advance(parser);
	error = parse_name(parser, OPERAND_ANY, operand);
	if (error)
		return error;
	if (operand->kind != GT_PTX_OPERAND_REGISTER && operand->kind != GT_PTX_OPERAND_SPECIAL)
		return ptx_fail_at(parser, &position, -EINVAL, "only a register can be negated");
	is_predicate = (operand->kind == GT_PTX_OPERAND_REGISTER
				? operand->variable->type
				: gt_ptx_special_info(operand->special)->type) == GT_PTX_TYPE_PRED;
	if (is_not != is_predicate)
		return ptx_fail_at(parser, &position, -EINVAL,
				   is_not ? "'!' before a register that is not a predicate"
					  : "'-' stands before a predicate");
	operand->negated = true;
	return 0;
}

/* An operand that is not a pair. */
static int parse_bare(struct ptx_parser *parser, enum ptx_operand_context context,
		      struct gt_ptx_operand *operand)
{
	if (parser->token.kind == TOKEN_IDENTIFIER && !ptx_at_identifier(parser, "WARP_SZ"))
		return parse_name(parser, context, operand);
	if (ptx_take_symbol(parser, '['))
		return parse_address(parser, operand);
	if (ptx_take_symbol(parser, '{')) {
		operand->kind = GT_PTX_OPERAND_VECTOR;
		return ptx_parse_operand_list(parser, '}', "',' or '}' in a vector",
					      &operand->items, &operand->count);
	}
	if (is_negated_register(parser))
		return parse_negated(parser, operand);
	if (!ptx_at_constant(parser))
		return ptx_expected(parser, "an operand");
	return parse_number(parser, operand);
}

/* After p|: makes a pair of the operand on top of the stack and the next one. */
static int parse_second(struct ptx_parser *parser)
{
	size_t mark = parser->operands.count - 1;
	struct gt_ptx_operand pair = {.kind = GT_PTX_OPERAND_PAIR,
				      .position = parser->operands.items[mark].position};
	struct gt_ptx_operand second = {.position = parser->token.position};
	int error = parse_bare(parser, OPERAND_ANY, &second);

	if (error)
		return error;
	ptx_end_position(parser, &second.position);
	error = push(parser, &second);
	if (!error)
		error = ptx_keep_operands(parser, mark, &pair.items, &pair.count);
	if (error)
		return error;
	ptx_end_position(parser, &pair.position);
	return push(parser, &pair);
}

/* The sum of a register and a constant may be an operand: add.u32 %r1, %r2+4, %r3. */
static int parse_sum(struct ptx_parser *parser, struct gt_ptx_operand *operand)
{
	if (operand->kind != GT_PTX_OPERAND_REGISTER || operand->negated ||
	    operand->selector != GT_PTX_SELECT_NONE ||
	    operand->variable->type == GT_PTX_TYPE_PRED || !ptx_at_symbol(parser, '+'))
		return 0;
	return ptx_parse_offset(parser, &operand->offset);
}

int ptx_parse_operand(struct ptx_parser *parser, enum ptx_operand_context context)
{
	struct gt_ptx_operand operand = {.position = parser->token.position};
	int error = parse_bare(parser, context, &operand);

	if (!error)
		error = parse_sum(parser, &operand);
	if (error)
		return error;
	ptx_end_position(parser, &operand.position);
	error = push(parser, &operand);
	if (!error && ptx_take_symbol(parser, '|'))
		error = parse_second(parser);
	return error;
}
