/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grids that kernels launch. */
#pragma once

#include "exec/engine/engine.h"

/* A launch that a kernel prepared, or made. */
struct sg_nested {
	struct sg_nested *next;
	const struct sg_function *function;
	uint32_t grid[3], block[3], shared;
	uint32_t depth;      /* of the grid that it makes: the first ones are 1 */
	uint64_t buffer;     /* in the heap: where the kernel puts the arguments */
	uint8_t *parameters; /* once launched: a copy */
};

/* Frees a list of them; takes NULL. */
void sg_nested_free(struct sg_nested *nested);
/* What a grid that has ended launched, in the order in which it is to run. */
struct sg_nested *sg_nested_take(struct sg_grid *grid);
/* How a function of the device runtime is run; NULL: it is none. */
sg_run *sg_nested_find(const char *name);
