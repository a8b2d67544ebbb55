/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditional nodes: graphs within a node that run if, while or as often as a value says. A
 * kernel sets the value (cudaGraphSetConditional), by a handle that belongs to the graph.
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
/* A condition of a graph, which keeps it; `assign`: every launch begins with that value. */
CUresult sg_condition_new(CUgraph graph, unsigned int value, bool assign, uint64_t *ret_handle);
struct sg_condition *sg_condition_reference(struct sg_condition *condition);
void sg_condition_unreference(struct sg_condition *condition);
/* For the machine: sets the value. False: no such handle. */
bool sg_condition_set(void *user, uint64_t handle, uint32_t value);
/* What the beginning of a launch does to it. */
void sg_condition_reset(struct sg_condition *condition);
bool sg_condition_is_assigned(const struct sg_condition *condition);

/* The work of a node with empty bodies, which are told at parameters->phGraph_out. */
CUresult sg_condition_prepare(CUDA_CONDITIONAL_NODE_PARAMS *parameters, struct sg_work *ret_work);
bool sg_condition_clone(const struct sg_condition_work *work, struct sg_condition_work *ret_work);
void sg_condition_clear(struct sg_condition_work *work);
/* Whether a body holds only what may be there: kernels, copies, memsets, graphs, conditions. */
bool sg_condition_bodies_are_plain(const struct sg_condition_work *work);
/* Runs the bodies in the calling thread; `record` is the node's own, of which theirs are copies. */
CUresult sg_condition_run(const struct sg_condition_work *work, CUcontext context,
			  const struct sg_record *record);
