/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order in which a function's basic blocks are laid out, so that "the lowest group of lanes
 * runs first" makes lanes meet again as early as they can: a block comes after all blocks that
 * lead to it except by branches back, and a loop's blocks stand together (a weak topological
 * order; Bourdoncle 1993). Else the order of the text is kept.
 */
#pragma once

#include <stdint.h>

/* Block i leads to edges[starts[i]] … edges[starts[i + 1] - 1]. */
struct sg_graph {
	uint32_t count;
	const uint32_t *starts;
	const uint32_t *edges;
};

/* Fills order[count] with block numbers, 0 first. What 0 does not reach is last. 0 or -ENOMEM. */
int sg_layout_order(const struct sg_graph *graph, uint32_t *order);
