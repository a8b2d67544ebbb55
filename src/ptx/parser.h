/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internals of the parser. A function that returns int returns 0 or -Exxx, with a message in the
 * diag; parsing stops at the first error.
 */
#pragma once

#include "base/vec.h"
#include "ptx/lexer.h"
#include "ptx/names.h"

enum { MAX_SCOPES = GT_PTX_MAX_NESTING + 3 };

/* A label that is used and not declared yet; moves to the outer block when its block ends. */
struct ptx_pending_label {
	struct ptx_name *name;
	struct gt_ptx_operand *operand; /* at its final address */
	struct gt_ptx_position position;
};

/* A label with the one that it hides, and the list of its block. */
struct ptx_scoped_label {
	struct gt_ptx_label label;
	struct gt_ptx_label *hidden;
	struct ptx_scoped_label *in_block;
};

/* A module with its memory. */
struct ptx_owned_module {
	struct gt_ptx_module module; /* first, so that a pointer to it can be cast */
	struct ptx_arena arena;
};

struct ptx_parser {
	struct gt_ptx_module *module;
	struct ptx_arena *arena;
	struct gt_diag *diag;
	struct ptx_lexer lexer;
	struct ptx_token token; /* the next token, not consumed yet */
	uint32_t previous_end;  /* offset after the last consumed token */
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

	/* Lists of unknown length; used as stacks, since they nest. */
	GT_VEC(struct gt_ptx_operand) operands;
	GT_VEC(struct gt_ptx_initializer) initializers;
	GT_VEC(struct ptx_pending_label) pending;
	GT_VEC(const struct gt_ptx_form *) forms;
	GT_VEC(const char *) strings;
	GT_VEC(struct gt_ptx_section_value) section_values;
};

/* ---- tokens and messages (parser.c) ---------------------------------------------------- */

/* Consumes the token: the next one is in parser->token. */
void ptx_advance(struct ptx_parser *parser);
/* Sets a message with "line:column"; returns the error. */
int ptx_fail_at(struct ptx_parser *parser, const struct gt_ptx_position *position, int error,
		const char *format, ...) gt_printf(4, 5);
/* Sets the message "expected <what>, found <the next token>". */
int ptx_expected(struct ptx_parser *parser, const char *what);
/* Sets the message for: out of memory, or above the module's limit. */
int ptx_no_memory(struct ptx_parser *parser);
/* Allocates memory of the module; NULL, with a message. */
void *ptx_take(struct ptx_parser *parser, size_t size);
/*
 * Copies `count` items from items[start] to memory of the module. ret_items: the address of a
 * pointer to such items, which is not changed if count is 0.
 */
int ptx_keep(struct ptx_parser *parser, const void *items, size_t start, size_t count,
	     size_t item_size, const void *ret_items);

static inline bool ptx_at_symbol(const struct ptx_parser *parser, int symbol)
{
	return parser->token.kind == TOKEN_PUNCTUATION && parser->token.symbol == symbol;
}
/* Consumes the token if it is this one. */
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
/* Enters another level of braces or parentheses; -E2BIG: too deep. */
int ptx_nest(struct ptx_parser *parser);
/* Sets position->length: from its offset to the end of the last consumed token. */
void ptx_end_position(const struct ptx_parser *parser, struct gt_ptx_position *position);

/* ---- scopes (scope.c) ------------------------------------------------------------------ */

int ptx_scope_enter(struct ptx_parser *parser);
void ptx_scope_leave(struct ptx_parser *parser);
int ptx_bind_variable(struct ptx_parser *parser, struct gt_ptx_variable *variable);
int ptx_bind_function(struct ptx_parser *parser, struct gt_ptx_function *function);
/*
 * Returns the innermost binding of a name, or NULL. *ret_index is the index of a member of a range,
 * 7 for %r7 of %r<10>, else 0.
 */
const struct ptx_binding *ptx_lookup(const struct ptx_parser *parser, const char *text,
				     size_t length, uint32_t *ret_index);
/* Sets the message for an unknown name. */
int ptx_unknown_name(struct ptx_parser *parser, const struct ptx_token *token);

int ptx_label_declare(struct ptx_parser *parser, struct ptx_name *name,
		      const struct gt_ptx_position *position, struct gt_ptx_label **ret_label);
/*
 * Ends a block: resolves the labels used since pending_mark and removes its labels. Labels that are
 * not found remain pending for the outer block.
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

/* Returns whether a constant may begin with the next token. */
bool ptx_at_constant(const struct ptx_parser *parser);
int ptx_parse_constant(struct ptx_parser *parser, struct ptx_constant *ret_constant);
/* + constant, + constant …: returns the sum in bytes. */
int ptx_parse_offset(struct ptx_parser *parser, int64_t *ret_offset);

/* ---- declarations (variable.c, initializer.c) ------------------------------------------ */

/* Returns whether the next token begins a declaration of variables, after the linkage. */
bool ptx_at_variables(const struct ptx_parser *parser);
/* At the start of an item of the module other than .pragma, or at the end of the text. */
bool ptx_at_item(const struct ptx_parser *parser);
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

/* .entry or .func, which is the next token. start: the position of its linkage. */
int ptx_parse_function(struct ptx_parser *parser, enum gt_ptx_linkage linkage,
		       const struct gt_ptx_position *start, struct gt_ptx_function **ret_function);
/* After .callprototype, up to the `;`. */
int ptx_parse_prototype(struct ptx_parser *parser, const char *name,
			struct gt_ptx_function **ret_function);
int ptx_parse_pragma(struct ptx_parser *parser, const struct gt_ptx_pragma **ret_pragma);
int ptx_parse_body(struct ptx_parser *parser, struct gt_ptx_function *function);

/* Parses up to the `;`; the opcode is consumed already and in *opcode. */
int ptx_parse_instruction(struct ptx_parser *parser, const struct ptx_token *opcode,
			  struct gt_ptx_instruction *instruction);
int ptx_parse_guard(struct ptx_parser *parser, const struct gt_ptx_operand **ret_guard);

/* What an identifier may be that is not a register. */
enum ptx_operand_context {
	OPERAND_ANY,
	OPERAND_MEMORY,    /* the same; symbol[2] is the element, not its address */
	OPERAND_LABEL,     /* a label, even if a variable has its name */
	OPERAND_PROTOTYPE, /* an array of functions, else a label */
};

/* Parses an operand and pushes it to parser->operands. */
int ptx_parse_operand(struct ptx_parser *parser, enum ptx_operand_context context);
/* Pops the operands since `mark` and copies them to the module. */
int ptx_keep_operands(struct ptx_parser *parser, size_t mark,
		      const struct gt_ptx_operand **ret_items, uint32_t *ret_count);
/* operand, operand … up to and including `close`; the list may be empty. */
int ptx_parse_operand_list(struct ptx_parser *parser, int close, const char *what,
			   const struct gt_ptx_operand **ret_items, uint32_t *ret_count);

/* ---- debug information (debug.c) ------------------------------------------------------- */

int ptx_parse_file(struct ptx_parser *parser, struct gt_ptx_file **ret_file);
int ptx_parse_loc(struct ptx_parser *parser, const struct gt_ptx_loc **ret_loc);
int ptx_parse_section(struct ptx_parser *parser, struct gt_ptx_section **ret_section);
