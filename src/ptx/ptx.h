/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parser and printer of PTX, NVIDIA's virtual assembly (PTX ISA 9.0). A text becomes a module
 * with functions and statements; names are resolved, and every node has its position in the text.
 *
 * Everything is in the module's arena: it is freed as a whole, never moves, and is constant after
 * gt_ptx_parse. Strings are NUL-terminated and interned: within one module equal names are equal
 * pointers. The text is copied.
 *
 * Checked: syntax, names, scopes, limits. Not checked: whether a form exists, operand types and
 * counts, version and target rules; these are up to the code that executes or assembles a form.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "ptx/tables.h"

/* Limits of untrusted text; -E2BIG above. */
enum {
	GT_PTX_MAX_TEXT = 64 << 20,       /* bytes of text */
	GT_PTX_MAX_NESTING = 256,         /* nested { } blocks, initialisers and ( ) */
	GT_PTX_MAX_REGISTERS = 1 << 22,   /* registers of one function, including vector elements */
	GT_PTX_MAX_IDENTIFIER = 64 << 10, /* bytes of one name (mangled templates are long) */
	GT_PTX_MAX_OPERANDS = 256,        /* operands of one instruction, elements of one vector */
	GT_PTX_MAX_TARGETS = 1 << 16,     /* labels of one L<n> in .branchtargets */
	GT_PTX_MAX_DIMENSIONS = 16,       /* of one array */
	GT_PTX_MAX_VALUES = 16 << 20,     /* of one initialiser, of one line of a debug section */
	GT_PTX_MAX_MEMORY = 1 << 30,      /* bytes of the arena */
};

/* A range of the text. line and column start at 1; column counts bytes. */
struct gt_ptx_position {
	uint32_t line;
	uint32_t column;
	uint32_t offset; /* bytes from the start of the text */
	uint32_t length; /* bytes */
};

struct gt_ptx_block;
struct gt_ptx_function;
struct gt_ptx_label;
struct gt_ptx_operand;
struct gt_ptx_statement;
struct gt_ptx_variable;

/* ---- variables ------------------------------------------------------------------------- */

enum gt_ptx_space {
	GT_PTX_SPACE_NONE,
	GT_PTX_SPACE_REG,
	GT_PTX_SPACE_SREG,
	GT_PTX_SPACE_CONST,
	GT_PTX_SPACE_GLOBAL,
	GT_PTX_SPACE_LOCAL,
	GT_PTX_SPACE_PARAM,
	GT_PTX_SPACE_SHARED,
	GT_PTX_SPACE_TEX,
	GT_PTX_SPACE_COUNT,
};

enum gt_ptx_linkage {
	GT_PTX_LINKAGE_NONE,
	GT_PTX_LINKAGE_EXTERN,
	GT_PTX_LINKAGE_VISIBLE,
	GT_PTX_LINKAGE_WEAK,
	GT_PTX_LINKAGE_COMMON,
	GT_PTX_LINKAGE_COUNT,
};

enum gt_ptx_initializer_kind {
	GT_PTX_INITIALIZER_INTEGER, /* bits: the value, two's complement */
	GT_PTX_INITIALIZER_FLOAT32, /* bits: the low 32 as written by 0f… */
	GT_PTX_INITIALIZER_FLOAT64, /* bits: an IEEE double (0d… or decimal) */
	GT_PTX_INITIALIZER_ADDRESS, /* address: of a variable or a function */
	GT_PTX_INITIALIZER_LIST,    /* items: { … } */
	GT_PTX_INITIALIZER_FIELD,   /* field: of a .samplerref, .texref, .surfref, in a LIST */
};

/* The address of a symbol plus an offset, as an initial value. */
struct gt_ptx_address {
	struct gt_ptx_variable *variable; /* or function */
	struct gt_ptx_function *function;
	int64_t offset; /* bytes */
	bool generic;   /* generic(symbol): its address in generic space */
	uint64_t mask;  /* 0xff00(symbol): these bits, shifted down to bit 0; 0: none */
};

/* addr_mode_0 = clamp_to_border, width = 8 */
struct gt_ptx_field {
	const char *name;
	const char *word; /* NULL: a number */
	uint64_t number;
};

