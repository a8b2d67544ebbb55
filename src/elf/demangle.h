/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The project's demangler: names of C++ (Itanium C++ ABI, section 5.1) and of Rust (legacy
 * and v0, RFC 2603), by libiberty. Names are untrusted: one that is too long or too deeply nested,
 * or whose text would be too long, is not changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/strbuf.h"

enum {
	GT_DEMANGLE_MAX_NAME = 8192,  /* bytes of a mangled name; templates of CUTLASS take 4 KB */
	GT_DEMANGLE_MAX_TEXT = 65536, /* bytes of a demangled name */
};

/*
 * Adds the demangled name without the return type: "add<float>(float*, float const*, unsigned
 * long)". A name that is not mangled is added unchanged. Returns whether it was mangled.
 */
bool gt_demangle(const char *name, struct gt_strbuf *buffer);
/* The same without ABI tags ("add[abi:v1]"), which Numba makes of a hash: for tables. */
bool gt_demangle_untagged(const char *name, struct gt_strbuf *buffer);
/* The same without ABI tags and the list of parameters: "add<float>". */
bool gt_demangle_short(const char *name, struct gt_strbuf *buffer);

/* A cache of demangled names, since kernels are launched repeatedly. */
struct gt_demangler;

/* Returns an empty cache; NULL: out of memory. */
struct gt_demangler *gt_demangler_new(void);
void gt_demangler_free(struct gt_demangler *demangler);
GT_DEFINE_AUTO(demangler, struct gt_demangler, gt_demangler_free)
/*
 * Return the name as gt_demangle and gt_demangle_short do; it is valid as long as the demangler.
 * Out of memory: the name itself.
 */
const char *gt_demangler_full(struct gt_demangler *demangler, const char *name);
const char *gt_demangler_short(struct gt_demangler *demangler, const char *name);

/*
 * Names that are shown together: short ones, with the parameters of those that differ in their
 * parameters alone.
 */
struct gt_short_names;

/* Returns an empty set; NULL: out of memory. */
struct gt_short_names *gt_short_names_new(void);
void gt_short_names_free(struct gt_short_names *names);
GT_DEFINE_AUTO(short_names, struct gt_short_names, gt_short_names_free)
/* Add a mangled name. Out of memory: it may be shown without its parameters. */
void gt_short_names_add(struct gt_short_names *names, const char *name);
/* Append the text of a mangled name, without ABI tags. */
void gt_short_names_put(const struct gt_short_names *names, const char *name,
			struct gt_strbuf *buffer);

/* Types as text: "float*", "unsigned long", "dim3". */
struct gt_type_names {
	char **items;
	size_t count;
};

/*
 * Returns the types of a C++ function's parameters, none for f(). 0; -ENOENT: the name is not
 * mangled, or not of a function; -ENOMEM. The caller frees *ret_types with gt_type_names_free.
 */
int gt_demangle_parameters(const char *name, struct gt_type_names *ret_types);
void gt_type_names_free(struct gt_type_names *types);
static inline void gt_cleanup_type_names(struct gt_type_names *types)
{
	gt_type_names_free(types);
}
#define gt_auto_type_names __attribute__((cleanup(gt_cleanup_type_names))) struct gt_type_names
