/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { QUOTED = 60 }; /* bytes of a token in a message */

void ptx_advance(struct ptx_parser *parser)
{
	parser->previous_end = parser->token.position.offset + parser->token.position.length;
	ptx_lexer_next(&parser->lexer, &parser->token);
}

int ptx_fail_at(struct ptx_parser *parser, const struct gt_ptx_position *position, int error,
		const char *format, ...)
{
	char place[32], text[sizeof(parser->diag->text)];
	va_list arguments;

	if (parser->lexer.error)
		return parser->lexer.error;
	snprintf(place, sizeof(place), "%u:%u", position->line, position->column);
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return gt_diag(parser->diag, error, "ptx", place, "%s", text);
}

int ptx_expected(struct ptx_parser *parser, const char *what)
{
	const struct gt_ptx_position *position = &parser->token.position;
	uint32_t length = position->length;

	if (parser->token.kind == TOKEN_END)
		return ptx_fail_at(parser, position, -EINVAL,
				   "expected %s, found the end of the text", what);
	return ptx_fail_at(parser, position, -EINVAL, "expected %s, found \"%.*s\"%s", what,
			   (int)(length > QUOTED ? QUOTED : length),
			   parser->module->text + position->offset, length > QUOTED ? "…" : "");
}

int ptx_no_memory(struct ptx_parser *parser)
{
	if (!parser->arena->is_over_limit)
		return ptx_fail_at(parser, &parser->token.position, -ENOMEM, "out of memory");
	return ptx_fail_at(parser, &parser->token.position, -E2BIG,
			   "the module needs more than %d MiB of memory", GT_PTX_MAX_MEMORY >> 20);
}

void *ptx_take(struct ptx_parser *parser, size_t size)
{
	void *taken = ptx_arena_take(parser->arena, size);

	if (!taken)
		ptx_no_memory(parser);
	return taken;
}

int ptx_keep(struct ptx_parser *parser, const void *items, size_t start, size_t count,
	     size_t item_size, const void *ret_items)
{
	void *kept;

	if (!count)
		return 0;
	kept = ptx_arena_take(parser->arena, count * item_size);
	if (!kept)
		return ptx_no_memory(parser);
	memcpy(kept, (const char *)items + start * item_size, count * item_size);
	memcpy((void *)ret_items, &kept, sizeof(kept));
	return 0;
}

bool ptx_take_symbol(struct ptx_parser *parser, int symbol)
{
	if (!ptx_at_symbol(parser, symbol))
		return false;
	ptx_advance(parser);
	return true;
}

bool ptx_at_word(const struct ptx_parser *parser, const char *word)
{
	return parser->token.kind == TOKEN_WORD && parser->token.length == strlen(word) &&
	       !memcmp(parser->token.text, word, parser->token.length);
}

bool ptx_take_word(struct ptx_parser *parser, const char *word)
{
	if (!ptx_at_word(parser, word))
		return false;
	ptx_advance(parser);
	return true;
}

bool ptx_at_identifier(const struct ptx_parser *parser, const char *text)
{
	return parser->token.kind == TOKEN_IDENTIFIER && parser->token.length == strlen(text) &&
	       !memcmp(parser->token.text, text, parser->token.length);
}

int ptx_expect_symbol(struct ptx_parser *parser, int symbol, const char *what)
{
	return ptx_take_symbol(parser, symbol) ? 0 : ptx_expected(parser, what);
}

int ptx_expect_identifier(struct ptx_parser *parser, const char *what, struct ptx_name **ret_name,
			  struct gt_ptx_position *ret_position)
{
	struct ptx_name *name;

	if (parser->token.kind != TOKEN_IDENTIFIER)
		return ptx_expected(parser, what);
	name = ptx_names_intern(&parser->names, parser->token.text, parser->token.length);
	if (!name)
		return ptx_no_memory(parser);
	if (ret_position)
		*ret_position = parser->token.position;
	ptx_advance(parser);
	*ret_name = name;
	return 0;
}

int ptx_expect_u64(struct ptx_parser *parser, const char *what, uint64_t *ret_value)
{
	if (parser->token.kind != TOKEN_INTEGER)
		return ptx_expected(parser, what);
	*ret_value = parser->token.bits;
	ptx_advance(parser);
	return 0;
}

int ptx_expect_u32(struct ptx_parser *parser, const char *what, uint32_t *ret_value)
{
	if (parser->token.kind != TOKEN_INTEGER)
		return ptx_expected(parser, what);
	if (parser->token.bits > UINT32_MAX)
		return ptx_fail_at(parser, &parser->token.position, -EINVAL,
				   "%s does not fit into 32 bits", what);
	*ret_value = (uint32_t)parser->token.bits;
	ptx_advance(parser);
	return 0;
}

int ptx_expect_string(struct ptx_parser *parser, const char *what, const char **ret_text)
{
	struct ptx_name *name;

	if (parser->token.kind != TOKEN_STRING)
		return ptx_expected(parser, what);
	name = ptx_names_intern(&parser->names, parser->token.text, parser->token.length);
	if (!name)
		return ptx_no_memory(parser);
	ptx_advance(parser);
	*ret_text = name->text;
	return 0;
}

int ptx_nest(struct ptx_parser *parser)
{
	if (parser->nesting >= GT_PTX_MAX_NESTING)
		return ptx_fail_at(parser, &parser->token.position, -E2BIG,
				   "more than %d levels within each other", GT_PTX_MAX_NESTING);
	parser->nesting++;
	return 0;
}

void ptx_end_position(const struct ptx_parser *parser, struct gt_ptx_position *position)
{
	position->length = parser->previous_end - position->offset;
}
