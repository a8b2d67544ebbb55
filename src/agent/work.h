/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Times of a GPU's work without CUPTI. The agent records an event of the stream before and after
 * each operation that the program submits; a thread of the agent asks for their times when they are
 * complete, and writes a `gpu_work` event (ring.h). Nothing here waits for a GPU.
 *
 * The times of a context are on a clock of its own, whose differences come from
 * cuEventElapsedTime. Each time is measured from the one before: the driver returns milliseconds as
 * a float, which is precise to a ns for short times only. GT_AGENT_EVENT_CLOCK relates the clock to
 * CLOCK_MONOTONIC: an event in a stream of the agent, and the host's times before it was recorded
 * and after it was complete. After a pause the context gets another clock.
 *
 * The events belong to a context, and end with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ring.h"

/* An operation between its two events. */
struct gt_agent_timed_operation {
	void *start, *end; /* CUevent */
	void *stream;
	uint64_t submitted, returned;
	uint64_t object, bytes;
	uint32_t thread, operation;
	uint32_t flags;
	struct gt_agent_timed_operation *next;
};

struct gt_agent_work_context;

/* In place of a stream: the default one, and the driver returns when the work is done. */
#define SYNCHRONOUS ((void *)-1)

/* An operation that is being submitted. */
struct gt_agent_work {
	struct gt_agent_work_context *context;
	uint64_t generation;                        /* of the context */
	struct gt_agent_timed_operation *operation; /* NULL: it is not timed */
	enum gt_agent_count reason;                 /* of that */
	uint64_t submitted;
	bool is_synchronous;
	void *stream; /* as the driver takes it for events */
};

/*
 * Before an operation is submitted to a stream: record its first event. False: times were not asked
 * for, or there is no context. An operation that cannot be timed is counted (ring.h).
 */
bool gt_agent_work_begin(struct gt_agent_work *work, void *stream, bool per_thread);
/* After the driver has returned: record the last event, unless there was an error. */
void gt_agent_work_end(struct gt_agent_work *work, int error, enum gt_gpu_operation operation,
		       uint64_t object, uint64_t bytes);

/*
 * A context may end: write what is complete, and touch it no more. Afterwards: whether it has
 * ended.
 */
void gt_agent_work_suspend(void *context);
void gt_agent_work_resume(void *context, bool has_ended);

/* Whether the program's work is timed. */
bool gt_agent_work_is_timed(void);
/* Read GT_AGENT_GPU_TIMES. */
void gt_agent_work_open(void);
/* In the child after fork. */
void gt_agent_work_forked(void);

/* ---- of the arguments of copies (<cuda.h>) ------------------------------------------------- */

/* The start of CUlaunchConfig. */
struct gt_agent_launch {
	unsigned grid[3], block[3], shared;
	void *stream;
};

/* CUDA_MEMCPY2D */
struct gt_agent_copy_2d {
	size_t source_x, source_y;
	unsigned source_type;
	const void *source_host;
	uint64_t source_device;
	void *source_array;
	size_t source_pitch, target_x, target_y;
	unsigned target_type;
	void *target_host;
	uint64_t target_device;
	void *target_array;
	size_t target_pitch, width, height;
};

/* CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER */
struct gt_agent_copy_3d {
	size_t source_x, source_y, source_z, source_level;
	unsigned source_type;
	const void *source_host;
	uint64_t source_device;
	void *source_array, *source_context;
	size_t source_pitch, source_height;
	size_t target_x, target_y, target_z, target_level;
	unsigned target_type;
	void *target_host;
	uint64_t target_device;
	void *target_array, *target_context;
	size_t target_pitch, target_height, width, height, depth;
};

enum gt_gpu_operation gt_agent_copy_of(uint64_t target, uint64_t source);
enum gt_gpu_operation gt_agent_copy_of_2d(const struct gt_agent_copy_2d *copy);
enum gt_gpu_operation gt_agent_copy_of_3d(const struct gt_agent_copy_3d *copy);
uint64_t gt_agent_bytes_of_2d(const struct gt_agent_copy_2d *copy);
uint64_t gt_agent_bytes_of_3d(const struct gt_agent_copy_3d *copy);
uint64_t gt_agent_sum(const size_t *sizes, size_t count);