struct gt_ptx_initializer {
	uint8_t kind;    /* enum gt_ptx_initializer_kind */
	uint32_t offset; /* bytes from the start of the text */
	union {
		uint64_t bits;
		const struct gt_ptx_address *address;
		const struct gt_ptx_field *field;
		struct {
			const struct gt_ptx_initializer *items;
			uint32_t count;
		};
	};
};

/*
 * A variable, parameter or register, in any state space. `%r<10>` is one variable with is_range and
 * count 10, whose members have an index; others have count 1.
 */
struct gt_ptx_variable {
	const char *name; /* "%r" for %r<10>; "_" for a prototype's parameter without a name */
	struct gt_ptx_position position; /* the name, with <10>, [..] and initialiser */
	enum gt_ptx_space space;
	enum gt_ptx_linkage linkage;
	enum gt_ptx_type type;
	uint32_t vector;    /* 1, 2, 4, 8: elements of .v2, .v4, .v8 */
	uint32_t alignment; /* bytes, of .align; 0: none */
	bool is_range;
	uint32_t count;
	/*
	 * Only for registers: the number of the first one among all registers of the function
	 * (sibling blocks do not share numbers). Member i, element e has the number
	 * first_register + i * vector + e, which is less than the function's register_count.
	 */
	uint32_t first_register;
	uint32_t dimension_count;   /* 0: not an array */
	const uint64_t *dimensions; /* 0: not given ([]), which is allowed for the first */
	const struct gt_ptx_initializer *initializer; /* or NULL */

	bool is_pointer;                 /* .ptr of a kernel parameter */
	enum gt_ptx_space pointer_space; /* NONE: generic */
	uint32_t pointer_alignment;      /* bytes; 0: not given */

	bool is_managed; /* .attribute(.managed) */
	bool is_unified; /* .attribute(.unified(a, b)) */
	uint64_t unified[2];
	uint32_t constant_bank; /* .const[n]; 0: not given */

	struct gt_ptx_function *function; /* NULL at module scope */
	struct gt_ptx_block *block;       /* NULL at module scope and for parameters */
	/* The declaration of this name that is not .extern, possibly itself; NULL: in another
	 * module. */
	struct gt_ptx_variable *definition;
	uint32_t number; /* among all variables of the module, from 0: an index for side tables */
	struct gt_ptx_variable *next; /* in its list */
};

/* Returns the bytes of one element, a vector counting as one (.v4 .f32: 16); 1 for predicates. */
uint64_t gt_ptx_variable_element_size(const struct gt_ptx_variable *variable);
/*
 * Returns the bytes of the variable; 0 for an array without a size and initialiser (extern
 * .shared). Never overflows, which the parser checks.
 */
uint64_t gt_ptx_variable_size(const struct gt_ptx_variable *variable);
/* Returns the bytes of .align, or else the natural alignment of an element. */
uint32_t gt_ptx_variable_alignment(const struct gt_ptx_variable *variable);

/*
 * Calls visit for each initial value in the order of memory, with its offset in bytes; not for a
 * LIST or FIELD. Bytes in between are 0. If visit returns non-zero, the walk ends and returns it;
 * else 0.
 */
int gt_ptx_variable_walk(const struct gt_ptx_variable *variable,
			 int (*visit)(void *context, uint64_t place, enum gt_ptx_type type,
				      const struct gt_ptx_initializer *value),
			 void *context);

/* ---- operands -------------------------------------------------------------------------- */

enum gt_ptx_operand_kind {
	GT_PTX_OPERAND_REGISTER,  /* variable, index, selector, negated */
	GT_PTX_OPERAND_SPECIAL,   /* special, selector (%tid.x), index (%envreg7) */
	GT_PTX_OPERAND_INTEGER,   /* integer, is_unsigned */
	GT_PTX_OPERAND_WARP_SIZE, /* WARP_SZ */
	GT_PTX_OPERAND_FLOAT32,   /* integer: the 32 bits of 0f… */
	GT_PTX_OPERAND_FLOAT64,   /* integer: the 64 bits of 0d… or of a decimal number */
	GT_PTX_OPERAND_SYMBOL, /* variable in memory, offset: its address (or a parameter's name) */
	GT_PTX_OPERAND_FUNCTION, /* function */
	GT_PTX_OPERAND_LABEL,    /* label */
	GT_PTX_OPERAND_SINK,     /* _ */
	GT_PTX_OPERAND_ADDRESS, /* [ … ]: items; the first is REGISTER, SYMBOL, INTEGER with offset
				 */
	GT_PTX_OPERAND_VECTOR,  /* { … }: items */
	GT_PTX_OPERAND_PAIR,    /* p|q: two items, REGISTER or SINK */
	GT_PTX_OPERAND_KIND_COUNT,
};

