/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The intermediate form: a list of PTX instructions that is not text yet. Instruction selection
 * appends rows, passes rewrite them (narrowing.c), print.c turns the list into text at the end.
 *
 * An operand is a value {class, id}, or an address or half of a pair made of one. Values are
 * compared by class and id, never by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* ---- values ---- */

enum gt_ptxgen_class {
	/* Virtual registers; ptxas allocates the real ones. */
	GT_PTXGEN_B64,
	GT_PTXGEN_B32,
	GT_PTXGEN_B16,
	GT_PTXGEN_PREDICATE,
	GT_PTXGEN_REGISTER_CLASSES,
	/* Constants: the id is the number. */
	GT_PTXGEN_SIGNED = GT_PTXGEN_REGISTER_CLASSES,
	GT_PTXGEN_UNSIGNED,
	GT_PTXGEN_HEX,
	GT_PTXGEN_LABEL,
	GT_PTXGEN_SYMBOL,     /* <prefix><name>: the id is the name's address */
	GT_PTXGEN_MAP_SYMBOL, /* <prefix>map_<id> */
	GT_PTXGEN_TEXT,       /* a special register or an operand of the site: the text's address */
};

/* Where registers and labels come from. */
enum gt_ptxgen_bank {
	GT_PTXGEN_TEMPORARY,   /* <prefix>q<n>, w<n>, h<n> and p<n> */
	GT_PTXGEN_ARGUMENT,    /* <prefix>r<n>: r0 to r5, which all frames share */
	GT_PTXGEN_SAVED,       /* <prefix>f<frame>_r<n>: r6 to r10 of a frame */
	GT_PTXGEN_STACK_PIECE, /* <prefix>s<frame>_<n>: of a frame's stack, n bytes below the top */
	GT_PTXGEN_GROUP,       /* <prefix>group: the lanes for which a program runs once */
	GT_PTXGEN_FIRST,       /* <prefix>first: the number of the lane that leads them */
	GT_PTXGEN_BELOW,       /* <prefix>below: 0 in that lane alone */
	GT_PTXGEN_IS_LEADER,   /* <prefix>leader: this lane leads them */
	GT_PTXGEN_LOCAL_LABEL, /* <prefix>B<n>: used within one eBPF instruction */
	GT_PTXGEN_INSN_LABEL,  /* <prefix>L<frame>_<n>: of eBPF instruction n */
	GT_PTXGEN_END_LABEL,   /* <prefix>E<frame>: the end of a function */
};

struct gt_ptxgen_value {
	enum gt_ptxgen_class class;
	uint64_t id; /* registers and labels: gt_ptxgen_id */
};

static inline uint64_t gt_ptxgen_id(enum gt_ptxgen_bank bank, uint32_t frame, uint32_t number)
{
	return (uint64_t)bank << 56 | (uint64_t)frame << 32 | number;
}
static inline enum gt_ptxgen_bank gt_ptxgen_bank_of(struct gt_ptxgen_value value)
{
	return (enum gt_ptxgen_bank)(value.id >> 56);
}
static inline uint32_t gt_ptxgen_frame_of(struct gt_ptxgen_value value)
{
	return (uint32_t)(value.id >> 32) & 0xffffff;
}
static inline uint32_t gt_ptxgen_number_of(struct gt_ptxgen_value value)
{
	return (uint32_t)value.id;
}
static inline bool gt_ptxgen_is_same(struct gt_ptxgen_value one, struct gt_ptxgen_value other)
{
	return one.class == other.class && one.id == other.id;
}

static inline struct gt_ptxgen_value gt_ptxgen_signed(int64_t number)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_SIGNED, (uint64_t)number};
}
static inline struct gt_ptxgen_value gt_ptxgen_unsigned(uint64_t number)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_UNSIGNED, number};
}

/* A register that holds a map, by the map's index in the object: never 0. */
static inline struct gt_ptxgen_value gt_ptxgen_map_handle(uint32_t map)
{
	return gt_ptxgen_unsigned(map + UINT64_C(1));
}
static inline struct gt_ptxgen_value gt_ptxgen_hex(uint64_t number)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_HEX, number};
}
/* The name must live as long as the list. */
static inline struct gt_ptxgen_value gt_ptxgen_symbol(const char *name)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_SYMBOL, (uintptr_t)name};
}
static inline struct gt_ptxgen_value gt_ptxgen_map_symbol(int32_t map)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_MAP_SYMBOL, (uint32_t)map};
}
/* The text must live as long as the list. */
static inline struct gt_ptxgen_value gt_ptxgen_text(const char *text)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_TEXT, (uintptr_t)text};
}

/* ---- operands ---- */

enum gt_ptxgen_form {
	GT_PTXGEN_PLAIN,
	GT_PTXGEN_ADDRESS,     /* [value+offset] */
	GT_PTXGEN_PAIR_FIRST,  /* {value, */
	GT_PTXGEN_PAIR_SECOND, /* value} */
};

struct gt_ptxgen_operand {
	struct gt_ptxgen_value value;
	enum gt_ptxgen_form form;
	int32_t offset; /* of an address, in bytes */
};

static inline struct gt_ptxgen_operand gt_ptxgen_plain(struct gt_ptxgen_value value)
{
	return (struct gt_ptxgen_operand){value, GT_PTXGEN_PLAIN, 0};
}
static inline struct gt_ptxgen_operand gt_ptxgen_at(struct gt_ptxgen_value base, int64_t offset)
{
	return (struct gt_ptxgen_operand){base, GT_PTXGEN_ADDRESS, (int32_t)offset};
}
static inline struct gt_ptxgen_operand gt_ptxgen_plain_signed(int64_t number)
{
	return gt_ptxgen_plain(gt_ptxgen_signed(number));
}
static inline struct gt_ptxgen_operand gt_ptxgen_plain_unsigned(uint64_t number)
{
	return gt_ptxgen_plain(gt_ptxgen_unsigned(number));
}
static inline struct gt_ptxgen_operand gt_ptxgen_operand_itself(struct gt_ptxgen_operand operand)
{
	return operand;
}

