/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the parts of the parser share. Every function that returns int returns 0 or -Exxx and
 * has then set the diag; parsing stops at the first error.
 */
#pragma once

#include "base/vec.h"
#include "ptx/lexer.h"
#include "ptx/names.h"

enum { MAX_SCOPES = GT_PTX_MAX_NESTING + 3 };

/* A label that was used and not yet found; moves outward as blocks end. */
struct ptx_pending_label {
	struct ptx_name *name;
	struct gt_ptx_operand *operand; /* at its final place */
	struct gt_ptx_position position;
};

/* A label with what the scopes need: the one it hides, the others of its block. */
struct ptx_scoped_label {
	struct gt_ptx_label label;
	struct gt_ptx_label *hidden;
	struct ptx_scoped_label *in_block;
};

/* A module with the memory it lives in. */
struct ptx_owned_module {
	struct gt_ptx_module module; /* first: a pointer to it is one to the whole */
	struct ptx_arena arena;
};

struct ptx_parser {
	struct gt_ptx_module *module;
	struct ptx_arena *arena;
	struct gt_diag *diag;
	struct ptx_lexer lexer;
	struct ptx_token token; /* the next one, not yet taken */
	uint32_t previous_end;  /* offset after the token taken last */
	struct ptx_names names;

	struct ptx_binding *scopes[MAX_SCOPES];
	uint32_t depth;   /* of the innermost scope */
	uint32_t nesting; /* of initialisers, parentheses and braces in operands */

	struct gt_ptx_function *function; /* being parsed, or NULL */
	struct gt_ptx_block *block;
	struct ptx_scoped_label *block_labels; /* of the innermost block */
	struct gt_ptx_label **last_label;
	struct gt_ptx_function **last_function;
	struct gt_ptx_file **last_file;
	struct gt_ptx_item **last_item;

	/* Lists whose length is not known yet; taken as stacks, because they nest. */
	GT_VEC(struct gt_ptx_operand) operands;
	GT_VEC(struct gt_ptx_initializer) initializers;
	GT_VEC(struct ptx_pending_label) pending;
	GT_VEC(const struct gt_ptx_form *) forms;
	GT_VEC(const char *) strings;
	GT_VEC(struct gt_ptx_section_value) section_values;
};

/* ---- tokens and messages (parser.c) ---------------------------------------------------- */

/* Takes the token: the next one is in parser->token. */
void ptx_advance(struct ptx_parser *parser);
/* "line:column" and a message; returns the error. */
int ptx_fail_at(struct ptx_parser *parser, const struct gt_ptx_position *position, int error,
		const char *format, ...) gt_printf(4, 5);
/* "expected <what>, found <the next token>". */
int ptx_expected(struct ptx_parser *parser, const char *what);
/* Out of memory, or the module's limit. */
int ptx_no_memory(struct ptx_parser *parser);
/* Memory of the module; NULL after having set the message. */
void *ptx_take(struct ptx_parser *parser, size_t size);
/*
 * A copy in the module of items[start] and the count - 1 after it. ret_items: the address of a
 * pointer to such items, which stays as it is for none.
 */
int ptx_keep(struct ptx_parser *parser, const void *items, size_t start, size_t count,
	     size_t item_size, const void *ret_items);

static inline bool ptx_at_symbol(const struct ptx_parser *parser, int symbol)
{
	return parser->token.kind == TOKEN_PUNCTUATION && parser->token.symbol == symbol;
}
/* Takes the token if it is this one. */
bool ptx_take_symbol(struct ptx_parser *parser, int symbol);
bool ptx_at_word(const struct ptx_parser *parser, const char *word);
bool ptx_take_word(struct ptx_parser *parser, const char *word);
bool ptx_at_identifier(const struct ptx_parser *parser, const char *text);
/* what: the description for the message, such as "',' after the target". */
int ptx_expect_symbol(struct ptx_parser *parser, int symbol, const char *what);
int ptx_expect_identifier(struct ptx_parser *parser, const char *what, struct ptx_name **ret_name,
			  struct gt_ptx_position *ret_position);
int ptx_expect_u32(struct ptx_parser *parser, const char *what, uint32_t *ret_value);
int ptx_expect_u64(struct ptx_parser *parser, const char *what, uint64_t *ret_value);
int ptx_expect_string(struct ptx_parser *parser, const char *what, const char **ret_text);
/* One level deeper within braces or parentheses; -E2BIG if that is too deep. */
int ptx_nest(struct ptx_parser *parser);
/* position->length: from its offset to the end of the token taken last. */
void ptx_end_position(const struct ptx_parser *parser, struct gt_ptx_position *position);

/* ---- scopes (scope.c) ------------------------------------------------------------------ */

int ptx_scope_enter(struct ptx_parser *parser);
void ptx_scope_leave(struct ptx_parser *parser);
int ptx_bind_variable(struct ptx_parser *parser, struct gt_ptx_variable *variable);
int ptx_bind_function(struct ptx_parser *parser, struct gt_ptx_function *function);
/*
 * What a name means here: its innermost binding, or NULL. For a member of a range, %r7 of
 * %r<10>, *ret_index is its index, else 0.
 */
