/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stream capture. */
#include "device/graph.h"
#include "driver/api.h"

static CUresult begin_capture(CUstream handle, CUstream zero, CUstreamCaptureMode mode,
			      CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED ||
	    (graph && !sg_handle_is(graph, SG_HANDLE_GRAPH)))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_stream_capture_begin(stream, mode, graph, dependencies, count);
}

SG_STREAM_VARIANTS(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz,
		   (CUstream stream, CUstreamCaptureMode mode),
		   begin_capture(stream, zero, mode, NULL, NULL, 0))
SG_STREAM_VARIANTS(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, (CUstream stream),
		   begin_capture(stream, zero, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0))
SG_STREAM_VARIANTS(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz,
		   (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
		    const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode),
		   begin_capture(stream, zero, mode, graph, dependencies, count))

static CUresult end_capture(CUstream handle, CUstream zero, CUgraph *graph)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	return sg_stream_capture_end(stream, graph);
}

SG_STREAM_VARIANTS(cuStreamEndCapture, cuStreamEndCapture_ptsz, (CUstream stream, CUgraph *graph),
		   end_capture(stream, zero, graph))

static CUresult is_capturing(CUstream handle, CUstream zero, CUstreamCaptureStatus *status)
{
	struct sg_stream_capture_info info;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	sg_stream_capture_describe(stream, &info);
	*status = info.status;
	return CUDA_SUCCESS;
}

SG_STREAM_VARIANTS(cuStreamIsCapturing, cuStreamIsCapturing_ptsz,
		   (CUstream stream, CUstreamCaptureStatus *status),
		   is_capturing(stream, zero, status))

/* Where the answers go; all but the status may be NULL. */
struct capture_answers {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **dependencies;
	const CUgraphEdgeData **edges;
	size_t *count;
};

static CUresult describe_capture(CUstream handle, CUstream zero,
				 const struct capture_answers *answers)
{
	struct sg_stream_capture_info info;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if (!answers->status)
		return CUDA_ERROR_INVALID_VALUE;
	sg_stream_capture_describe(stream, &info);
	*answers->status = info.status;
	if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (answers->id)
		*answers->id = info.id;
	if (answers->graph)
		*answers->graph = info.graph;
	if (answers->dependencies)
		*answers->dependencies = info.dependencies;
	/* All edges are plain ones. */
	if (answers->edges)
		*answers->edges = NULL;
	if (answers->count)
		*answers->count = info.count;
	return CUDA_SUCCESS;
}

#define ANSWERS(...) (&(struct capture_answers){__VA_ARGS__})

SG_STREAM_VARIANTS(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz,
		   (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
		   describe_capture(stream, zero, ANSWERS(status, id)))
SG_STREAM_VARIANTS(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz,
		   (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
		    const CUgraphNode **dependencies, size_t *count),
		   describe_capture(stream, zero,
				    ANSWERS(status, id, graph, dependencies, NULL, count)))
SG_STREAM_VARIANTS(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz,
		   (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
		    const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count),
		   describe_capture(stream, zero,
				    ANSWERS(status, id, graph, dependencies, edges, count)))

static CUresult update_dependencies(CUstream handle, CUstream zero, const CUgraphNode *dependencies,
				    size_t count, unsigned int flags)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if ((count && !dependencies) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_stream_capture_depend(stream, dependencies, count,
					flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

SG_STREAM_VARIANTS(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz,
		   (CUstream stream, CUgraphNode *dependencies, size_t count, unsigned int flags),
		   update_dependencies(stream, zero, dependencies, count, flags))
SG_STREAM_VARIANTS(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz,
		   (CUstream stream, CUgraphNode *dependencies, const CUgraphEdgeData *edges,
		    size_t count, unsigned int flags),
		   update_dependencies(stream, zero, dependencies, count, flags))

SG_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct sg_thread *self = sg_thread_self();
	CUstreamCaptureMode before;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!self)
		return CUDA_ERROR_OUT_OF_MEMORY;
	before = self->capture_mode;
	self->capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