enum gt_ptx_selector {
	GT_PTX_SELECT_NONE,
	GT_PTX_SELECT_X, /* elements: .x .y .z .w (.r .g .b .a are read as these) */
	GT_PTX_SELECT_Y,
	GT_PTX_SELECT_Z,
	GT_PTX_SELECT_W,
	GT_PTX_SELECT_B0, /* bytes and halves, in the video instructions; .b0123 and the like
			     too: their text is in selector_text */
	GT_PTX_SELECT_B1,
	GT_PTX_SELECT_B2,
	GT_PTX_SELECT_B3,
	GT_PTX_SELECT_H0,
	GT_PTX_SELECT_H1,
	GT_PTX_SELECT_OTHER,
	GT_PTX_SELECT_COUNT,
};

/*
 * An operand. An address consists of items: `[%rd1+8]` has one, a REGISTER with offset 8; `[tex,
 * samp,
 * {%f1, %f2}]` has three.
 */
struct gt_ptx_operand {
	uint8_t kind;     /* enum gt_ptx_operand_kind */
	uint8_t selector; /* enum gt_ptx_selector */
	bool negated;     /* !p of a predicate, -a of an integer (video instructions) */
	bool is_unsigned; /* INTEGER: U suffix, or more than 63 bits */
	uint32_t index;   /* of the member of a range; of %envreg, %pm */
	struct gt_ptx_position position;
	union {
		struct gt_ptx_variable *variable;
		struct gt_ptx_function *function;
		struct gt_ptx_label *label;
		enum gt_ptx_special special;
		uint64_t integer;
		struct {
			const struct gt_ptx_operand *items;
			uint32_t count;
		};
	};
	union {
		int64_t offset; /* added to a REGISTER, an INTEGER or the address of a SYMBOL */
		const char *selector_text; /* GT_PTX_SELECT_OTHER: "b0123", without the dot */
	};
};

/* Returns what is added to a REGISTER operand: %r1+4 has 4. */
int64_t gt_ptx_operand_offset(const struct gt_ptx_operand *operand);
/* Returns the number of a REGISTER operand among its function's registers, with its selector. */
uint32_t gt_ptx_operand_register(const struct gt_ptx_operand *operand);

/* ---- instructions ---------------------------------------------------------------------- */

struct gt_ptx_modifier {
	enum gt_ptx_modifier_id id; /* GT_PTX_MOD_UNKNOWN: only a text */
	const char *text;           /* with its dot: ".global" */
};

/*
 * An opcode with its modifiers, stored once per module: a program has thousands of instructions and
 * a few dozen forms. number is an index below the module's form_count, so that a consumer can
 * decode each form once into a table.
 */
struct gt_ptx_form {
	uint32_t number;
	enum gt_ptx_opcode opcode;
	const char *text; /* "ld.global.v4.f32" */
	uint32_t modifier_count;
	const struct gt_ptx_modifier *modifiers; /* in the order of the text */
	/* The types among the modifiers, in their order: cvt.rn.f32.s32 has { F32, S32 }. */
	uint32_t type_count;
	const enum gt_ptx_type *types;
	uint32_t vector; /* 1, or 2, 4, 8 for .v2, .v4, .v8 */
};

/* Returns whether a form has a modifier. */
bool gt_ptx_form_has(const struct gt_ptx_form *form, enum gt_ptx_modifier_id id);

/* call: `call (ret), target, (arguments), prototype;` everything except the target is optional. */
struct gt_ptx_call {
	const struct gt_ptx_operand *returns; /* SYMBOL (.param), REGISTER or SINK */
	uint32_t return_count;
	const struct gt_ptx_operand *target;    /* FUNCTION, or REGISTER for an indirect call */
	const struct gt_ptx_operand *arguments; /* SYMBOL (.param), REGISTER or immediate */
	uint32_t argument_count;
	/* LABEL of a .callprototype or .calltargets, or SYMBOL of an array of functions; or NULL */
	const struct gt_ptx_operand *prototype;
};

