/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/lexer.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER = 400 }; /* characters of a decimal floating-point number */

enum {
	CLASS_FOLLOW = 1, /* may follow in an identifier */
	CLASS_DIGIT = 2,
	CLASS_SPACE = 4,
};

static const uint8_t classes[256] = {
	['a' ... 'z'] = CLASS_FOLLOW,
	['A' ... 'Z'] = CLASS_FOLLOW,
	['0' ... '9'] = CLASS_FOLLOW | CLASS_DIGIT,
	['_'] = CLASS_FOLLOW,
	['$'] = CLASS_FOLLOW,
	[' '] = CLASS_SPACE,
	['\t'] = CLASS_SPACE,
	['\n'] = CLASS_SPACE,
	['\r'] = CLASS_SPACE,
	['\f'] = CLASS_SPACE,
	['\v'] = CLASS_SPACE,
};

static bool is_class(char character, int class)
{
	return classes[(unsigned char)character] & class;
}

static int digit_value(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	if (character >= 'A' && character <= 'F')
		return character - 'A' + 10;
	return 16;
}

gt_printf(4, 5) static void bad(struct ptx_lexer *lexer, struct ptx_token *token, int error,
				const char *format, ...)
{
	char place[32], text[256];
	va_list arguments;

	snprintf(place, sizeof(place), "%u:%u", token->position.line, token->position.column);
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	lexer->error = gt_diag(lexer->diag, error, "ptx", place, "%s", text);
	token->kind = TOKEN_BAD;
}

static void begin_token(const struct ptx_lexer *lexer, struct ptx_token *token)
{
	token->position.line = lexer->line;
	token->position.column = lexer->offset - lexer->line_start + 1;
	token->position.offset = lexer->offset;
	token->text = lexer->text + lexer->offset;
}

static void new_line(struct ptx_lexer *lexer)
{
	lexer->line++;
	lexer->line_start = lexer->offset + 1;
}

static bool skip_comment(struct ptx_lexer *lexer, struct ptx_token *token)
{
	const char *text = lexer->text;

	begin_token(lexer, token);
	for (lexer->offset += 2;; lexer->offset++) {
		if (!text[lexer->offset]) {
			bad(lexer, token, -EINVAL, "a comment is not terminated by */");
			return false;
		}
		if (text[lexer->offset] == '\n')
			new_line(lexer);
		if (text[lexer->offset] == '*' && text[lexer->offset + 1] == '/') {
			lexer->offset += 2;
			return true;
		}
	}
}

/* Skips white space, comments, and lines that begin with # (a preprocessor's line markers). */
static bool skip_space(struct ptx_lexer *lexer, struct ptx_token *token)
{
	const char *text = lexer->text;

	for (;;) {
		char character = text[lexer->offset];

		if (character == '\n') {
			new_line(lexer);
			lexer->offset++;
		} else if (is_class(character, CLASS_SPACE)) {
			lexer->offset++;
		} else if ((character == '/' && text[lexer->offset + 1] == '/') ||
			   (character == '#' && lexer->offset == lexer->line_start)) {
			lexer->offset += strcspn(text + lexer->offset, "\n");
		} else if (character == '/' && text[lexer->offset + 1] == '*') {
			if (!skip_comment(lexer, token))
				return false;
		} else {
			return true;
		}
	}
}

static void read_digits(struct ptx_lexer *lexer, struct ptx_token *token, unsigned int base)
{
	const char *text = lexer->text;
	uint32_t start = lexer->offset;
	int digit;

	for (; (digit = digit_value(text[lexer->offset])) < (int)base; lexer->offset++)
		if (__builtin_mul_overflow(token->bits, (uint64_t)base, &token->bits) ||
		    __builtin_add_overflow(token->bits, (uint64_t)digit, &token->bits)) {
			bad(lexer, token, -EINVAL, "a number does not fit into 64 bits");
			return;
		}
	if (lexer->offset == start) {
		bad(lexer, token, -EINVAL, "a number has no digits after \"%.2s\"", token->text);
		return;
	}
	if (text[lexer->offset] == 'U' || text[lexer->offset] == 'u') {
		token->is_unsigned = true;
		lexer->offset++;
	}
	token->kind = TOKEN_INTEGER;
	token->is_unsigned |= token->bits > INT64_MAX;
}