const struct ptx_binding *ptx_lookup(const struct ptx_parser *parser, const char *text,
				     size_t length, uint32_t *ret_index);
/* The message for a name that means nothing. */
int ptx_unknown_name(struct ptx_parser *parser, const struct ptx_token *token);

int ptx_label_declare(struct ptx_parser *parser, struct ptx_name *name,
		      const struct gt_ptx_position *position, struct gt_ptx_label **ret_label);
/*
 * At the end of a block: forgets its labels and resolves what was used since pending_mark;
 * what is not found stays for the outer block.
 */
int ptx_labels_leave_block(struct ptx_parser *parser, struct gt_ptx_block *block,
			   size_t pending_mark);

/* ---- constants (expression.c) ---------------------------------------------------------- */

enum ptx_constant_kind {
	CONSTANT_INTEGER,
	CONSTANT_FLOAT32,
	CONSTANT_FLOAT64,
};

struct ptx_constant {
	enum ptx_constant_kind kind;
	bool is_unsigned;
	bool is_warp_size; /* WARP_SZ alone */
	uint64_t bits;
};

/* Whether a constant may begin with the next token. */
bool ptx_at_constant(const struct ptx_parser *parser);
int ptx_parse_constant(struct ptx_parser *parser, struct ptx_constant *ret_constant);
/* + constant, + constant …, as far as they go: the sum in bytes. */
int ptx_parse_offset(struct ptx_parser *parser, int64_t *ret_offset);

/* ---- declarations (variable.c, initializer.c) ------------------------------------------ */

/* Whether a declaration of variables begins with the next token (linkage not looked at). */
bool ptx_at_variables(const struct ptx_parser *parser);
/* .reg .b32 %r<10>, x; up to the `;`. The list goes to *ret_variables. */
int ptx_parse_variables(struct ptx_parser *parser, enum gt_ptx_linkage linkage,
			struct gt_ptx_variable **ret_variables);
/* One parameter of a function. */
int ptx_parse_parameter(struct ptx_parser *parser, struct gt_ptx_variable **ret_variable);
/* ( .managed, .unified(1, 2) ) after .attribute */
int ptx_parse_attributes(struct ptx_parser *parser, bool *ret_managed, bool *ret_unified,
			 uint64_t *unified);
/* After the `=`. */
int ptx_parse_initializer(struct ptx_parser *parser, struct gt_ptx_variable *variable);

/* ---- functions (function.c, statement.c, operand.c, instruction.c) --------------------- */

/* .entry or .func, which is the next token. start: where its linkage stands. */
int ptx_parse_function(struct ptx_parser *parser, enum gt_ptx_linkage linkage,
		       const struct gt_ptx_position *start, struct gt_ptx_function **ret_function);
/* After .callprototype, up to the `;`. */
int ptx_parse_prototype(struct ptx_parser *parser, const char *name,
			struct gt_ptx_function **ret_function);
int ptx_parse_pragma(struct ptx_parser *parser, const struct gt_ptx_pragma **ret_pragma);
int ptx_parse_body(struct ptx_parser *parser, struct gt_ptx_function *function);

/* The opcode is taken already and in *opcode; up to the `;`. */
int ptx_parse_instruction(struct ptx_parser *parser, const struct ptx_token *opcode,
			  struct gt_ptx_instruction *instruction);
int ptx_parse_guard(struct ptx_parser *parser, const struct gt_ptx_operand **ret_guard);

/* What an identifier may be that is no register. */
enum ptx_operand_context {
	OPERAND_ANY,
	OPERAND_MEMORY,    /* the same; symbol[2] is what is there, not its address */
	OPERAND_LABEL,     /* a label, whatever else has its name */
	OPERAND_PROTOTYPE, /* an array of functions, else a label */
};

/* Pushes one operand to parser->operands. */
int ptx_parse_operand(struct ptx_parser *parser, enum ptx_operand_context context);
/* Takes the operands since `mark` off the stack and keeps them in the module. */
int ptx_keep_operands(struct ptx_parser *parser, size_t mark,
		      const struct gt_ptx_operand **ret_items, uint32_t *ret_count);
/* operand, operand … up to `close`, which is taken; at least none. */
int ptx_parse_operand_list(struct ptx_parser *parser, int close, const char *what,
			   const struct gt_ptx_operand **ret_items, uint32_t *ret_count);

/* ---- debug information (debug.c) ------------------------------------------------------- */

int ptx_parse_file(struct ptx_parser *parser, struct gt_ptx_file **ret_file);
int ptx_parse_loc(struct ptx_parser *parser, const struct gt_ptx_loc **ret_loc);
int ptx_parse_section(struct ptx_parser *parser, struct gt_ptx_section **ret_section);
