/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that add a node to a graph, decoded as if they did what the node does: bytes, ends,
 * direction, grid and block of a node are found as those of a call.
 */
#pragma once

#include "analysis/operation.h"

/* Whether operations of this kind add a node that is decoded here. */
bool gt_node_is_added(enum gt_operation_kind kind);

struct gt_node_form;

/* `graph`: the argument that is the graph. NULL: no memory. */
struct gt_node_form *gt_node_form_new(const struct gt_api_function *function,
				      enum gt_operation_kind kind, int graph);
void gt_node_form_free(struct gt_node_form *form);
/*
 * Sets the decoded call, and the kernel or the bytes. For GRAPH_NODE first sets the kind by the
 * type of the node: GRAPH_CHANGE if it is unknown or unsupported, OTHER if the node neither copies,
 * launches nor allocates.
 */
void gt_node_decode(const struct gt_node_form *form, struct gt_operation *operation);