struct gt_ptx_instruction {
	const struct gt_ptx_form *form;
	const struct gt_ptx_operand *guard;    /* @p or @!p: REGISTER; or NULL */
	const struct gt_ptx_operand *operands; /* none for call */
	uint32_t operand_count;
	const struct gt_ptx_call *call; /* NULL for other instructions */
};

/* ---- statements ------------------------------------------------------------------------ */

enum gt_ptx_statement_kind {
	GT_PTX_STATEMENT_INSTRUCTION, /* instruction */
	GT_PTX_STATEMENT_LABEL,       /* label */
	GT_PTX_STATEMENT_VARIABLES,   /* variables: .reg, .local, .shared, .param, .const … */
	GT_PTX_STATEMENT_BLOCK,       /* block */
	GT_PTX_STATEMENT_LOC,         /* loc */
	GT_PTX_STATEMENT_PRAGMA,      /* pragma */
	GT_PTX_STATEMENT_TARGETS,     /* targets, declared by the label before it */
	GT_PTX_STATEMENT_PROTOTYPE,   /* prototype, declared by the label before it */
};

/* A label, visible in its block and the blocks within it. */
struct gt_ptx_label {
	const char *name;
	struct gt_ptx_position position; /* the name without its colon */
	struct gt_ptx_block *block;
	struct gt_ptx_statement *statement; /* its LABEL statement: continue from there */
	/* One of them, if the label is not a location in the code: */
	const struct gt_ptx_targets *targets;
	const struct gt_ptx_function *prototype;
	bool is_used;              /* an instruction or a list of targets refers to it */
	uint32_t number;           /* among the labels of the function, from 0 */
	struct gt_ptx_label *next; /* in the function */
};

/* Whether branches may lead to a label: it is used, and a place in the code. */
static inline bool gt_ptx_label_is_target(const struct gt_ptx_label *label)
{
	return label->is_used && !label->targets && !label->prototype;
}

/* .branchtargets (LABEL items) or .calltargets (FUNCTION items) */
struct gt_ptx_targets {
	bool is_call;
	const struct gt_ptx_operand *items;
	uint32_t count;
};

/* .loc: the source line of the code that follows. */
struct gt_ptx_loc {
	uint32_t file; /* number of a .file */
	uint32_t line;
	uint32_t column;
	bool is_inlined;           /* function_name and inlined_at are given */
	const char *function_name; /* a label in a debug section */
	int64_t function_offset;   /* bytes added to it */
	uint32_t inlined_file;
	uint32_t inlined_line;
	uint32_t inlined_column;
};

struct gt_ptx_pragma {
	uint32_t count;
	const char *const *texts; /* without their quotes */
};

struct gt_ptx_statement {
	enum gt_ptx_statement_kind kind;
	/* From the guard or opcode to the `;`, inclusive (`}` of a block, `:` of a label). */
	struct gt_ptx_position position;
	struct gt_ptx_block *block; /* that contains it */
	union {
		struct gt_ptx_instruction instruction;
		struct gt_ptx_label *label;
		struct gt_ptx_variable *variables; /* list by next; all of one declaration */
		struct gt_ptx_block *inner;
		const struct gt_ptx_loc *loc;
		const struct gt_ptx_pragma *pragma;
		const struct gt_ptx_targets *targets;
		const struct gt_ptx_function *prototype; /* its name is the label's */
	};
	uint32_t
		number; /* among the statements of the function, in the order of the text, from 0 */
	struct gt_ptx_statement *next; /* in its block */
};

struct gt_ptx_block {
	struct gt_ptx_position position; /* from `{` to `}`, inclusive */
	struct gt_ptx_function *function;
	struct gt_ptx_block *parent;    /* NULL for the body of a function */
	struct gt_ptx_statement *owner; /* the BLOCK statement; NULL for the body */
	struct gt_ptx_statement *first;
};

/*
 * Returns the next statement of the text, into blocks and out of them at their end; NULL at the end
 * of the function. Visits every statement once when started with body->first.
 */
struct gt_ptx_statement *gt_ptx_statement_next(const struct gt_ptx_statement *statement);

/* ---- functions ------------------------------------------------------------------------- */

/* .maxntid 256, 1, 1 and the like, between a function's header and its body. */
struct gt_ptx_directive {
	enum gt_ptx_directive_id id;
	struct gt_ptx_position position;
	uint32_t value_count; /* 0 to 3 */
	uint32_t values[3];
	const struct gt_ptx_pragma *pragma; /* GT_PTX_DIRECTIVE_PRAGMA */
	struct gt_ptx_directive *next;
};

