/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Graphs: topology and launches. Their nodes are in nodes.c. */
#include "device/graph.h"

#include <stdlib.h>

#include "base/file.h"
#include "driver/api.h"

static CUresult check_graph(CUgraph graph)
{
	return sg_check_handle(graph, SG_HANDLE_GRAPH, CUDA_ERROR_INVALID_VALUE);
}

static CUresult check_node(CUgraphNode node)
{
	return sg_check_handle(node, SG_HANDLE_NODE, CUDA_ERROR_INVALID_VALUE);
}

static CUresult check_executable(CUgraphExec executable)
{
	return sg_check_handle(executable, SG_HANDLE_EXECUTABLE, CUDA_ERROR_INVALID_VALUE);
}

SG_API CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	CUgraph made;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	made = sg_graph_new();
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*graph = made;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphDestroy(CUgraph graph)
{
	CUresult result = check_graph(graph);

	if (!result && graph->is_child)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		sg_graph_free(graph);
	return result;
}

SG_API CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
	CUresult result = check_graph(graph);
	CUgraph made;

	if (result)
		return result;
	if (!clone)
		return CUDA_ERROR_INVALID_VALUE;
	made = sg_graph_clone(graph);
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*clone = made;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
	CUresult result = check_graph(clone);
	CUgraphNode found;

	if (result)
		return result;
	found = node ? sg_graph_find(clone, original) : NULL;
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	*node = found;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	CUresult result = check_node(node);

	return result ? result : SG_RETURN(type, sg_node_type(node));
}

SG_API CUresult cuGraphDestroyNode(CUgraphNode node)
{
	CUresult result = check_node(node);

	if (!result)
		sg_node_free(node);
	return result;
}

/* ---- lists ----------------------------------------------------------------------------- */

/*
 * A list that a program queries twice: without an array, *count becomes the number of nodes; with
 * an array of *count, its unused rest becomes NULL and *count the number written.
 */
struct node_list {
	CUgraphNode *items;
	size_t room;
	size_t count;
};

static CUresult node_list_begin(struct node_list *list, CUgraphNode *items, const size_t *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*list = (struct node_list){.items = items, .room = *count};
	return CUDA_SUCCESS;
}

static void node_list_add(struct node_list *list, CUgraphNode node)
{
	if (list->items && list->count < list->room)
		list->items[list->count] = node;
	list->count++;
}

static void node_list_end(struct node_list *list, size_t *count)
{
	if (list->items) {
		for (size_t i = list->count; i < list->room; i++)
			list->items[i] = NULL;
		if (list->count > list->room)
			list->count = list->room;
	}
	*count = list->count;
}

static CUresult get_nodes(CUgraph graph, bool only_roots, CUgraphNode *nodes, size_t *count)
{
	struct node_list list;
	CUresult result = check_graph(graph);

	if (!result)
		result = node_list_begin(&list, nodes, count);
	if (result)
		return result;
	gt_vec_each (node, &graph->nodes)
		if (!only_roots || !(*node)->dependencies.count)
			node_list_add(&list, *node);
	node_list_end(&list, count);
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, false, nodes, count);
}

SG_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, true, nodes, count);
}

/* Edges have no data here. */
static void clear_edges(CUgraphEdgeData *edges, size_t count)
{
	for (size_t i = 0; edges && i < count; i++)
		edges[i] = (CUgraphEdgeData){0};
}

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
			  size_t *count)
{
	struct node_list starts, ends;
	CUresult result = check_graph(graph);

	if (!result && !from != !to)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = node_list_begin(&starts, from, count);
	if (!result)
		result = node_list_begin(&ends, to, count);
	if (result)
		return result;
	gt_vec_each (node, &graph->nodes) {
		gt_vec_each (dependency, &(*node)->dependencies) {
			node_list_add(&starts, *dependency);
			node_list_add(&ends, *node);
		}
	}
	node_list_end(&starts, count);
	node_list_end(&ends, count);
	clear_edges(edges, *count);
	return CUDA_SUCCESS;
}

SG_DEFINE(cuGraphGetEdges_v2,
	  (CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
	   size_t *count),
	  get_edges(graph, from, to, edges, count))
