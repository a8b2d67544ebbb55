/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Constant expressions (PTX ISA 9.0, 4.5): C's operators on 64-bit integers and doubles. */
#include <errno.h>
#include <string.h>

#include "base/launch_limits.h"
#include "ptx/parser.h"

static const struct {
	int symbol;
	int precedence; /* higher binds tighter */
} operators[] = {
	{SYMBOL_OR, 1},
	{SYMBOL_AND, 2},
	{'|', 3},
	{'^', 4},
	{'&', 5},
	{SYMBOL_EQUAL, 6},
	{SYMBOL_NOT_EQUAL, 6},
	{'<', 7},
	{'>', 7},
	{SYMBOL_LESS_EQUAL, 7},
	{SYMBOL_GREATER_EQUAL, 7},
	{SYMBOL_SHIFT_LEFT, 8},
	{SYMBOL_SHIFT_RIGHT, 8},
	{'+', 9},
	{'-', 9},
	{'*', 10},
	{'/', 10},
	{'%', 10},
};

static int parse_conditional(struct ptx_parser *parser, struct ptx_constant *ret);

static int precedence_of(const struct ptx_token *token)
{
	if (token->kind != TOKEN_PUNCTUATION)
		return 0;
	for (size_t i = 0; i < gt_countof(operators); i++)
		if (operators[i].symbol == token->symbol)
			return operators[i].precedence;
	return 0;
}

bool ptx_at_constant(const struct ptx_parser *parser)
{
	const struct ptx_token *token = &parser->token;

	switch (token->kind) {
	case TOKEN_INTEGER:
	case TOKEN_FLOAT32:
	case TOKEN_FLOAT64:
		return true;
	case TOKEN_WORD:
		return token->text[1] >= '0' && token->text[1] <= '9';
	case TOKEN_PUNCTUATION:
		return token->symbol == '(' || token->symbol == '-' || token->symbol == '+' ||
		       token->symbol == '~' || token->symbol == '!';
	case TOKEN_IDENTIFIER:
		return ptx_at_identifier(parser, "WARP_SZ");
	default:
		return false;
	}
}

static struct ptx_constant make_integer(uint64_t bits, bool is_unsigned)
{
	return (struct ptx_constant){CONSTANT_INTEGER, is_unsigned, false, bits};
}

static struct ptx_constant make_double(double value)
{
	struct ptx_constant constant = {.kind = CONSTANT_FLOAT64};

	memcpy(&constant.bits, &value, sizeof(value));
	return constant;
}

static double as_double(const struct ptx_constant *constant)
{
	uint32_t low = (uint32_t)constant->bits;
	double wide;
	float narrow;

	switch (constant->kind) {
	case CONSTANT_FLOAT32:
		memcpy(&narrow, &low, sizeof(narrow));
		return narrow;
	case CONSTANT_FLOAT64:
		memcpy(&wide, &constant->bits, sizeof(wide));
		return wide;
	default:
		return constant->is_unsigned ? (double)constant->bits
					     : (double)(int64_t)constant->bits;
	}
}

static bool is_true(const struct ptx_constant *constant)
{
	return constant->kind == CONSTANT_INTEGER ? constant->bits != 0 : as_double(constant) != 0;
}

