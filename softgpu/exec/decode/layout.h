/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order in which a function's basic blocks are laid out, so that lanes reconverge as early as
 * possible where the lowest group runs first: a block comes after all its predecessors except
 * those of back edges, and the blocks of a loop are contiguous (a weak topological order;
 * Bourdoncle 1993). Otherwise the order of the text is kept.
 */
#pragma once

#include <stdint.h>

/* The successors of block i are edges[starts[i]] … edges[starts[i + 1] - 1]. */
struct sg_graph {
	uint32_t count;
	const uint32_t *starts;
	const uint32_t *edges;
};

/* Fills order[count] with block numbers: 0 first, unreachable blocks last. 0 or -ENOMEM. */
int sg_layout_order(const struct sg_graph *graph, uint32_t *order);