SG_DEFINE(cuGraphGetEdges, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count),
	  get_edges(graph, from, to, NULL, count))

enum node_neighbours { DEPENDENCIES, DEPENDENTS };

static CUresult get_neighbours(CUgraphNode node, enum node_neighbours wanted,
			       CUgraphNode *neighbours, CUgraphEdgeData *edges, size_t *count)
{
	struct node_list list;
	CUresult result = check_node(node);

	if (!result)
		result = node_list_begin(&list, neighbours, count);
	if (result)
		return result;
	if (wanted == DEPENDENCIES) {
		gt_vec_each (dependency, &node->dependencies)
			node_list_add(&list, *dependency);
	} else {
		gt_vec_each (other, &node->graph->nodes)
			gt_vec_each (dependency, &(*other)->dependencies)
				if (*dependency == node)
					node_list_add(&list, *other);
	}
	node_list_end(&list, count);
	clear_edges(edges, *count);
	return CUDA_SUCCESS;
}

SG_DEFINE(cuGraphNodeGetDependencies_v2,
	  (CUgraphNode node, CUgraphNode *dependencies, CUgraphEdgeData *edges, size_t *count),
	  get_neighbours(node, DEPENDENCIES, dependencies, edges, count))
SG_DEFINE(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode *dependencies, size_t *count),
	  get_neighbours(node, DEPENDENCIES, dependencies, NULL, count))
SG_DEFINE(cuGraphNodeGetDependentNodes_v2,
	  (CUgraphNode node, CUgraphNode *dependents, CUgraphEdgeData *edges, size_t *count),
	  get_neighbours(node, DEPENDENTS, dependents, edges, count))
SG_DEFINE(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode *dependents, size_t *count),
	  get_neighbours(node, DEPENDENTS, dependents, NULL, count))

/* ---- edges ----------------------------------------------------------------------------- */

/* A change of one edge: sg_graph_connect or sg_graph_disconnect. */
typedef CUresult change_edge(CUgraph graph, CUgraphNode from, CUgraphNode to);

static CUresult change_edges(change_edge *change, CUgraph graph, const CUgraphNode *from,
			     const CUgraphNode *to, size_t count)
{
	CUresult result = check_graph(graph);

	if (!result && count && (!from || !to))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = change(graph, from[i], to[i]);
	return result;
}

SG_DEFINE(cuGraphAddDependencies_v2,
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	   const CUgraphEdgeData *edges, size_t count),
	  change_edges(sg_graph_connect, graph, from, to, count))
SG_DEFINE(cuGraphAddDependencies,
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count),
	  change_edges(sg_graph_connect, graph, from, to, count))
SG_DEFINE(cuGraphRemoveDependencies_v2,
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	   const CUgraphEdgeData *edges, size_t count),
	  change_edges(sg_graph_disconnect, graph, from, to, count))
SG_DEFINE(cuGraphRemoveDependencies,
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count),
	  change_edges(sg_graph_disconnect, graph, from, to, count))

SG_API CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_autofclose FILE *file = NULL;
	CUresult result = check_graph(graph);

	if (result)
		return result;
	file = path ? fopen(path, "we") : NULL;
	if (!file)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_print(graph, &text);
	if (text.failed || fputs(gt_strbuf_string(&text), file) < 0 || fflush(file))
		return CUDA_ERROR_OPERATING_SYSTEM;
	return CUDA_SUCCESS;
}

/* ---- executable graphs ----------------------------------------------------------------- */

static CUresult instantiate_graph(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
	CUresult result = check_graph(graph);

	if (result)
		return result;
	if (!executable || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	return sg_executable_new(graph, flags, executable);
}

SG_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
					    unsigned long long flags)
{
	return instantiate_graph(executable, graph, flags);
}

/* The older forms report errors in a log, which stays empty here. */
static CUresult instantiate_logging(CUgraphExec *executable, CUgraph graph, CUgraphNode *error_node,
				    char *log, size_t log_size)
{
	if (error_node)
		*error_node = NULL;
	if (log && log_size)
		log[0] = '\0';
	return instantiate_graph(executable, graph, 0);
}

SG_VERSIONS(cuGraphInstantiate_v2, cuGraphInstantiate,
	    (CUgraphExec * executable, CUgraph graph, CUgraphNode *error_node, char *log,
	     size_t log_size),
	    instantiate_logging(executable, graph, error_node, log, log_size))

