/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grids that kernels launch. */
#pragma once

#include "exec/engine/engine.h"

/* A launch that a kernel prepared, or has made. */
struct sg_nested {
	struct sg_nested *next;
	const struct sg_function *function;
	struct sg_launch_shape shape;
	uint32_t depth;      /* of the grid; launches by the host's grid have 1 */
	uint64_t buffer;     /* in the heap: the arguments, written by the kernel */
	uint8_t *parameters; /* copied at the launch */
};

/* Frees a list of them; takes NULL. */
void sg_nested_free(struct sg_nested *nested);
/* Returns the launches of a grid that has ended, in the order in which they run. */
struct sg_nested *sg_nested_take(struct sg_grid *grid);
/* Returns the implementation of a function of the device runtime, or NULL. */
sg_run *sg_nested_find(const char *name);
