/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lexer (PTX ISA 9.0, chapter 4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "ptx/ptx.h"

enum ptx_token_kind {
	TOKEN_END,
	TOKEN_BAD,         /* the message is in the lexer's diag, the error in the lexer */
	TOKEN_IDENTIFIER,  /* foo %r1 $L__BB0_1 _ */
	TOKEN_WORD,        /* with its dot: .global .L2::128B; in an operand also ".5" */
	TOKEN_INTEGER,     /* bits, is_unsigned */
	TOKEN_FLOAT32,     /* bits */
	TOKEN_FLOAT64,     /* bits */
	TOKEN_STRING,      /* text without its quotes */
	TOKEN_PUNCTUATION, /* symbol */
};

/* Punctuation of two characters; a single character is its own symbol. */
enum {
	SYMBOL_SHIFT_LEFT = 256,
	SYMBOL_SHIFT_RIGHT,
	SYMBOL_LESS_EQUAL,
	SYMBOL_GREATER_EQUAL,
	SYMBOL_EQUAL,
	SYMBOL_NOT_EQUAL,
	SYMBOL_AND,
	SYMBOL_OR,
};

struct ptx_token {
	enum ptx_token_kind kind;
	int symbol;
	bool is_unsigned;
	struct gt_ptx_position position; /* as written, including quotes */
	const char *text;                /* points into the text */
	uint32_t length;
	uint64_t bits;
};

struct ptx_lexer {
	const char *text; /* NUL-terminated */
	uint32_t length;
	uint32_t offset;
	uint32_t line;
	uint32_t line_start; /* offset */
	struct gt_diag *diag;
	int error; /* of the first TOKEN_BAD */
};

/* Reads the next token. After a TOKEN_BAD all tokens are bad. */
void ptx_lexer_next(struct ptx_lexer *lexer, struct ptx_token *ret_token);

/* Reads a TOKEN_WORD again as a number (".5"); false if it is not one. */
bool ptx_lexer_reread_number(struct ptx_lexer *lexer, struct ptx_token *token);
