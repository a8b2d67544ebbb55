/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interned names: what each word of the language is, and what each name is bound to. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ptx/arena.h"
#include "ptx/ptx.h"

/* A declaration of a name, hiding the one outside of it. */
struct ptx_binding {
	struct gt_ptx_variable *variable; /* one of the two */
	struct gt_ptx_function *function;
	uint32_t depth;               /* of the scope; 0 is the module */
	struct ptx_binding *outer;    /* the one it hides */
	struct ptx_binding **slot;    /* where it is bound: plain or range of its name */
	struct ptx_binding *in_scope; /* the next of the same scope */
};

struct ptx_name {
	struct ptx_name *next; /* in its bucket */
	uint64_t hash;
	uint32_t length;
	/* Words of the language, as number + 1; 0: none. */
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
	struct ptx_name **buckets;
	size_t bucket_count; /* a power of two */
	size_t count;
	uint64_t seed; /* so that nobody can choose names that collide */
};

/* Also puts in the words of the language. 0 or -ENOMEM (the arena's limit too). */
int ptx_names_init(struct ptx_names *names, struct ptx_arena *arena);
void ptx_names_free(struct ptx_names *names);
/* The name, or NULL if it was never interned. */
struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length);
/* The name, made if it is new; NULL if memory ran out. */
struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, size_t length);

/* The name whose text this is. */
static inline struct ptx_name *name_of(const char *text)
{
	return (struct ptx_name *)(text - offsetof(struct ptx_name, text));
}