/* 0f or 0d and exactly 8 or 16 hexadecimal digits: the bits of a floating-point number. */
static void read_float_bits(struct ptx_lexer *lexer, struct ptx_token *token, int digits)
{
	lexer->offset += 2;
	for (int i = 0; i < digits; i++, lexer->offset++) {
		int digit = digit_value(lexer->text[lexer->offset]);

		if (digit > 15) {
			bad(lexer, token, -EINVAL,
			    "a number that begins with \"%.2s\" has %d hexadecimal digits, not %d",
			    token->text, i, digits);
			return;
		}
		token->bits = token->bits << 4 | (unsigned int)digit;
	}
	token->kind = digits == 8 ? TOKEN_FLOAT32 : TOKEN_FLOAT64;
}

/* The length of a decimal floating-point number, or 0 if it is an integer. */
static size_t decimal_float_length(const char *text)
{
	size_t length = 0, exponent;
	bool is_float = false;

	while (is_class(text[length], CLASS_DIGIT))
		length++;
	if (text[length] == '.') {
		is_float = true;
		for (length++; is_class(text[length], CLASS_DIGIT);)
			length++;
	}
	if (text[length] == 'e' || text[length] == 'E') {
		exponent = length + 1;
		if (text[exponent] == '+' || text[exponent] == '-')
			exponent++;
		if (is_class(text[exponent], CLASS_DIGIT)) {
			is_float = true;
			for (length = exponent; is_class(text[length], CLASS_DIGIT);)
				length++;
		}
	}
	return is_float ? length : 0;
}

static void read_decimal_float(struct ptx_lexer *lexer, struct ptx_token *token, size_t length)
{
	char digits[MAX_NUMBER + 1];
	locale_t plain;
	double value;

	if (length > MAX_NUMBER) {
		bad(lexer, token, -E2BIG, "a number has more than %d characters", MAX_NUMBER);
		return;
	}
	memcpy(digits, token->text, length);
	digits[length] = 0;
	plain = newlocale(LC_ALL_MASK, "C", NULL);
	if (!plain) {
		bad(lexer, token, -ENOMEM, "out of memory");
		return;
	}
	value = strtod_l(digits, NULL, plain);
	freelocale(plain);
	memcpy(&token->bits, &value, sizeof(value));
	token->kind = TOKEN_FLOAT64;
	lexer->offset += (uint32_t)length;
}

static void read_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
	char second = lexer->text[lexer->offset + 1];
	size_t length;

	if (lexer->text[lexer->offset] != '0') {
		second = 0;
	} else if (second == 'x' || second == 'X' || second == 'b' || second == 'B') {
		lexer->offset += 2;
		read_digits(lexer, token, second == 'x' || second == 'X' ? 16 : 2);
		return;
	} else if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
		read_float_bits(lexer, token, second == 'f' || second == 'F' ? 8 : 16);
		return;
	}
	length = decimal_float_length(lexer->text + lexer->offset);
	if (length)
		read_decimal_float(lexer, token, length);
	else
		read_digits(lexer, token, is_class(second, CLASS_DIGIT) ? 8 : 10);
}

static void read_identifier(struct ptx_lexer *lexer, struct ptx_token *token)
{
	uint32_t start = lexer->offset++;

	while (is_class(lexer->text[lexer->offset], CLASS_FOLLOW))
		lexer->offset++;
	token->kind = TOKEN_IDENTIFIER;
	if (lexer->offset - start > GT_PTX_MAX_IDENTIFIER)
		bad(lexer, token, -E2BIG, "a name is longer than %d bytes", GT_PTX_MAX_IDENTIFIER);
}