static int apply_doubles(struct ptx_parser *parser, const struct ptx_token *operator, double a,
			 double b, struct ptx_constant *ret)
{
	switch (operator->symbol) {
	case '+':
		*ret = make_double(a + b);
		return 0;
	case '-':
		*ret = make_double(a - b);
		return 0;
	case '*':
		*ret = make_double(a * b);
		return 0;
	case '/':
		*ret = make_double(a / b);
		return 0;
	case '<':
		*ret = make_integer(a < b, false);
		return 0;
	case '>':
		*ret = make_integer(a > b, false);
		return 0;
	case SYMBOL_LESS_EQUAL:
		*ret = make_integer(a <= b, false);
		return 0;
	case SYMBOL_GREATER_EQUAL:
		*ret = make_integer(a >= b, false);
		return 0;
	case SYMBOL_EQUAL:
		*ret = make_integer(a == b, false);
		return 0;
	case SYMBOL_NOT_EQUAL:
		*ret = make_integer(a != b, false);
		return 0;
	default:
		return ptx_fail_at(parser, &operator->position, -EINVAL,
				   "the operator \"%.*s\" takes integers only",
				   (int)operator->length, operator->text);
	}
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_unsigned)
{
	if (is_unsigned)
		return a / b;
	if (b == UINT64_MAX) /* -1: INT64_MIN / -1 does not fit */
		return -a;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

/* ptxas uses the low 6 bits of the count of a shift. */
static uint64_t shift_right(uint64_t a, uint64_t count, bool is_unsigned)
{
	return is_unsigned ? a >> (count & 63) : (uint64_t)((int64_t)a >> (count & 63));
}

static bool less(uint64_t a, uint64_t b, bool is_unsigned)
{
	return is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

static uint64_t apply_integers(int symbol, uint64_t a, uint64_t b, bool is_unsigned)
{
	switch (symbol) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return divide(a, b, is_unsigned);
	case '%': /* of unsigned numbers, whatever the operands are */
		return a % b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '&':
		return a & b;
	case SYMBOL_SHIFT_LEFT:
		return a << (b & 63);
	case SYMBOL_SHIFT_RIGHT:
		return shift_right(a, b, is_unsigned);
	case '<':
		return less(a, b, is_unsigned);
	case '>':
		return less(b, a, is_unsigned);
	case SYMBOL_LESS_EQUAL:
		return !less(b, a, is_unsigned);
	case SYMBOL_GREATER_EQUAL:
		return !less(a, b, is_unsigned);
	case SYMBOL_EQUAL:
		return a == b;
	default:
		return a != b;
	}
}

static int apply(struct ptx_parser *parser, const struct ptx_token *operator,
		 const struct ptx_constant * left, const struct ptx_constant *right,
		 struct ptx_constant *ret)
{
	int symbol = operator->symbol, precedence = precedence_of(operator);
	bool is_unsigned = left->is_unsigned || right->is_unsigned;

	if (symbol == SYMBOL_OR || symbol == SYMBOL_AND) {
		*ret = make_integer(symbol == SYMBOL_OR ? is_true(left) || is_true(right)
							: is_true(left) && is_true(right),
				    false);
		return 0;
	}
	if (left->kind != CONSTANT_INTEGER || right->kind != CONSTANT_INTEGER)
		return apply_doubles(parser, operator, as_double(left), as_double(right), ret);
	if ((symbol == '/' || symbol == '%') && !right->bits)
		return ptx_fail_at(parser, &operator->position, -EINVAL, "division by zero");
	if (symbol == SYMBOL_SHIFT_LEFT || symbol == SYMBOL_SHIFT_RIGHT)
		is_unsigned = left->is_unsigned;
	if (symbol == '%')
		is_unsigned = true;
	*ret = make_integer(apply_integers(symbol, left->bits, right->bits, is_unsigned),
			    is_unsigned && (precedence < 6 || precedence > 7));
	return 0;
}

static int parse_literal(struct ptx_parser *parser, struct ptx_constant *ret)
{
	struct ptx_token *token = &parser->token;

	if (token->kind == TOKEN_WORD && !ptx_lexer_reread_number(&parser->lexer, token))
		return ptx_expected(parser, "a number");
	switch (token->kind) {
	case TOKEN_INTEGER:
		*ret = make_integer(token->bits, token->is_unsigned);
		break;
	case TOKEN_FLOAT32:
		*ret = (struct ptx_constant){CONSTANT_FLOAT32, false, false, token->bits};
		break;
	case TOKEN_FLOAT64:
		*ret = (struct ptx_constant){CONSTANT_FLOAT64, false, false, token->bits};
		break;
	case TOKEN_IDENTIFIER:
		if (!ptx_at_identifier(parser, "WARP_SZ"))
			return ptx_expected(parser, "a number");
		*ret = (struct ptx_constant){CONSTANT_INTEGER, false, true, GT_WARP_SIZE};
		break;
	default:
		return ptx_expected(parser, "a number");
	}
	ptx_advance(parser);
	return 0;
}

static void apply_unary(int symbol, struct ptx_constant *constant)
{
	constant->is_warp_size = false;
	if (symbol == '!')
		*constant = make_integer(!is_true(constant), false);
	else if (symbol == '-' && constant->kind == CONSTANT_INTEGER)
		constant->bits = -constant->bits;
	else if (symbol == '-' && constant->kind == CONSTANT_FLOAT32)
		constant->bits ^= 1u << 31;
	else if (symbol == '-')
		constant->bits ^= UINT64_C(1) << 63;
	else if (symbol == '~')
		*constant = make_integer(~constant->bits, true);
}

static int parse_unary(struct ptx_parser *parser, struct ptx_constant *ret);

/* After `(`: an expression in parentheses, or a cast and its operand. */
static int parse_parenthesis(struct ptx_parser *parser, struct ptx_constant *ret)
{
	bool to_signed = ptx_at_word(parser, ".s64"), to_unsigned = ptx_at_word(parser, ".u64");
	int error;

	if (!to_signed && !to_unsigned) {
		error = parse_conditional(parser, ret);
		if (!error)
			error = ptx_expect_symbol(parser, ')', "')'");
		ret->is_warp_size = false;
		return error;
	}
	ptx_advance(parser);
	error = ptx_expect_symbol(parser, ')', "')' after the type of a cast");
	if (!error)
		error = parse_unary(parser, ret);
	if (error)
		return error;
	if (ret->kind != CONSTANT_INTEGER) {
		double value = as_double(ret);

		if (!(value > -9.3e18 && value < 9.2e18))
			return ptx_expected(parser, "a number that fits into 64 bits to be cast");
		ret->bits = (uint64_t)(int64_t)value;
	}
	*ret = make_integer(ret->bits, to_unsigned);
	return 0;
}

static int parse_unary(struct ptx_parser *parser, struct ptx_constant *ret)
{
	struct ptx_token *token = &parser->token;
	int symbol = token->kind == TOKEN_PUNCTUATION ? token->symbol : 0, error;
	struct gt_ptx_position position = token->position;

	if (!symbol)
		return parse_literal(parser, ret);
	if (!strchr("(+-!~", symbol))
		return ptx_expected(parser, "a number");
	error = ptx_nest(parser);
	if (error)
		return error;
	ptx_advance(parser);
	if (symbol == '(') {
		error = parse_parenthesis(parser, ret);
	} else {
		error = parse_unary(parser, ret);
		if (!error && symbol == '~' && ret->kind != CONSTANT_INTEGER)
			error = ptx_fail_at(parser, &position, -EINVAL,
					    "the operator \"~\" takes integers only");
		if (!error)
			apply_unary(symbol, ret);
	}
	parser->nesting--;
	return error;
}

/* Precedence climbing: operators of at least precedence `min`. */
static int parse_binary(struct ptx_parser *parser, int min, struct ptx_constant *ret)
{
	struct ptx_constant left = {0}, right = {0};
	int precedence, error = parse_unary(parser, &left);

	while (!error && (precedence = precedence_of(&parser->token)) >= min) {
		struct ptx_token operator= parser->token;

		ptx_advance(parser);
		error = parse_binary(parser, precedence + 1, &right);
		if (!error)
			error = apply(parser, &operator, & left, &right, &left);
	}
	if (!error)
		*ret = left;
	return error;
}

static int parse_conditional(struct ptx_parser *parser, struct ptx_constant *ret)
{
	struct ptx_constant condition = {0}, yes = {0}, no = {0};
	int error = parse_binary(parser, 1, &condition);

	if (error)
		return error;
	if (!ptx_at_symbol(parser, '?')) {
		*ret = condition;
		return 0;
	}
	error = ptx_nest(parser);
	if (error)
		return error;
	ptx_advance(parser);
	error = parse_conditional(parser, &yes);
	if (!error)
		error = ptx_expect_symbol(parser, ':', "':' of a conditional expression");
	if (!error)
		error = parse_conditional(parser, &no);
	parser->nesting--;
	if (error)
		return error;
	*ret = is_true(&condition) ? yes : no;
	ret->is_warp_size = false;
	return 0;
}

int ptx_parse_constant(struct ptx_parser *parser, struct ptx_constant *ret_constant)
{
	struct ptx_constant constant = {0};
	int error = parse_conditional(parser, &constant);

	if (error)
		return error;
	/* -2^63 has no literal: it is read, and stored, as unsigned. */
	if (constant.kind == CONSTANT_INTEGER && constant.bits == UINT64_C(1) << 63)
		constant.is_unsigned = true;
	*ret_constant = constant;
	return 0;
}

int ptx_parse_offset(struct ptx_parser *parser, int64_t *ret_offset)
{
	uint64_t sum = 0;

	while (ptx_at_symbol(parser, '+') || ptx_at_symbol(parser, '-')) {
		struct gt_ptx_position position;
		struct ptx_constant constant;
		int error;

		ptx_take_symbol(parser, '+');
		position = parser->token.position;
		error = ptx_parse_constant(parser, &constant);
		if (error)
			return error;
		if (constant.kind != CONSTANT_INTEGER)
			return ptx_fail_at(parser, &position, -EINVAL,
					   "an offset is an integer, in bytes");
		sum += constant.bits;
	}
	*ret_offset = (int64_t)sum;
	return 0;
}
