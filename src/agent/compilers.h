/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The compilers that a program may load: NVRTC and nvJitLink, several versions of each at a time.
 * Handles belong to one library, so each hook knows the library of the function that it replaces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The table of the functions that are hooked. */
#ifndef GT_COMPILERS_DEF
#define GT_COMPILERS_DEF "agent/compilers.def"
#endif

/* The functions of one library; NULL: it does not have the function. Never changed. */
struct gt_compiler {
	void *base;      /* where the library is loaded */
	char suffix[16]; /* of its functions' names: "_13_0"; then they begin with "__" */
#define HOOKED(name, failure, parameters, arguments) int(*name) parameters;
#define CALLED(name, parameters) int(*name) parameters;
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED
};

/* For the table of lookup.h: dlsym for a function of this table. */
bool gt_compiler_is_hooked(const void *handle, const char *name);
void *gt_compiler_find(void *handle, const char *name, const void *caller);

#define UNPACK(...) __VA_ARGS__

/* The hooks, with the library whose function the program calls. */
#define HOOKED(name, failure, parameters, arguments)                                               \
	int gt_hook_##name(const struct gt_compiler *compiler, UNPACK parameters)                  \
		__attribute__((noinline));
#define CALLED(name, parameters)
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED
