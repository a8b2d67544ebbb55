/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditional nodes: graphs in a node that run depending on a value (if, while, switch). A kernel
 * sets the value (cudaGraphSetConditional) by a handle that belongs to the graph.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "device/graph.h"
#include "device/log.h"
#include "device/work.h"

struct sg_condition;

/* CUDA's handle of a condition. */
uint64_t sg_condition_handle(const struct sg_condition *condition);
/* Create a condition, which the graph owns. `assign`: every launch starts with that value. */
CUresult sg_condition_new(CUgraph graph, unsigned int value, bool assign, uint64_t *ret_handle);
struct sg_condition *sg_condition_reference(struct sg_condition *condition);
void sg_condition_unreference(struct sg_condition *condition);
/* Set the value, for the machine. False: no such handle. */
bool sg_condition_set(void *user, uint64_t handle, uint32_t value);
/* Reset the value at the start of a launch. */
void sg_condition_reset(struct sg_condition *condition);
bool sg_condition_is_assigned(const struct sg_condition *condition);

/* Prepare the work of a node with empty bodies, which are returned in parameters->phGraph_out. */
CUresult sg_condition_prepare(CUDA_CONDITIONAL_NODE_PARAMS *parameters, struct sg_work *ret_work);
bool sg_condition_clone(const struct sg_condition_work *work, struct sg_condition_work *ret_work);
void sg_condition_clear(struct sg_condition_work *work);
/*
 * Return whether a body holds only permitted nodes: kernels, copies, memsets, graphs, conditions.
 */
bool sg_condition_bodies_are_plain(const struct sg_condition_work *work);
/* Run the bodies in the calling thread. `record` is the node's log record, which theirs copy. */
CUresult sg_condition_run(const struct sg_condition_work *work, CUcontext context,
			  const struct sg_record *record);
