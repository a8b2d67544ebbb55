/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/condition.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "device/clock.h"
#include "device/context.h"
#include "device/handles.h"

struct sg_condition {
	atomic_uint references;
	atomic_uint value;
	unsigned int first;
	bool assign;
};

enum { MAX_BODIES = 1024 };

/*
 * Held from the lookup of a handle to the end of its use: a kernel may name one that is being
 * freed.
 */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t sg_condition_handle(const struct sg_condition *condition)
{
	return (uintptr_t)condition;
}

CUresult sg_condition_new(CUgraph graph, unsigned int value, bool assign, uint64_t *ret_handle)
{
	struct sg_condition *condition = calloc(1, sizeof(*condition));

	if (!condition || gt_vec_push(&graph->conditions, condition)) {
		free(condition);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!sg_handle_add(condition, SG_HANDLE_CONDITION)) {
		graph->conditions.count--;
		free(condition);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	condition->references = 1;
	condition->value = condition->first = value;
	condition->assign = assign;
	*ret_handle = sg_condition_handle(condition);
	return CUDA_SUCCESS;
}

struct sg_condition *sg_condition_reference(struct sg_condition *condition)
{
	atomic_fetch_add(&condition->references, 1);
	return condition;
}

void sg_condition_unreference(struct sg_condition *condition)
{
	if (atomic_fetch_sub(&condition->references, 1) > 1)
		return;
	pthread_mutex_lock(&handles_lock);
	sg_handle_remove(condition);
	pthread_mutex_unlock(&handles_lock);
	free(condition);
}

bool sg_condition_set(void *user, uint64_t handle, uint32_t value)
{
	struct sg_condition *condition = (struct sg_condition *)(uintptr_t)handle;
	bool known;

	pthread_mutex_lock(&handles_lock);
	known = sg_handle_is(condition, SG_HANDLE_CONDITION);
	if (known)
		atomic_store(&condition->value, value);
	pthread_mutex_unlock(&handles_lock);
	return known;
}

void sg_condition_reset(struct sg_condition *condition)
{
	atomic_store(&condition->value, condition->first);
}

bool sg_condition_is_assigned(const struct sg_condition *condition)
{
	return condition->assign;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static bool size_is_right(const CUDA_CONDITIONAL_NODE_PARAMS *parameters)
{
	switch (parameters->type) {
	case CU_GRAPH_COND_TYPE_IF:
		return parameters->size == 1 || parameters->size == 2;
	case CU_GRAPH_COND_TYPE_WHILE:
		return parameters->size == 1;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return parameters->size >= 1 && parameters->size <= MAX_BODIES;
	default:
		return false;
	}
}

CUresult sg_condition_prepare(CUDA_CONDITIONAL_NODE_PARAMS *parameters, struct sg_work *ret_work)
{
	struct sg_condition *condition = (struct sg_condition *)(uintptr_t)parameters->handle;
	struct sg_work work = {.kind = SG_WORK_CONDITION};

	if (!sg_handle_is(condition, SG_HANDLE_CONDITION) || !size_is_right(parameters))
		return CUDA_ERROR_INVALID_VALUE;
	work.condition.condition = sg_condition_reference(condition);
	work.condition.type = parameters->type;
	work.condition.bodies = calloc(parameters->size, sizeof(*work.condition.bodies));
	while (work.condition.bodies && work.condition.size < parameters->size) {
		CUgraph body = sg_graph_new();

		if (!body)
			break;
		body->is_child = true;
		work.condition.bodies[work.condition.size++] = body;
	}
	if (work.condition.size < parameters->size) {
		sg_work_clear(&work);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	parameters->phGraph_out = work.condition.bodies;
	*ret_work = work;
	return CUDA_SUCCESS;
}

bool sg_condition_clone(const struct sg_condition_work *work, struct sg_condition_work *ret_work)
{
	struct sg_condition_work copy = {.type = work->type};

	copy.condition = sg_condition_reference(work->condition);
	copy.bodies = calloc(work->size, sizeof(*copy.bodies));
	while (copy.bodies && copy.size < work->size) {
		CUgraph body = sg_graph_clone(work->bodies[copy.size]);

		if (!body)
			break;
		body->is_child = true;
		copy.bodies[copy.size++] = body;
	}
	if (copy.size < work->size) {
		sg_condition_clear(&copy);
		return false;
	}
	*ret_work = copy;
	return true;
}

void sg_condition_clear(struct sg_condition_work *work)
{
	for (unsigned int i = 0; i < work->size; i++)
		sg_graph_free(work->bodies[i]);
	free(work->bodies);
	sg_condition_unreference(work->condition);
}

static bool is_plain(const struct CUgraph_st *graph)
{
	gt_vec_each (node, &graph->nodes) {
		const struct sg_work *work = &(*node)->work;
		bool plain = work->kind == SG_WORK_EMPTY || work->kind == SG_WORK_KERNEL ||
			     work->kind == SG_WORK_COPY || work->kind == SG_WORK_SET;

		if (work->kind == SG_WORK_GRAPH)
			plain = is_plain(work->graph);
		if (work->kind == SG_WORK_CONDITION)
			plain = sg_condition_bodies_are_plain(&work->condition);
		if (!plain)
			return false;
	}
	return true;
}

bool sg_condition_bodies_are_plain(const struct sg_condition_work *work)
{
	for (unsigned int i = 0; i < work->size; i++) {
		if (!is_plain(work->bodies[i]))
			return false;
	}
	return true;
}

/* ---- running --------------------------------------------------------------------------- */

static CUresult run_graph(CUgraph graph, CUcontext context, const struct sg_record *record);

static CUresult run_node(CUgraphNode node, CUcontext context, const struct sg_record *parent)
{
	struct sg_record record = *parent;
	CUresult result;

	if (!node->enabled)
		return CUDA_SUCCESS;
	if (node->work.kind == SG_WORK_GRAPH)
		return run_graph(node->work.graph, context, parent);
	record.operation = sg_work_name(node->work.kind);
	record.start_ns = sg_clock_nested_start(parent->start_ns);
	result = sg_work_run(&node->work, context, &record);
	record.end_ns = sg_clock_nested_end(parent->start_ns, &node->work);
	record.result = result;
	if (record.operation)
		sg_log_write(&record);
	return result;
}

static CUresult run_graph(CUgraph graph, CUcontext context, const struct sg_record *record)
{
	bool cycle;
	CUgraphNode *order = sg_graph_sort(graph, &cycle);
	CUresult result = order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; !result && i < graph->nodes.count; i++)
		result = run_node(order[i], context, record);
	free(order);
	return result;
}

CUresult sg_condition_run(const struct sg_condition_work *work, CUcontext context,
			  const struct sg_record *record)
{
	unsigned int value = atomic_load(&work->condition->value);
	CUresult result = CUDA_SUCCESS;

	switch (work->type) {
	case CU_GRAPH_COND_TYPE_IF:
		if (value)
			return run_graph(work->bodies[0], context, record);
		return work->size > 1 ? run_graph(work->bodies[1], context, record) : result;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return value < work->size ? run_graph(work->bodies[value], context, record)
					  : result;
	default:
		break;
	}
	while (!result && atomic_load(&work->condition->value)) {
		result = run_graph(work->bodies[0], context, record);
		if (!result)
			result = (CUresult)atomic_load(&context->error);
	}
	return result;
}
