/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/condition.h"
#include "device/context.h"
#include "device/handles.h"
#include "device/memory.h"
#include "device/module.h"

static atomic_uint_least64_t last_node_id;

/* ---- nodes ----------------------------------------------------------------------------- */

static bool belongs_to_graph(CUgraph graph, CUgraphNode node)
{
	return sg_handle_is(node, SG_HANDLE_NODE) && node->graph == graph;
}

static void free_node(CUgraphNode node)
{
	sg_handle_remove(node);
	sg_work_clear(&node->work);
	gt_vec_free(&node->dependencies);
	free(node);
}

CUresult sg_graph_add(CUgraph graph, const CUgraphNode *dependencies, size_t count,
		      struct sg_work *work, CUgraphNode *ret_node)
{
	CUgraphNode node = calloc(1, sizeof(*node));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if (!node) {
		sg_work_clear(work);
		return result;
	}
	node->graph = graph;
	node->enabled = true;
	node->id = atomic_fetch_add(&last_node_id, 1);
	node->work = *work;
	*work = (struct sg_work){0};
	for (size_t i = 0; i < count; i++) {
		if (!belongs_to_graph(graph, dependencies[i])) {
			result = CUDA_ERROR_INVALID_VALUE;
			goto fail;
		}
		if (gt_vec_push(&node->dependencies, dependencies[i]))
			goto fail;
	}
	if (!sg_handle_add(node, SG_HANDLE_NODE) || gt_vec_push(&graph->nodes, node))
		goto fail;
	*ret_node = node;
	return CUDA_SUCCESS;
fail:
	free_node(node);
	return result;
}

void sg_node_set(CUgraphNode node, struct sg_work *work)
{
	sg_work_clear(&node->work);
	node->work = *work;
	*work = (struct sg_work){0};
}

static bool remove_dependency(CUgraphNode node, CUgraphNode dependency)
{
	for (size_t i = 0; i < node->dependencies.count; i++) {
		if (node->dependencies.items[i] != dependency)
			continue;
		node->dependencies.count--;
		memmove(&node->dependencies.items[i], &node->dependencies.items[i + 1],
			(node->dependencies.count - i) * sizeof(dependency));
		return true;
	}
	return false;
}

void sg_node_free(CUgraphNode node)
{
	CUgraph graph = node->graph;
	size_t kept = 0;

	for (size_t i = 0; i < graph->nodes.count; i++) {
		CUgraphNode other = graph->nodes.items[i];

		remove_dependency(other, node);
		if (other != node)
			graph->nodes.items[kept++] = other;
	}
	graph->nodes.count = kept;
	free_node(node);
}

