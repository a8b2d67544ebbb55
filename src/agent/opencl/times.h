/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Times of OpenCL's commands, in queues that the program created with CL_QUEUE_PROFILING_ENABLE:
 * those of clGetEventProfilingInfo, asked for by a callback of the command's event. Where the
 * program wants no event, the command gets one that is released at once. Each command becomes a
 * `gpu_work` event (agent/ring.h).
 *
 * The times of a device are on a clock of its own. CL_PROFILING_COMMAND_QUEUED is its time during
 * the call that enqueued the command, and so relates it to CLOCK_MONOTONIC (GT_AGENT_EVENT_CLOCK).
 */
#pragma once

#include "agent/opencl/layer.h"

/*
 * Where times were asked for (GT_AGENT_GPU_TIMES), put the functions that submit work into the
 * table, those that exist below the layer; they call what is in the table before.
 */
void gt_cl_times_open(struct _cl_icd_dispatch *ret_dispatch);
/* Record the name of a kernel, of which no call has it; where times were asked for. */
void gt_cl_times_name(cl_kernel kernel, const char *name);
/* In the child after fork. */
void gt_cl_times_forked(void);
