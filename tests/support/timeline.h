/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A timeline over a stream of events that is written by hand, and what it passed on. */
#pragma once

#include "analysis/timeline/timeline.h"

#include "analysis.h"

#define H2D 1
#define D2H 2
#define DEVICE 0x7f0000000000 /* device memory of a MiB */
#define PINNED 0x200000000    /* pinned memory of a MiB */
#define HOST 0x55550000       /* memory that CUDA knows nothing of */
#define KERNEL 0x401000

static struct gt_timeline *timeline;
static struct gt_gpu_interval gpu[64];
static struct gt_host_interval host[256];
static size_t gpu_count, host_count;

static inline int keep_gpu(void *context, const struct gt_names *names,
			   const struct gt_gpu_interval *interval)
{
	gpu[gpu_count++ % gt_countof(gpu)] = *interval;
	return 0;
}

static inline int keep_host(void *context, const struct gt_names *names,
			    const struct gt_host_interval *interval)
{
	host[host_count++ % gt_countof(host)] = *interval;
	return 0;
}

static inline int take_event(void *analysis, const struct gt_names *names,
			     const struct gt_event *event)
{
	return gt_timeline_take(analysis, names, event);
}

static inline void start_timeline(void)
{
	const struct gt_timeline_sink sink = {.host = keep_host, .gpu = keep_gpu};

	gt_timeline_free(timeline);
	timeline = gt_timeline_new(&sink);
	STREAM_INTO(timeline, take_event);
	cuda_malloc(DEVICE, 1 << 20);
	allocate("cudaMallocHost", "size", PINNED, 1 << 20, 0);
	register_kernel(KERNEL, "steps");
	gpu_count = host_count = 0;
}

static inline void finish_timeline(void)
{
	CHECK_INT(gt_timeline_finish(timeline, stream.names), 0);
}

static inline void create_stream(uint64_t handle)
{
	struct built built = begin("cudaStreamCreate");

	point(&built, "pStream", &handle, sizeof(handle));
	returns(&built, 0);
}

static inline void record_event(uint64_t event, uint64_t in_stream)
{
	struct built built = begin("cudaEventRecord");

	pass(&built, "event", event);
	pass(&built, "stream", in_stream);
	returns(&built, 0);
}

static inline void wait_event(uint64_t in_stream, uint64_t event)
{
	struct built built = begin("cudaStreamWaitEvent");

	pass(&built, "stream", in_stream);
	pass(&built, "event", event);
	pass(&built, "flags", 0);
	returns(&built, 0);
}

static inline void synchronize_stream(uint64_t handle)
{
	call_with("cudaStreamSynchronize", "stream", handle, 0);
}

/* The times of an operation of the current thread; returned: of the driver's call, or 0. */
/* The bound of the error of the times that are fed, ns. */
static uint64_t work_error;

static inline void feed_returned_work(enum gt_gpu_operation operation, uint64_t submitted,
				      uint64_t returned, uint64_t begin, uint64_t end)
{
	struct gt_event_gpu_work event = {
		.head = {.kind = GT_EVENT_gpu_work,
			 .size = sizeof(event),
			 .process = stream.process,
			 .thread = stream.thread,
			 .time = end,
			 .device = stream.device},
		.submitted = submitted,
		.returned = returned,
		.start = begin,
		.stream = 0x11,
		.object = KERNEL,
		.handle = 0xc0,
		.operation = operation,
		.error = work_error,
	};

	feed_event(&event.head);
}

static inline void feed_work(enum gt_gpu_operation operation, uint64_t submitted, uint64_t begin,
			     uint64_t end)
{
	feed_returned_work(operation, submitted, 0, begin, end);
}
