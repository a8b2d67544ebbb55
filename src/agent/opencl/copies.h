/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps on devices that do not access the memory of the process (opencl/sharing.h): a buffer
 * that the patched kernels of a context get by a hidden argument. Before a launch the maps are
 * copied to it, unless a launch before has not been read yet, and afterwards what the device has
 * changed is merged into them (opencl/merge.h). The commands are enqueued around the launch: what
 * it changes is merged when it has ended. After many launches the next one waits for them, unless
 * the program has an event that they may wait for.
 *
 * Rings have one writer of this kind, so the launches of a context are executed one after the
 * other, and other contexts get no copies while this one has users.
 */
#pragma once

#include "agent/opencl/layer.h"

struct gt_cl_copies;
struct gt_cl_copied_slot;

/*
 * The copies of a context, which the caller puts later. *ret_error: 0 or gt_agent_error: another
 * context has them, or there is no memory.
 */
struct gt_cl_copies *gt_cl_copies_get(cl_context context, int *ret_error);
void gt_cl_copies_retain(struct gt_cl_copies *copies);
/* NULL does nothing. */
void gt_cl_copies_put(struct gt_cl_copies *copies);
/* Make them an argument of a kernel. False: OpenCL rejects it. */
bool gt_cl_copies_set_argument(struct gt_cl_copies *copies, cl_kernel kernel, cl_uint index);

/* A launch: what the program gave, then what the command gets. */
struct gt_cl_copied_launch {
	struct gt_cl_copies *copies; /* NULL: none are needed */
	cl_command_queue queue;
	cl_uint count; /* events that it waits for */
	const cl_event *list;
	cl_event *event;
	/* Owned. */
	cl_event *own_list;
	cl_event own_event, before;
	struct gt_cl_copied_slot *slot; /* NULL: it has none */
};
/* Between both, the launch is to be enqueued. Other threads wait. */
void gt_cl_copies_begin(struct gt_cl_copied_launch *launch);
void gt_cl_copies_end(struct gt_cl_copied_launch *launch, cl_int result);

/* Merge what all launches that have ended have changed. */
void gt_cl_copies_settle(void);
cl_int CL_API_CALL gt_cl_finish(cl_command_queue queue);
cl_int CL_API_CALL gt_cl_wait_for_events(cl_uint count, const cl_event *list);
cl_event CL_API_CALL gt_cl_create_user_event(cl_context context, cl_int *ret_error);
cl_int CL_API_CALL gt_cl_set_user_event(cl_event event, cl_int status);
/* In the child after fork. */
void gt_cl_copies_forked(void);
