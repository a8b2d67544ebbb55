/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interned names: the words of the language, and the bindings of identifiers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "ptx/arena.h"
#include "ptx/ptx.h"

/* A declaration of a name; it hides the one of the outer scope. */
struct ptx_binding {
	struct gt_ptx_variable *variable; /* or function */
	struct gt_ptx_function *function;
	uint32_t depth;               /* of the scope; 0 is the module */
	struct ptx_binding *outer;    /* the one it hides */
	struct ptx_binding **slot;    /* `plain` or `range` of its name */
	struct ptx_binding *in_scope; /* the next of the same scope */
};

struct ptx_name {
	/* The word of the language, as enum value + 1; 0: none. */
	uint16_t opcode;
	uint16_t modifier;
	uint16_t special;
	uint16_t directive;
	struct ptx_binding *plain;          /* innermost binding of the name itself */
	struct ptx_binding *range;          /* of name<N> */
	struct gt_ptx_label *label;         /* innermost in an open block */
	struct gt_ptx_function *definition; /* of the module */
	struct gt_ptx_variable *variable_definition;
	const struct gt_ptx_form *form; /* the name is the text of this form */
	char text[];
};

struct ptx_names {
	struct ptx_arena *arena;
	struct gt_hash *table; /* text -> struct ptx_name */
};

/* Creates the table with the words of the language. 0 or -ENOMEM (also: the arena's limit). */
int ptx_names_init(struct ptx_names *names, struct ptx_arena *arena);
void ptx_names_free(struct ptx_names *names);
/* Returns a name, or NULL if it was not interned. */
struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length);
/* Returns a name, which is added if it is new; NULL: out of memory. */
struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, size_t length);

/* Returns the name with that text. */
static inline struct ptx_name *name_of(const char *text)
{
	return (struct ptx_name *)(text - offsetof(struct ptx_name, text));
}