static CUresult instantiate_with(CUgraphExec *executable, CUgraph graph,
				 CUDA_GRAPH_INSTANTIATE_PARAMS *parameters, CUstream zero)
{
	CUresult result;

	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate_graph(executable, graph, parameters->flags);
	parameters->hErrNode_out = NULL;
	parameters->result_out =
		result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return result;
}

SG_STREAM_VARIANTS(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz,
		   (CUgraphExec * executable, CUgraph graph,
		    CUDA_GRAPH_INSTANTIATE_PARAMS *parameters),
		   instantiate_with(executable, graph, parameters, zero))

SG_API CUresult cuGraphExecGetFlags(CUgraphExec executable, cuuint64_t *flags)
{
	CUresult result = check_executable(executable);

	return result ? result : SG_RETURN(flags, executable->flags);
}

SG_API CUresult cuGraphExecDestroy(CUgraphExec executable)
{
	CUresult result = check_executable(executable);

	if (!result)
		sg_executable_free(executable);
	return result;
}

static CUresult launch_graph(CUgraphExec executable, CUstream handle, CUstream zero)
{
	CUstream stream;
	CUresult result = check_executable(executable);

	if (!result)
		result = sg_use_stream(handle, zero, &stream);
	return result ? result : sg_executable_launch(executable, stream);
}

SG_STREAM_VARIANTS(cuGraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec executable, CUstream stream),
		   launch_graph(executable, stream, zero))

/* Everything that a graph needs is allocated when it is instantiated. */
static CUresult upload_graph(CUgraphExec executable, CUstream handle, CUstream zero)
{
	CUstream stream;
	CUresult result = check_executable(executable);

	return result ? result : sg_use_stream(handle, zero, &stream);
}

SG_STREAM_VARIANTS(cuGraphUpload, cuGraphUpload_ptsz, (CUgraphExec executable, CUstream stream),
		   upload_graph(executable, stream, zero))

SG_API CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph,
				     CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResultInfo unused;
	CUresult result = check_executable(executable);

	if (!result)
		result = check_graph(graph);
	return result ? result : sg_executable_update(executable, graph, info ? info : &unused);
}

SG_API CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphNode *error_node,
				  CUgraphExecUpdateResult *update);
SG_API CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphNode *error_node,
				  CUgraphExecUpdateResult *update)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUresult result = check_executable(executable);

	if (!result)
		result = check_graph(graph);
	if (!result)
		result = sg_executable_update(executable, graph, &info);
	if (error_node)
		*error_node = info.errorNode;
	if (update)
		*update = info.result;
	return result;
}

/* ---- what graphs keep ------------------------------------------------------------------ */

static CUresult check_object(CUuserObject object, unsigned int count)
{
	CUresult result = sg_check();

	if (result)
		return result;
	return count && count <= INT32_MAX && sg_handle_is(object, SG_HANDLE_USER_OBJECT)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuUserObjectCreate(CUuserObject *object, void *pointer, CUhostFn destroy,
				   unsigned int references, unsigned int flags)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!object || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_user_object_new(pointer, destroy, references, object);
}

SG_API CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	CUresult result = check_object(object, count);

	if (!result)
		object->references += count;
	return result;
}

SG_API CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	CUresult result = check_object(object, count);

	if (!result)
		sg_user_object_release(object, count);
	return result;
}

SG_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
					unsigned int flags)
{
	CUresult result = check_object(object, count);

	if (!result)
		result = check_graph(graph);
	if (!result && flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && gt_vec_push(&graph->objects, (struct sg_retained){object, count}))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result && !(flags & CU_GRAPH_USER_OBJECT_MOVE))
		object->references += count;
	return result;
}

SG_API CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	CUresult result = check_object(object, count);

	if (!result)
		result = check_graph(graph);
	if (result)
		return result;
	gt_vec_each (retained, &graph->objects) {
		if (retained->object != object || retained->count < count)
			continue;
		retained->count -= count;
		if (!retained->count)
			*retained = graph->objects.items[--graph->objects.count];
		sg_user_object_release(object, count);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
