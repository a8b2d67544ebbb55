/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The project's demangler: names of C++ (Itanium C++ ABI, section 5.1) and of Rust (legacy
 * and v0, RFC 2603), by libiberty. Names are untrusted: what is too long, too deep, or would
 * become too long is left as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/strbuf.h"

enum {
	GT_DEMANGLE_MAX_NAME = 8192,  /* bytes of a mangled name; templates of CUTLASS take 4 KB */
	GT_DEMANGLE_MAX_TEXT = 65536, /* bytes of what it stands for */
};

/*
 * Adds what the name stands for: "add<float>(float*, float const*, unsigned long)", without
 * the return type. A name that is not mangled is added as it is. Returns whether it was mangled.
 */
bool gt_demangle(const char *name, struct gt_strbuf *buffer);
/* The same without the list of parameters: "add<float>". */
bool gt_demangle_short(const char *name, struct gt_strbuf *buffer);

/* Keeps what names stand for: kernels are launched again and again. */
struct gt_demangler;

/* NULL: no memory. */
struct gt_demangler *gt_demangler_new(void);
void gt_demangler_free(struct gt_demangler *demangler);
GT_DEFINE_AUTO(demangler, struct gt_demangler, gt_demangler_free)
/*
 * As gt_demangle and gt_demangle_short; the text is valid as long as the demangler. Where memory
 * is short, the name itself.
 */
const char *gt_demangler_full(struct gt_demangler *demangler, const char *name);
const char *gt_demangler_short(struct gt_demangler *demangler, const char *name);

/* Types as text: "float*", "unsigned long", "dim3". */
struct gt_type_names {
	char **items;
	size_t count;
};

/*
 * The types of a C++ function's parameters, none for f(). 0; -ENOENT: the name tells none (it is
 * not mangled, or names no function); -ENOMEM. The caller frees with gt_type_names_free.
 */
int gt_demangle_parameters(const char *name, struct gt_type_names *ret_types);
void gt_type_names_free(struct gt_type_names *types);
static inline void gt_cleanup_type_names(struct gt_type_names *types)
{
	gt_type_names_free(types);
}
#define gt_auto_type_names __attribute__((cleanup(gt_cleanup_type_names))) struct gt_type_names
