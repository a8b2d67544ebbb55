/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Executable graphs. */
#include <stdlib.h>

#include "device/condition.h"
#include "device/event.h"
#include "device/graph.h"
#include "device/handles.h"
#include "device/stream.h"
#include "device/stream_capture.h"

enum { MAX_LANES = 8 };

static bool can_be_launched(CUgraph graph)
{
	gt_vec_each (node, &graph->nodes) {
		const struct sg_work *work = &(*node)->work;

		if ((work->kind == SG_WORK_GRAPH && !can_be_launched(work->graph)) ||
		    (work->kind == SG_WORK_CONDITION &&
		     !sg_condition_bodies_are_plain(&work->condition)))
			return false;
	}
	return true;
}

CUresult sg_executable_new(CUgraph graph, unsigned long long flags, CUgraphExec *ret_executable)
{
	CUgraphExec executable;
	CUgraphNode *order;
	bool cycle;

	order = sg_graph_sort(graph, &cycle);
	free(order);
	if (cycle || !can_be_launched(graph))
		return CUDA_ERROR_INVALID_VALUE;
	executable = calloc(1, sizeof(*executable));
	if (!order || !executable)
		goto fail;
	executable->graph = sg_graph_clone(graph);
	if (!executable->graph || !sg_handle_add(executable, SG_HANDLE_EXECUTABLE))
		goto fail;
	executable->graph->is_child = true;
	executable->flags = flags;
	pthread_mutex_init(&executable->lock, NULL);
	*ret_executable = executable;
	return CUDA_SUCCESS;
fail:
	if (executable)
		sg_graph_free(executable->graph);
	free(executable);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void sg_executable_free(CUgraphExec executable)
{
	sg_handle_remove(executable);
	if (executable->last)
		sg_operation_join(executable->last);
	sg_operation_unreference(executable->last);
	gt_vec_each (lane, &executable->lanes) {
		if (sg_handle_is(*lane, SG_HANDLE_STREAM))
			sg_stream_close(*lane);
	}
	gt_vec_free(&executable->lanes);
	sg_graph_free(executable->graph);
	pthread_mutex_destroy(&executable->lock);
	free(executable);
}

/* ---- launches -------------------------------------------------------------------------- */

/* A launch while its work is submitted to streams. */
struct executable_launch {
	CUgraphExec executable;
	CUstream stream;
	size_t lanes_used; /* lane 0 is the launching stream, n is executable->lanes[n - 1] */
};

static CUresult put_nodes(struct executable_launch *launch, CUgraph graph,
			  struct sg_operation *begin, struct sg_operation *end);

static CUresult put_empty(struct executable_launch *launch, struct sg_operation **ret_operation)
{
	struct sg_work nothing = {.kind = SG_WORK_EMPTY};

	*ret_operation = sg_operation_new(&nothing);
	return *ret_operation ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * Choose the stream of a node: that of its first dependency, if nothing follows that one yet; else
 * an unused one, so that branches run concurrently.
 */
static CUstream choose_lane(struct executable_launch *launch, CUgraphNode node)
{
	CUgraphExec executable = launch->executable;
	CUstream lane = NULL;

	if (node->dependencies.count) {
		struct sg_operation *before = node->dependencies.items[0]->operation;
		struct sg_operation *tail = sg_stream_tail(before->stream);
		bool is_last = tail == before;

		sg_operation_unreference(tail);
		if (is_last)
			return before->stream;
	}
	if (!launch->lanes_used++)
		return launch->stream;
	if (launch->stream->context != executable->context)
		return launch->stream;
	if (launch->lanes_used - 2 < executable->lanes.count)
		return executable->lanes.items[launch->lanes_used - 2];
	if (executable->lanes.count >= MAX_LANES)
		return executable->lanes.items[launch->lanes_used % MAX_LANES];
	if (sg_stream_new(executable->context, SG_STREAM_INTERNAL, CU_STREAM_NON_BLOCKING, 0,
			  &lane))
		return launch->stream;
	if (gt_vec_push(&executable->lanes, lane)) {
		sg_stream_close(lane);
		return launch->stream;
	}
	return lane;
}

static bool wait_for_before(CUgraphNode node, struct sg_operation *operation,
			    struct sg_operation *begin)
{
	gt_vec_each (dependency, &node->dependencies) {
		if (!sg_operation_wait_for(operation, (*dependency)->operation))
			return false;
	}
	return sg_operation_wait_for(operation, begin);
}

/* A child graph: its nodes, between an operation before and one after them. */
static CUresult put_child(struct executable_launch *launch, CUgraphNode node,
			  struct sg_operation *begin)
{
	struct sg_operation *first = NULL, *last = NULL;
	CUstream lane = choose_lane(launch, node);
	CUresult result = put_empty(launch, &first);

	if (!result && !wait_for_before(node, first, begin))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		result = sg_stream_put(lane, first);
	if (!result)
		result = put_empty(launch, &last);
	if (!result)
		result = put_nodes(launch, node->work.graph, first, last);
	if (!result)
		result = sg_stream_put(lane, last);
	sg_operation_unreference(first);
	node->operation = last;
	return result;
}

static CUresult put_node(struct executable_launch *launch, CUgraphNode node,
			 struct sg_operation *begin)
{
	struct sg_work work = {.kind = SG_WORK_EMPTY};
	struct sg_operation *operation;
	CUresult result;

	if (node->work.kind == SG_WORK_GRAPH && node->enabled)
		return put_child(launch, node, begin);
	if (node->enabled && !sg_work_clone(&node->work, &work))
		return CUDA_ERROR_OUT_OF_MEMORY;
	operation = sg_operation_new(&work);
	if (!operation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->operation = operation;
	if (!wait_for_before(node, operation, begin))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (operation->work.kind == SG_WORK_WAIT) {
		struct sg_operation *record = sg_event_operation(operation->work.event);
		bool added = sg_operation_wait_for(operation, record);

		sg_operation_unreference(record);
		if (!added)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	result = sg_stream_put(choose_lane(launch, node), operation);
	if (!result && node->work.kind == SG_WORK_RECORD && node->enabled)
		sg_event_set_operation(node->work.event, operation);
	return result;
}

static CUresult put_nodes(struct executable_launch *launch, CUgraph graph,
			  struct sg_operation *begin, struct sg_operation *end)
{
	bool cycle;
	CUgraphNode *order = sg_graph_sort(graph, &cycle);
	CUresult result = order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; order && i < graph->nodes.count; i++)
		order[i]->operation = NULL;
	for (size_t i = 0; !result && i < graph->nodes.count; i++)
		result = put_node(launch, order[i], begin);
	for (size_t i = 0; order && i < graph->nodes.count; i++) {
		if (!result && !sg_operation_wait_for(end, order[i]->operation))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		sg_operation_unreference(order[i]->operation);
		order[i]->operation = NULL;
	}
	free(order);
	return result;
}

static CUresult put_reset(struct executable_launch *launch, struct sg_condition *condition)
{
	struct sg_work work = {.kind = SG_WORK_RESET};
	struct sg_operation *operation;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	work.reset = sg_condition_reference(condition);
	operation = sg_operation_new(&work);
	if (operation && sg_operation_wait_for(operation, launch->executable->last))
		result = sg_stream_put(launch->stream, operation);
	sg_operation_unreference(operation);
	return result;
}

/* Conditions get their first values once the launch before is over. */
static CUresult put_resets(struct executable_launch *launch, CUgraph graph)
{
	CUresult result = CUDA_SUCCESS;

	gt_vec_each (condition, &graph->conditions) {
		if (!result && sg_condition_is_assigned(*condition))
			result = put_reset(launch, *condition);
	}
	gt_vec_each (node, &graph->nodes) {
		const struct sg_work *work = &(*node)->work;

		if (!result && work->kind == SG_WORK_GRAPH)
			result = put_resets(launch, work->graph);
		for (unsigned int i = 0;
		     work->kind == SG_WORK_CONDITION && !result && i < work->condition.size; i++)
			result = put_resets(launch, work->condition.bodies[i]);
	}
	return result;
}

static CUresult launch_locked(CUgraphExec executable, CUstream stream)
{
	struct executable_launch launch = {.executable = executable, .stream = stream};
	struct sg_operation *begin = NULL, *end = NULL;
	CUresult result = put_resets(&launch, executable->graph);

	if (!result)
		result = put_empty(&launch, &begin);
	if (!executable->context)
		executable->context = stream->context;
	if (!result && !sg_operation_wait_for(begin, executable->last))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		result = sg_stream_put(stream, begin);
	if (!result)
		result = put_empty(&launch, &end);
	if (!result)
		result = put_nodes(&launch, executable->graph, begin, end);
	if (!result)
		result = sg_stream_put(stream, end);
	sg_operation_unreference(begin);
	if (result) {
		sg_operation_unreference(end);
		return result;
	}
	sg_operation_unreference(executable->last);
	executable->last = end;
	return CUDA_SUCCESS;
}

CUresult sg_executable_launch(CUgraphExec executable, CUstream stream)
{
	struct sg_work work = {.kind = SG_WORK_GRAPH};
	bool captured = false;
	CUresult result;

	if (sg_stream_is_captured(stream)) {
		work.graph = sg_graph_clone(executable->graph);
		if (!work.graph)
			return CUDA_ERROR_OUT_OF_MEMORY;
		work.graph->is_child = true;
		result = sg_stream_capture_work(stream, &work, false, &captured);
		sg_work_clear(&work);
		return result;
	}
	pthread_mutex_lock(&executable->lock);
	result = launch_locked(executable, stream);
	pthread_mutex_unlock(&executable->lock);
	return result;
}

/* ---- updates --------------------------------------------------------------------------- */

static CUgraphExecUpdateResult compare_nodes(CUgraphNode mine, CUgraphNode theirs)
{
	if (mine->work.kind != theirs->work.kind)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (mine->dependencies.count != theirs->dependencies.count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < mine->dependencies.count; i++) {
		if (mine->dependencies.items[i]->index != theirs->dependencies.items[i]->index)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	}
	if (mine->work.kind == SG_WORK_CONDITION &&
	    mine->work.condition.condition != theirs->work.condition.condition)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	if (mine->work.kind == SG_WORK_ALLOCATE || mine->work.kind == SG_WORK_FREE)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_graphs(CUgraph mine, CUgraph theirs,
					      CUgraphNode *ret_different)
{
	*ret_different = NULL;
	if (mine->nodes.count != theirs->nodes.count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < mine->nodes.count; i++)
		mine->nodes.items[i]->index = theirs->nodes.items[i]->index = i;
	for (size_t i = 0; i < mine->nodes.count; i++) {
		CUgraphExecUpdateResult difference =
			compare_nodes(mine->nodes.items[i], theirs->nodes.items[i]);

		if (difference) {
			*ret_different = theirs->nodes.items[i];
			return difference;
		}
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult sg_executable_update(CUgraphExec executable, CUgraph graph,
			      CUgraphExecUpdateResultInfo *ret_info)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&executable->lock);
	info.result = compare_graphs(executable->graph, graph, &info.errorNode);
	if (info.result)
		result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; !result && i < graph->nodes.count; i++) {
		CUgraphNode node = executable->graph->nodes.items[i];
		struct sg_work work;

		if (!sg_work_clone(&graph->nodes.items[i]->work, &work)) {
			result = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		sg_node_set(node, &work);
		node->original = graph->nodes.items[i];
	}
	pthread_mutex_unlock(&executable->lock);
	*ret_info = info;
	return result;
}