static void read_word(struct ptx_lexer *lexer, struct ptx_token *token)
{
	const char *text = lexer->text;
	uint32_t start = lexer->offset++;

	for (;;) {
		if (is_class(text[lexer->offset], CLASS_FOLLOW))
			lexer->offset++;
		else if (text[lexer->offset] == ':' && text[lexer->offset + 1] == ':' &&
			 is_class(text[lexer->offset + 2], CLASS_FOLLOW))
			lexer->offset += 3;
		else
			break;
	}
	token->kind = TOKEN_WORD;
	if (lexer->offset - start > GT_PTX_MAX_IDENTIFIER)
		bad(lexer, token, -E2BIG, "a name is longer than %d bytes", GT_PTX_MAX_IDENTIFIER);
}

static void read_string(struct ptx_lexer *lexer, struct ptx_token *token)
{
	const char *text = lexer->text;

	for (lexer->offset++; text[lexer->offset] != '"'; lexer->offset++) {
		if (text[lexer->offset] == '\\' && text[lexer->offset + 1] == '"')
			lexer->offset++;
		if (!text[lexer->offset] || text[lexer->offset] == '\n') {
			bad(lexer, token, -EINVAL, "a string is not terminated by \" on its line");
			return;
		}
	}
	lexer->offset++;
	token->kind = TOKEN_STRING;
}

static void read_punctuation(struct ptx_lexer *lexer, struct ptx_token *token)
{
	static const struct {
		char text[3];
		int symbol;
	} pairs[] = {
		{"<<", SYMBOL_SHIFT_LEFT},    {">>", SYMBOL_SHIFT_RIGHT}, {"<=", SYMBOL_LESS_EQUAL},
		{">=", SYMBOL_GREATER_EQUAL}, {"==", SYMBOL_EQUAL},       {"!=", SYMBOL_NOT_EQUAL},
		{"&&", SYMBOL_AND},           {"||", SYMBOL_OR},
	};
	const char *text = lexer->text + lexer->offset;

	token->kind = TOKEN_PUNCTUATION;
	for (size_t i = 0; i < gt_countof(pairs); i++)
		if (text[0] == pairs[i].text[0] && text[1] == pairs[i].text[1]) {
			token->symbol = pairs[i].symbol;
			lexer->offset += 2;
			return;
		}
	if (!strchr("@!|&^~?:;,.()[]{}<>=+-*/%", text[0])) {
		bad(lexer, token, -EINVAL, "unexpected character 0x%02x", (unsigned char)text[0]);
		return;
	}
	token->symbol = (unsigned char)text[0];
	lexer->offset++;
}

static void end_token(const struct ptx_lexer *lexer, struct ptx_token *token)
{
	token->position.length = lexer->offset - token->position.offset;
	token->length = token->position.length;
	if (token->kind == TOKEN_STRING) {
		token->text++;
		token->length -= 2;
	}
}

void ptx_lexer_next(struct ptx_lexer *lexer, struct ptx_token *ret_token)
{
	struct ptx_token *token = ret_token;
	char character;

	*token = (struct ptx_token){.kind = TOKEN_END};
	begin_token(lexer, token);
	if (lexer->error) {
		token->kind = TOKEN_BAD;
		return;
	}
	if (!skip_space(lexer, token))
		return;
	begin_token(lexer, token);
	character = lexer->text[lexer->offset];
	if (!character)
		return;
	if (is_class(character, CLASS_DIGIT))
		read_number(lexer, token);
	else if (is_class(character, CLASS_FOLLOW))
		read_identifier(lexer, token);
	else if (character == '%' && is_class(lexer->text[lexer->offset + 1], CLASS_FOLLOW))
		read_identifier(lexer, token);
	else if (character == '.' && is_class(lexer->text[lexer->offset + 1], CLASS_FOLLOW))
		read_word(lexer, token);
	else if (character == '"')
		read_string(lexer, token);
	else
		read_punctuation(lexer, token);
	end_token(lexer, token);
}

bool ptx_lexer_reread_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
	if (token->kind != TOKEN_WORD || !is_class(token->text[1], CLASS_DIGIT))
		return false;
	lexer->offset = token->position.offset;
	token->bits = 0;
	read_number(lexer, token);
	end_token(lexer, token);
	return token->kind == TOKEN_FLOAT64;
}