struct gt_ptx_function {
	const char *name;
	struct gt_ptx_position position; /* from the linkage to `}` or `;` */
	struct gt_ptx_position name_position;
	bool is_entry;     /* .entry: a kernel */
	bool is_prototype; /* .callprototype: a type, not a function */
	bool is_unified;   /* .attribute(.unified(a, b)) */
	uint64_t unified[2];
	enum gt_ptx_linkage linkage;
	struct gt_ptx_variable *returns; /* list by next; space PARAM or REG */
	uint32_t return_count;
	struct gt_ptx_variable *parameters; /* list by next; space PARAM or REG */
	uint32_t parameter_count;
	struct gt_ptx_directive *directives; /* list by next, in the order of the text */
	struct gt_ptx_block *body;           /* NULL: a declaration */
	struct gt_ptx_label *labels;         /* list by next */
	uint32_t label_count;
	uint32_t register_count; /* see first_register of struct gt_ptx_variable */
	uint32_t statement_count;
	/* The function of this name with a body, possibly itself or the target of .alias; or NULL.
	 */
	struct gt_ptx_function *definition;
	uint32_t number; /* among the functions of the module, from 0: an index for side tables */
	struct gt_ptx_function *next; /* in the module */
};

/* Whether an instruction is a branch, or ends the function or the thread: bra, brx, ret, exit. */
bool gt_ptx_is_jump(const struct gt_ptx_instruction *instruction);

/* Returns the first directive of a kind, or NULL. */
const struct gt_ptx_directive *gt_ptx_function_directive(const struct gt_ptx_function *function,
							 enum gt_ptx_directive_id id);

/* ---- the module ------------------------------------------------------------------------ */

/* .file 1 "vector.cu", 1700000000, 1234 */
struct gt_ptx_file {
	uint32_t number;
	const char *name; /* without quotes, escapes as written */
	bool has_stamp;
	uint64_t time; /* seconds since 1970 */
	uint64_t size; /* bytes */
	struct gt_ptx_file *next;
};

/* A value in a debug section: an integer, a label or section name + offset, or a - b. */
struct gt_ptx_section_value {
	const char *name;  /* NULL: an integer; a section's name has its dot */
	const char *minus; /* or NULL */
	int64_t number;    /* the integer, or the offset */
};

struct gt_ptx_section_line {
	const char *label; /* "name:", or NULL: */
	enum gt_ptx_type type;
	const struct gt_ptx_section_value *values;
	uint32_t count;
	struct gt_ptx_section_line *next;
};

/* .section .debug_info { … } */
struct gt_ptx_section {
	const char *name; /* with its dot */
	struct gt_ptx_section_line *lines;
};

struct gt_ptx_alias {
	struct gt_ptx_function *alias;
	struct gt_ptx_function *target;
};

enum gt_ptx_item_kind {
	GT_PTX_ITEM_VARIABLES, /* variables: list by next; all of one declaration */
	GT_PTX_ITEM_FUNCTION,
	GT_PTX_ITEM_FILE,
	GT_PTX_ITEM_SECTION,
	GT_PTX_ITEM_PRAGMA,
	GT_PTX_ITEM_ALIAS,
};

/* An item at module scope, in the order of the text. */
struct gt_ptx_item {
	enum gt_ptx_item_kind kind;
	struct gt_ptx_position position;
	union {
		struct gt_ptx_variable *variables;
		struct gt_ptx_function *function;
		struct gt_ptx_file *file;
		struct gt_ptx_section *section;
		const struct gt_ptx_pragma *pragma;
		struct gt_ptx_alias *alias;
	};
	struct gt_ptx_item *next;
};

struct gt_ptx_module {
	const char *text; /* a copy, NUL-terminated */
	size_t text_length;
	uint32_t version_major; /* .version 8.3 */
	uint32_t version_minor;
	struct gt_ptx_position version_position; /* the directive */
	uint32_t sm;                             /* 75 for sm_75 */
	char sm_suffix;                          /* 'a' of sm_90a, 'f' of sm_100f, or 0 */
	const char *const
		*targets; /* all words of .target: "sm_75", "debug", "texmode_independent" */
	uint32_t target_count;
	char raised_target[8]; /* the first of them after gt_ptx_raise_target */
	struct gt_ptx_position target_position;
	uint32_t address_size; /* 32 or 64; 0: not given */
	struct gt_ptx_item *items;
	struct gt_ptx_function *functions; /* list by next: declarations and definitions */
	uint32_t function_count;
	uint32_t variable_count;                /* of all scopes */
	struct gt_ptx_file *files;              /* list by next */
	const struct gt_ptx_form *const *forms; /* by number */
	uint32_t form_count;
};

