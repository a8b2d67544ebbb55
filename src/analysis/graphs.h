/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contents of graphs, known from the calls that built them: a launch of a graph is one call,
 * and its work is that of its nodes. An analysis chooses which properties of nodes are kept. A
 * graph whose construction was not seen from the start, or that was changed in an unsupported way,
 * is unknown, and so is every graph that contains it.
 */
#pragma once

#include "analysis/operation.h"

struct gt_graphs;

/* Equal nodes of a graph. */
struct gt_graph_item {
	uint64_t tag; /* the analysis's */
	uint64_t bytes;
	uint64_t count;
};

/* NULL: no memory. */
struct gt_graphs *gt_graphs_new(void);
void gt_graphs_free(struct gt_graphs *graphs);

/* Learns from an operation. 0 or -ENOMEM. */
int gt_graphs_take(struct gt_graphs *graphs, const struct gt_operation *operation);
/*
 * Adds an item to the graph that an operation adds a node to, or is captured into. Call it after
 * gt_graphs_take. 0 or -ENOMEM.
 */
int gt_graphs_add(struct gt_graphs *graphs, const struct gt_operation *operation, uint64_t tag,
		  uint64_t bytes);
/* The graph that an operation launches here and now: an executable; false: none. */
bool gt_graphs_launches(const struct gt_operation *operation);
/*
 * The items of that graph; valid until the next call. False, and none, if they are not known.
 */
bool gt_graphs_items(const struct gt_graphs *graphs, const struct gt_operation *operation,
		     const struct gt_graph_item **ret_items, size_t *ret_count);
void gt_graphs_end_process(struct gt_graphs *graphs, uint32_t process);

/* Whether a report that knows graphs has to see operations of a kind. */
bool gt_graphs_needs(enum gt_operation_kind kind);
