/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stream capture: work that is submitted to a stream becomes nodes of a graph. A stream joins a
 * capture by waiting for an event that was recorded in it.
 */
#pragma once

#include <stdbool.h>

#include <cuda.h>

#include "device/stream.h"

/*
 * If the stream is captured, the work becomes a node, which takes it over (it is cleared) and
 * *ret_captured is set. `wait`: the caller would wait for it, which a capture does not allow.
 */
CUresult sg_stream_capture_work(CUstream stream, struct sg_work *work, bool wait,
				bool *ret_captured);
/* Recording an event, and waiting for one, in a stream that may be captured. */
CUresult sg_stream_capture_record(CUstream stream, CUevent event, bool *ret_captured);
CUresult sg_stream_capture_wait(CUstream stream, CUevent event, bool *ret_captured);

/* graph: NULL for a new one. */
CUresult sg_stream_capture_begin(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
				 const CUgraphNode *dependencies, size_t count);
/*
 * End a capture. The caller owns the graph; ret_graph may be NULL if it passed the graph. On an
 * error of the capture, a graph that the capture made is freed.
 */
CUresult sg_stream_capture_end(CUstream stream, CUgraph *ret_graph);

struct sg_stream_capture_info {
	CUstreamCaptureStatus status;
	uint64_t id;
	CUgraph graph;
	const CUgraphNode *dependencies; /* valid until the next call with this stream */
	size_t count;
};

void sg_stream_capture_describe(CUstream stream, struct sg_stream_capture_info *ret_info);
/* Replace the dependencies of the next node, or add to them. */
CUresult sg_stream_capture_depend(CUstream stream, const CUgraphNode *dependencies, size_t count,
				  bool replace);
bool sg_stream_is_captured(CUstream stream);
/*
 * A destroyed stream leaves its capture, which is invalidated if the stream began it. Its work must
 * be joined when the capture ends.
 */
void sg_stream_capture_forget(CUstream stream);

/*
 * For calls that are not allowed while a capture is under way (allocation, synchronisation of
 * everything …): CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures concerned are invalidated.
 */
CUresult sg_stream_capture_allows_unsafe(void);