CUresult sg_graph_connect(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
	if (!belongs_to_graph(graph, from) || !belongs_to_graph(graph, to) || from == to)
		return CUDA_ERROR_INVALID_VALUE;
	gt_vec_each (dependency, &to->dependencies) {
		if (*dependency == from)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return gt_vec_push(&to->dependencies, from) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sg_graph_disconnect(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
	if (!belongs_to_graph(graph, from) || !belongs_to_graph(graph, to) ||
	    !remove_dependency(to, from))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static void number_nodes(CUgraph graph)
{
	for (size_t i = 0; i < graph->nodes.count; i++)
		graph->nodes.items[i]->index = i;
}

bool sg_node_depends_on(CUgraphNode node, CUgraphNode other)
{
	CUgraph graph = node->graph;
	bool *reached = calloc(graph->nodes.count + 1, sizeof(*reached));
	bool again = true;
	bool found;

	if (!reached)
		return false;
	number_nodes(graph);
	reached[node->index] = true;
	while (again) {
		again = false;
		gt_vec_each (from, &graph->nodes) {
			if (!reached[(*from)->index])
				continue;
			gt_vec_each (to, &(*from)->dependencies) {
				again |= !reached[(*to)->index];
				reached[(*to)->index] = true;
			}
		}
	}
	found = node != other && reached[other->index];
	free(reached);
	return found;
}

CUgraphNodeType sg_node_type(const struct CUgraphNode_st *node)
{
	static const CUgraphNodeType types[] = {
		[SG_WORK_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
		[SG_WORK_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
		[SG_WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
		[SG_WORK_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
		[SG_WORK_HOST] = CU_GRAPH_NODE_TYPE_HOST,
		[SG_WORK_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		[SG_WORK_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
		[SG_WORK_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		[SG_WORK_ALLOCATE] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		[SG_WORK_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[SG_WORK_GRAPH] = CU_GRAPH_NODE_TYPE_GRAPH,
		[SG_WORK_CONDITION] = CU_GRAPH_NODE_TYPE_CONDITIONAL,
	};

	return types[node->work.kind];
}

/* ---- graphs ---------------------------------------------------------------------------- */

CUgraph sg_graph_new(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	if (graph && !sg_handle_add(graph, SG_HANDLE_GRAPH)) {
		free(graph);
		return NULL;
	}
	return graph;
}

void sg_graph_free(CUgraph graph)
{
	if (!graph)
		return;
	sg_handle_remove(graph);
	gt_vec_each (node, &graph->nodes)
		free_node(*node);
	gt_vec_each (retained, &graph->objects)
		sg_user_object_release(retained->object, retained->count);
	gt_vec_each (condition, &graph->conditions)
		sg_condition_unreference(*condition);
	gt_vec_free(&graph->nodes);
	gt_vec_free(&graph->objects);
	gt_vec_free(&graph->conditions);
	free(graph);
}

static bool clone_nodes(CUgraph graph, CUgraph clone)
{
	number_nodes(graph);
	gt_vec_each (node, &graph->nodes) {
		struct sg_work work;
		CUgraphNode copy;

		if (!sg_work_clone(&(*node)->work, &work) ||
		    sg_graph_add(clone, NULL, 0, &work, &copy))
			return false;
		copy->original = *node;
		copy->enabled = (*node)->enabled;
		if (copy->work.kind == SG_WORK_GRAPH)
			copy->work.graph->is_child = true;
	}
	gt_vec_each (node, &graph->nodes) {
		CUgraphNode copy = clone->nodes.items[(*node)->index];

		gt_vec_each (dependency, &(*node)->dependencies) {
			if (gt_vec_push(&copy->dependencies,
					clone->nodes.items[(*dependency)->index]))
				return false;
		}
	}
	return true;
}

CUgraph sg_graph_clone(CUgraph graph)
{
	CUgraph clone = sg_graph_new();

	if (!clone)
		return NULL;
	clone->original = graph;
	gt_vec_each (retained, &graph->objects) {
		if (gt_vec_push(&clone->objects, *retained)) {
			sg_graph_free(clone);
			return NULL;
		}
		retained->object->references += retained->count;
	}
	gt_vec_each (condition, &graph->conditions) {
		if (gt_vec_push(&clone->conditions, *condition)) {
			sg_graph_free(clone);
			return NULL;
		}
		sg_condition_reference(*condition);
	}
	if (!clone_nodes(graph, clone)) {
		sg_graph_free(clone);
		return NULL;
	}
	return clone;
}

CUgraphNode sg_graph_find(CUgraph clone, CUgraphNode original)
{
	gt_vec_each (node, &clone->nodes) {
		if ((*node)->original == original)
			return *node;
	}
	return NULL;
}

CUgraphNode *sg_graph_sort(CUgraph graph, bool *ret_cycle)
{
	size_t count = graph->nodes.count, sorted = 0, before;
	CUgraphNode *order = calloc(count + 1, sizeof(*order));
	bool *placed = calloc(count + 1, sizeof(*placed));

	*ret_cycle = false;
	if (!order || !placed)
		goto fail;
	number_nodes(graph);
	do {
		before = sorted;
		gt_vec_each (node, &graph->nodes) {
			bool ready = !placed[(*node)->index];

			gt_vec_each (dependency, &(*node)->dependencies)
				ready &= placed[(*dependency)->index];
			if (ready) {
				placed[(*node)->index] = true;
				order[sorted++] = *node;
			}
		}
	} while (sorted > before);
	*ret_cycle = sorted < count;
	if (!*ret_cycle) {
		free(placed);
		return order;
	}
fail:
	free(order);
	free(placed);
	return NULL;
}

void sg_graph_print(CUgraph graph, struct gt_strbuf *buffer)
{
	static const char *const names[] = {
		"kernel",       "memcpy",      "memset",           "host",       "graph",
		"empty",        "wait event",  "event record",     NULL,         NULL,
		"memory alloc", "memory free", "memory operation", "conditional"};

	gt_strbuf_puts(buffer, "digraph graph_1 {\n");
	number_nodes(graph);
	gt_vec_each (node, &graph->nodes) {
		const char *name = names[sg_node_type(*node)];

		if ((*node)->work.kind == SG_WORK_KERNEL)
			name = (*node)->work.kernel.function->info.name;
		gt_strbuf_printf(buffer, "\tnode_%zu [label=\"%s\"];\n", (*node)->index, name);
	}
	gt_vec_each (node, &graph->nodes) {
		gt_vec_each (dependency, &(*node)->dependencies)
			gt_strbuf_printf(buffer, "\tnode_%zu -> node_%zu;\n", (*dependency)->index,
					 (*node)->index);
	}
	gt_strbuf_puts(buffer, "}\n");
}

/* ---- what graphs own ------------------------------------------------------------------- */

struct sg_graph_memory {
	atomic_uint references;
	uint64_t address;
};

CUresult sg_graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS *parameters,
			     struct sg_allocate_work *ret_allocation)
{
	struct sg_allocate_work allocation = {.parameters = *parameters};
	struct sg_allocation wanted = {
		.kind = SG_MEMORY_GRAPH,
		.size = parameters->bytesize,
		.device = parameters->poolProps.location.id,
	};
	CUresult result;

	if (!parameters->bytesize || !sg_device_find(parameters->poolProps.location.id))
		return CUDA_ERROR_INVALID_VALUE;
	allocation.memory = calloc(1, sizeof(*allocation.memory));
	if (!allocation.memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sg_memory_allocate(&wanted, 0, &allocation.memory->address);
	if (result) {
		free(allocation.memory);
		return result;
	}
	allocation.memory->references = 1;
	allocation.parameters.accessDescs = NULL;
	allocation.parameters.accessDescCount = 0;
	allocation.parameters.dptr = allocation.memory->address;
	*ret_allocation = allocation;
	return CUDA_SUCCESS;
}

void sg_graph_memory_reference(struct sg_graph_memory *memory)
{
	atomic_fetch_add(&memory->references, 1);
}

void sg_graph_memory_unreference(struct sg_graph_memory *memory)
{
	if (atomic_fetch_sub(&memory->references, 1) > 1)
		return;
	sg_memory_free(memory->address, 1u << SG_MEMORY_GRAPH, NULL);
	free(memory);
}

CUresult sg_user_object_new(void *object, CUhostFn destroy, unsigned int references,
			    CUuserObject *ret_object)
{
	CUuserObject made = calloc(1, sizeof(*made));

	if (!made || !sg_handle_add(made, SG_HANDLE_USER_OBJECT)) {
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->object = object;
	made->destroy = destroy;
	made->references = references;
	*ret_object = made;
	return CUDA_SUCCESS;
}

void sg_user_object_release(CUuserObject object, unsigned int count)
{
	object->references -= count < object->references ? count : object->references;
	if (object->references)
		return;
	sg_handle_remove(object);
	object->destroy(object->object);
	free(object);
}
