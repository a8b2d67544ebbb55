/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a relocatable cubin has at module scope, and what it needs from those that it is linked
 * with. Types of symbols and sections as ptxas 13.0 makes them; nothing documents them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct gt_cubin_symbol {
	const char *name; /* NULL: malformed */
	bool is_function; /* else a variable, or a reference of a texture, surface or sampler */
	bool is_defined;  /* in this cubin; else others are to have it */
	bool is_local;    /* others cannot name it */
	uint64_t constant_bytes; /* of a variable that is defined in the constant bank, else 0 */
};

/* Sees a symbol. Another value than 0 ends the iteration. */
typedef int gt_cubin_symbol_visit(void *context, const struct gt_cubin_symbol *symbol);

/*
 * Visit the functions of a hostile cubin, and the variables that are global or constant: not those
 * in shared or local memory, not parameters, not what the linker defines. 0; errors as of
 * gt_cubin_read; what the visit returns.
 */
int gt_cubin_each_symbol(const void *data, size_t size, gt_cubin_symbol_visit *visit, void *context,
			 struct gt_diag *diag);
