/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A breakdown of a stream of events that is written by hand. */
#pragma once

#include "analysis/timeline/breakdown.h"
#include "timeline.h"

static struct gt_breakdown *breakdown;
static const struct gt_process_breakdown *found;

static inline int take_into_breakdown(void *analysis, const struct gt_names *names,
				      const struct gt_event *event)
{
	return gt_breakdown_take(analysis, names, event);
}

/* The process begins at 1 ms; calls take 1 µs with 1 µs between them. */
static inline void start_breakdown(void)
{
	gt_breakdown_free(breakdown);
	breakdown = gt_breakdown_new(4);
	STREAM_INTO(breakdown, take_into_breakdown);
}

static inline void finish_breakdown(void)
{
	const struct gt_process_breakdown *const *rows;
	uint64_t sum = 0;
	size_t count;

	CHECK_INT(gt_breakdown_rows(breakdown, stream.names, true, &rows, &count), 0);
	CHECK_INT(count, 1);
	found = rows[0];
	for (unsigned i = 0; i < GT_SPENDINGS; i++)
		sum += found->spent[i];
	CHECK_INT(sum, found->wall);
	CHECK_INT(found->wall, found->end - found->start);
}

/* A launch that takes 1 µs, submitted in its middle; the kernel runs from and to these times. */
static inline void launch_kernel(uint64_t in_stream, uint64_t begin, uint64_t end)
{
	launch(KERNEL, 64, 64, in_stream, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, begin, end);
}

static inline void copy_in(uint64_t in_stream, uint64_t begin, uint64_t end)
{
	copy_async(DEVICE, PINNED, 64, H2D, in_stream);
	feed_work(GT_GPU_COPY_TO_DEVICE, stream.now - 500, begin, end);
}

/* A wait of the host up to a time. */
static inline void wait_until(uint64_t handle, uint64_t end)
{
	stream.duration = end - stream.now - stream.gap;
	synchronize_stream(handle);
	stream.duration = 1000;
}
