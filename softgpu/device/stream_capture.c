/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/stream_capture.h"

#include <stdlib.h>

#include "device/event.h"
#include "device/graph.h"
#include "device/handles.h"

struct sg_stream_capture {
	uint64_t id;
	CUgraph graph;
	bool graph_is_given; /* cuStreamBeginCaptureToGraph */
	CUstreamCaptureMode mode;
	CUstream origin;
	struct sg_thread *thread; /* that began it */
	GT_VEC(CUstream) streams; /* all that take part, the origin first */
	GT_VEC(CUgraphNode) ends; /* the last nodes of streams that were destroyed */
	bool invalidated;
};

static struct {
	pthread_mutex_t lock;
	GT_VEC(struct sg_stream_capture *) active;
	atomic_size_t count; /* of active, to be asked without the lock */
	uint64_t last_id;
} captures = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sg_stream_capture *find_capture_locked(uint64_t id)
{
	gt_vec_each (capture, &captures.active) {
		if ((*capture)->id == id)
			return *capture;
	}
	return NULL;
}

/* Work in the legacy stream would have to wait for a blocking stream that is captured. */
static CUresult check_legacy_locked(CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	if (stream->kind != SG_STREAM_LEGACY)
		return result;
	gt_vec_each (capture, &captures.active) {
		gt_vec_each (other, &(*capture)->streams) {
			if ((*other)->context != stream->context ||
			    ((*other)->flags & CU_STREAM_NON_BLOCKING))
				continue;
			(*capture)->invalidated = true;
			result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	}
	return result;
}

static CUresult add_locked(CUstream stream, struct sg_work *work)
{
	CUgraphNode node;
	CUresult result;

	if (work->kind == SG_WORK_HOST && work->host.callback) {
		stream->capture->invalidated = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	result = sg_graph_add(stream->capture->graph, stream->frontier.items,
			      stream->frontier.count, work, &node);
	if (result)
		return result;
	stream->frontier.count = 0;
	return gt_vec_push(&stream->frontier, node) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sg_stream_capture_work(CUstream stream, struct sg_work *work, bool wait,
				bool *ret_captured)
{
	CUresult result;

	if (!atomic_load(&captures.count))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	if (!stream->capture) {
		result = check_legacy_locked(stream);
	} else if (stream->capture->invalidated) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else if (wait) {
		stream->capture->invalidated = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else {
		result = add_locked(stream, work);
		*ret_captured = !result;
	}
	pthread_mutex_unlock(&captures.lock);
	return result;
}

CUresult sg_stream_capture_record(CUstream stream, CUevent event, bool *ret_captured)
{
	CUresult result = CUDA_SUCCESS;

	if (!atomic_load(&captures.count))
		return result;
	pthread_mutex_lock(&captures.lock);
	if (!stream->capture) {
		result = check_legacy_locked(stream);
		goto out;
	}
	if (stream->capture->invalidated) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		goto out;
	}
	pthread_mutex_lock(&event->lock);
	event->nodes.count = 0;
	gt_vec_each (node, &stream->frontier) {
		if (gt_vec_push(&event->nodes, *node))
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	event->capture_id = stream->capture->id;
	pthread_mutex_unlock(&event->lock);
	*ret_captured = true;
out:
	pthread_mutex_unlock(&captures.lock);
	return result;
}

static bool contains_stream(CUstream stream, CUgraphNode node)
{
	gt_vec_each (known, &stream->frontier) {
		if (*known == node)
			return true;
	}
	return false;
}

static CUresult add_to_frontier(CUstream stream, const CUgraphNode *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!contains_stream(stream, nodes[i]) && gt_vec_push(&stream->frontier, nodes[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult join_locked(CUstream stream, CUevent event, struct sg_stream_capture *capture)
{
	if (!stream->capture) {
		if (stream->kind == SG_STREAM_LEGACY)
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		if (gt_vec_push(&capture->streams, stream))
			return CUDA_ERROR_OUT_OF_MEMORY;
		stream->capture = capture;
		stream->frontier.count = 0;
	} else if (stream->capture != capture) {
		stream->capture->invalidated = capture->invalidated = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	return add_to_frontier(stream, event->nodes.items, event->nodes.count);
}

CUresult sg_stream_capture_wait(CUstream stream, CUevent event, bool *ret_captured)
{
	struct sg_stream_capture *capture;
	CUresult result;

	if (!atomic_load(&captures.count))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	capture = event->capture_id ? find_capture_locked(event->capture_id) : NULL;
	if (capture) {
		result = capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
					      : join_locked(stream, event, capture);
		*ret_captured = !result;
	} else if (stream->capture) {
		stream->capture->invalidated = true;
		result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	} else {
		result = check_legacy_locked(stream);
	}
	pthread_mutex_unlock(&captures.lock);
	return result;
}

/* ---- begin and end --------------------------------------------------------------------- */

static CUresult begin_locked(CUstream stream, struct sg_stream_capture *capture)
{
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (gt_vec_push(&capture->streams, stream) || gt_vec_push(&captures.active, capture))
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->id = ++captures.last_id;
	atomic_store(&captures.count, captures.active.count);
	stream->capture = capture;
	stream->frontier.count = 0;
	return CUDA_SUCCESS;
}

static void free_capture(struct sg_stream_capture *capture)
{
	gt_vec_free(&capture->streams);
	gt_vec_free(&capture->ends);
	free(capture);
}

CUresult sg_stream_capture_begin(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
				 const CUgraphNode *dependencies, size_t count)
{
	struct sg_stream_capture *capture;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if (stream->kind == SG_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return result;
	capture->graph_is_given = graph != NULL;
	capture->graph = graph ? graph : sg_graph_new();
	capture->mode = mode;
	capture->origin = stream;
	capture->thread = sg_thread_self();
	if (capture->graph) {
		pthread_mutex_lock(&captures.lock);
		result = begin_locked(stream, capture);
		if (!result)
			result = add_to_frontier(stream, dependencies, count);
		pthread_mutex_unlock(&captures.lock);
	}
	if (result) {
		if (!graph)
			sg_graph_free(capture->graph);
		free_capture(capture);
	}
	return result;
}

/* Whether a node comes before the end of the origin. */
static bool is_node_joined(const struct sg_stream_capture *capture, CUgraphNode node)
{
	gt_vec_each (last, &capture->origin->frontier)
		if (*last == node || sg_node_depends_on(*last, node))
			return true;
	return false;
}

/* Whether all that was captured in other streams comes before the end of the origin. */
static bool is_joined(const struct sg_stream_capture *capture)
{
	gt_vec_each (stream, &capture->streams)
		gt_vec_each (node, &(*stream)->frontier)
			if (!is_node_joined(capture, *node))
				return false;
	gt_vec_each (node, &capture->ends)
		if (!is_node_joined(capture, *node))
			return false;
	return true;
}

static void leave_locked(struct sg_stream_capture *capture)
{
	gt_vec_each (stream, &capture->streams) {
		(*stream)->capture = NULL;
		gt_vec_free(&(*stream)->frontier);
	}
	for (size_t i = 0; i < captures.active.count; i++) {
		if (captures.active.items[i] == capture)
			captures.active.items[i] = captures.active.items[--captures.active.count];
	}
	atomic_store(&captures.count, captures.active.count);
}

CUresult sg_stream_capture_end(CUstream stream, CUgraph *ret_graph)
{
	struct sg_stream_capture *capture;
	CUresult result = CUDA_SUCCESS;

	if (ret_graph)
		*ret_graph = NULL;
	pthread_mutex_lock(&captures.lock);
	capture = stream->capture;
	if (!capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (capture->origin != stream)
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		 capture->thread != sg_thread_self())
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (result) {
		if (capture)
			capture->invalidated = true;
		pthread_mutex_unlock(&captures.lock);
		return result;
	}
	if (capture->invalidated)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	else if (!ret_graph && !capture->graph_is_given)
		result = CUDA_ERROR_INVALID_VALUE;
	leave_locked(capture);
	pthread_mutex_unlock(&captures.lock);
	if (!result && ret_graph)
		*ret_graph = capture->graph;
	if (result && !capture->graph_is_given)
		sg_graph_free(capture->graph);
	free_capture(capture);
	return result;
}

/* ---- questions ------------------------------------------------------------------------- */

bool sg_stream_is_captured(CUstream stream)
{
	bool captured;

	if (!atomic_load(&captures.count))
		return false;
	pthread_mutex_lock(&captures.lock);
	captured = stream->capture != NULL;
	pthread_mutex_unlock(&captures.lock);
	return captured;
}

/* What the stream captured must be joined until the capture ends, by an event, as before. */
static void keep_ends(struct sg_stream_capture *capture, CUstream stream)
{
	gt_vec_each (node, &stream->frontier)
		capture->invalidated |= gt_vec_push(&capture->ends, *node) != 0;
}

static void remove_stream(struct sg_stream_capture *capture, CUstream stream)
{
	size_t kept = 0;

	gt_vec_each (other, &capture->streams)
		if (*other != stream)
			capture->streams.items[kept++] = *other;
	capture->streams.count = kept;
}

void sg_stream_capture_forget(CUstream stream)
{
	struct sg_stream_capture *capture;

	if (!atomic_load(&captures.count))
		return;
	pthread_mutex_lock(&captures.lock);
	capture = stream->capture;
	if (capture) {
		keep_ends(capture, stream);
		remove_stream(capture, stream);
		if (capture->origin == stream) {
			capture->origin = NULL;
			capture->invalidated = true;
		}
		if (!capture->streams.count) {
			leave_locked(capture);
			if (!capture->graph_is_given)
				sg_graph_free(capture->graph);
			free_capture(capture);
		}
		stream->capture = NULL;
		gt_vec_free(&stream->frontier);
	}
	pthread_mutex_unlock(&captures.lock);
}

void sg_stream_capture_describe(CUstream stream, struct sg_stream_capture_info *ret_info)
{
	struct sg_stream_capture_info info = {.status = CU_STREAM_CAPTURE_STATUS_NONE};
	struct sg_stream_capture *capture;

	pthread_mutex_lock(&captures.lock);
	capture = stream->capture;
	if (capture) {
		info.status = capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
						   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
		info.id = capture->id;
		info.graph = capture->graph;
		info.dependencies = stream->frontier.items;
		info.count = stream->frontier.count;
	}
	pthread_mutex_unlock(&captures.lock);
	*ret_info = info;
}

CUresult sg_stream_capture_depend(CUstream stream, const CUgraphNode *dependencies, size_t count,
				  bool replace)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&captures.lock);
	if (!stream->capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; !result && i < count; i++) {
		if (!sg_handle_is(dependencies[i], SG_HANDLE_NODE) ||
		    dependencies[i]->graph != stream->capture->graph)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (!result) {
		if (replace)
			stream->frontier.count = 0;
		result = add_to_frontier(stream, dependencies, count);
	}
	pthread_mutex_unlock(&captures.lock);
	return result;
}

CUresult sg_stream_capture_allows_unsafe(void)
{
	struct sg_thread *self = sg_thread_self();
	CUresult result = CUDA_SUCCESS;

	if (!atomic_load(&captures.count) ||
	    (self && self->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED))
		return result;
	pthread_mutex_lock(&captures.lock);
	gt_vec_each (capture, &captures.active) {
		bool own = (*capture)->thread == self;

		if ((*capture)->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		if (!own && ((*capture)->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
			     (self && self->capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
			continue;
		(*capture)->invalidated = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&captures.lock);
	return result;
}