/* A value, a number or an operand as an operand. */
#define GT_PTXGEN_OPERAND(x)                                                                       \
	_Generic((x), struct gt_ptxgen_value                                                       \
		 : gt_ptxgen_plain, struct gt_ptxgen_operand                                       \
		 : gt_ptxgen_operand_itself, int                                                   \
		 : gt_ptxgen_plain_signed, long                                                    \
		 : gt_ptxgen_plain_signed, long long                                               \
		 : gt_ptxgen_plain_signed, unsigned                                                \
		 : gt_ptxgen_plain_unsigned, unsigned long                                         \
		 : gt_ptxgen_plain_unsigned, unsigned long long                                    \
		 : gt_ptxgen_plain_unsigned)(x)

/* ---- instructions ---- */

enum gt_ptxgen_order {
	GT_PTXGEN_WEAK,
	GT_PTXGEN_VOLATILE,
	GT_PTXGEN_RELAXED,
	GT_PTXGEN_ACQUIRE,
	GT_PTXGEN_RELEASE,
};

enum gt_ptxgen_scope {
	GT_PTXGEN_NO_SCOPE,
	GT_PTXGEN_GPU,
	GT_PTXGEN_SYS,
};

enum gt_ptxgen_space {
	GT_PTXGEN_GENERIC,
	GT_PTXGEN_GLOBAL,
	GT_PTXGEN_LOCAL,
	GT_PTXGEN_CONST,
	GT_PTXGEN_PARAM,
};

/* <name>[.<order>][.<scope>][.<space>][.<suffix>]; both strings are static. */
struct gt_ptxgen_opcode {
	const char *name;
	const char *suffix; /* a type, an operation with its type; may be NULL */
	enum gt_ptxgen_order order : 8;
	enum gt_ptxgen_scope scope : 8;
	enum gt_ptxgen_space space : 8;
};

static inline struct gt_ptxgen_opcode gt_ptxgen_named_opcode(const char *name)
{
	return (struct gt_ptxgen_opcode){.name = name};
}
static inline struct gt_ptxgen_opcode gt_ptxgen_opcode_itself(struct gt_ptxgen_opcode opcode)
{
	return opcode;
}
#define GT_PTXGEN_OPCODE(x)                                                                        \
	_Generic((x),                                                                              \
		struct gt_ptxgen_opcode: gt_ptxgen_opcode_itself,                                  \
		const char *: gt_ptxgen_named_opcode,                                              \
		char *: gt_ptxgen_named_opcode)(x)

/* A predicate holds, or does not. Without a predicate (all zeros): always. */
struct gt_ptxgen_condition {
	struct gt_ptxgen_value predicate;
	bool holds;
};

enum gt_ptxgen_row_kind {
	GT_PTXGEN_INSTRUCTION,
	GT_PTXGEN_LABEL_ROW,    /* operand 0 */
	GT_PTXGEN_FRAME_BEGIN,  /* opens a scope, declares registers up to operand 0 */
	GT_PTXGEN_FRAME_END,    /* closes the scope */
	GT_PTXGEN_LOW_HALF,     /* operand 0, a fresh .b32, = the lower half of operand 1 */
	GT_PTXGEN_LOW_HALF_USE, /* the same of an eBPF register, and operand 0 never changes */
	GT_PTXGEN_REMOVED,      /* by a pass */
};

enum {
	GT_PTXGEN_OPERANDS = 5, /* of an instruction, at most */
};

struct gt_ptxgen_row {
	struct gt_ptxgen_opcode opcode;
	struct gt_ptxgen_condition guard;
	enum gt_ptxgen_row_kind kind : 8;
	unsigned operand_count : 8;
	uint32_t insn; /* the eBPF instruction it belongs to */
	struct gt_ptxgen_operand operands[GT_PTXGEN_OPERANDS];
};

struct gt_ptxgen_list {
	GT_VEC(struct gt_ptxgen_row) rows;
	uint32_t temporaries[GT_PTXGEN_REGISTER_CLASSES]; /* used so far */
	uint32_t labels;                                  /* local ones used so far */
	bool failed;                                      /* memory ran out */
};

/* How many registers a row writes: its first operands. */
static inline unsigned gt_ptxgen_written(const struct gt_ptxgen_row *row)
{
	if (!row->operand_count || row->kind == GT_PTXGEN_LABEL_ROW ||
	    row->operands[0].value.class >= GT_PTXGEN_REGISTER_CLASSES)
		return 0;
	switch (row->operands[0].form) {
	case GT_PTXGEN_PLAIN:
		return 1;
	case GT_PTXGEN_PAIR_FIRST:
		return 2;
	default:
		return 0; /* a store */
	}
}

void gt_ptxgen_list_free(struct gt_ptxgen_list *list);

/*
 * Prints the list. 0, or -E2BIG once the text is longer than `limit` bytes: *ret_insn is the eBPF
 * instruction that it got too long at.
 */
int gt_ptxgen_print(const struct gt_ptxgen_list *list, const char *prefix, size_t limit,
		    struct gt_strbuf *text, uint32_t *ret_insn);

/* ---- passes over the list ---- */

/*
 * Narrowing: a lower half that is known beside its .b64 is taken from there (narrowing.c). Lowers
 * LOW_HALF and LOW_HALF_USE rows to instructions. 0 or -ENOMEM.
 */
int gt_ptxgen_narrow(struct gt_ptxgen_list *list);