/* Each variable at module scope, in the order of the text. `break` ends one declaration alone. */
#define gt_ptx_each_variable(variable, module)                                                     \
	for (const struct gt_ptx_item *gt_item_ = (module)->items; gt_item_;                       \
	     gt_item_ = gt_item_->next)                                                            \
		for (const struct gt_ptx_variable *variable =                                      \
			     gt_item_->kind == GT_PTX_ITEM_VARIABLES ? gt_item_->variables : NULL; \
		     variable; variable = variable->next)

/*
 * Parses a module. text need not end in NUL; a NUL within `length` ends it. 0; -EINVAL: not a
 * module, with position ("line:column") and reason in *diag; -E2BIG: a limit; -ENOMEM.
 */
int gt_ptx_parse(const char *text, size_t length, struct gt_ptx_module **ret_module,
		 struct gt_diag *diag);
void gt_ptx_free(struct gt_ptx_module *module);

/*
 * Makes the module one for sm_<sm>, at most 999, and for PTX `version` (50 for 5.0) if it has an
 * older one: PTX for an architecture is PTX for every later one, too (PTX ISA, .target). It must be
 * for an older architecture, and for none in particular ('a', 'f').
 */
void gt_ptx_raise_target(struct gt_ptx_module *module, uint32_t sm, uint32_t version);
GT_DEFINE_AUTO(ptx, struct gt_ptx_module, gt_ptx_free)

/*
 * Adds the module as text without comments, which ptxas accepts if it accepts the original. Parsing
 * it gives the same module, except for positions. On failure the buffer is marked as failed.
 */
void gt_ptx_print(const struct gt_ptx_module *module, struct gt_strbuf *buffer);

/*
 * Additions to a printed module. Each function may be NULL; `context` is passed to all of them.
 * What they add must be whole statements or declarations, each on lines of its own.
 */
struct gt_ptx_additions {
	void *context;
	/* Whether an item of the module is printed. */
	bool (*keep)(void *context, const struct gt_ptx_item *item);
	/* Before the first item. */
	void (*declare)(void *context, struct gt_strbuf *buffer);
	/* After the directives of a function with a body. */
	void (*header)(void *context, const struct gt_ptx_function *function,
		       struct gt_strbuf *buffer);
	/* After the `{` and before the `}` of a function's body. */
	void (*begin)(void *context, const struct gt_ptx_function *function,
		      struct gt_strbuf *buffer);
	void (*end)(void *context, const struct gt_ptx_function *function,
		    struct gt_strbuf *buffer);
	/* Before and after an instruction. */
	void (*before)(void *context, const struct gt_ptx_statement *statement,
		       struct gt_strbuf *buffer);
	void (*after)(void *context, const struct gt_ptx_statement *statement,
		      struct gt_strbuf *buffer);
	/* After a label. */
	void (*label)(void *context, const struct gt_ptx_statement *statement,
		      struct gt_strbuf *buffer);
};
void gt_ptx_print_with(const struct gt_ptx_module *module, const struct gt_ptx_additions *additions,
		       struct gt_strbuf *buffer);
/* Add one operand as it is in an instruction. */
void gt_ptx_print_operand(const struct gt_ptx_operand *operand, struct gt_strbuf *buffer);
/* Adds one instruction with its guard and `;`, for messages. */
void gt_ptx_print_instruction(const struct gt_ptx_instruction *instruction,
			      struct gt_strbuf *buffer);

/* Whether a function of the module, or the module itself, declares a variable in .local. */
bool gt_ptx_has_private_arrays(const struct gt_ptx_module *module);
/* A function (the one with a body if there is one) or a variable at module scope; or NULL. */
struct gt_ptx_function *gt_ptx_find_function(const struct gt_ptx_module *module, const char *name);
struct gt_ptx_variable *gt_ptx_find_variable(const struct gt_ptx_module *module, const char *name);
