/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nodes of graphs. */
#include <string.h>

#include "device/condition.h"
#include "device/copy.h"
#include "device/graph.h"
#include "device/launch.h"
#include "driver/api.h"

/* ---- from parameters to work ----------------------------------------------------------- */

/* The context of a node's kernel: the given one, that of the function, else the current one. */
static CUresult choose_context(CUcontext given, CUfunction function, CUcontext *ret_context)
{
	if (!given && sg_handle_is(function, SG_HANDLE_FUNCTION))
		given = function->module->context;
	if (!given)
		return sg_context_use(ret_context);
	if (!sg_handle_is(given, SG_HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = given;
	return sg_check();
}

static CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters, struct sg_work *ret_work)
{
	struct sg_launch_request request = {0};
	CUcontext context;
	CUresult result;

	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	request.function = parameters->func ? parameters->func : (CUfunction)parameters->kern;
	result = choose_context(parameters->ctx, request.function, &context);
	if (result)
		return result;
	request.shape = SG_SHAPE_OF(parameters);
	request.parameters = parameters->kernelParams;
	request.extra = parameters->extra;
	return sg_kernel_prepare(context, &request, ret_work);
}

/* The form before CUDA 12 ends where kern and ctx are now. */
static CUDA_KERNEL_NODE_PARAMS_v2 widen_parameters(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters = {0};

	memcpy(&parameters, old, sizeof(*old));
	return parameters;
}

static CUresult make_copy(const CUDA_MEMCPY3D *parameters, struct sg_work *ret_work)
{
	CUresult result = sg_check();

	if (!result && !parameters)
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : sg_copy_prepare_3d(parameters, ret_work);
}

static CUresult make_set(const CUDA_MEMSET_NODE_PARAMS *parameters, struct sg_work *ret_work)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!parameters || (parameters->elementSize != 1 && parameters->elementSize != 2 &&
			    parameters->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_set_prepare(parameters->dst, parameters->pitch, parameters->value,
			      parameters->elementSize, parameters->width, parameters->height,
			      ret_work);
}

static CUresult make_host(const CUDA_HOST_NODE_PARAMS *parameters, struct sg_work *ret_work)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!parameters || !parameters->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_work = (struct sg_work){.kind = SG_WORK_HOST};
	ret_work->host.function = parameters->fn;
	ret_work->host.data = parameters->userData;
	return CUDA_SUCCESS;
}

static CUresult make_event(enum sg_work_kind kind, CUevent event, struct sg_work *ret_work)
{
	CUresult result = sg_check_handle(event, SG_HANDLE_EVENT, CUDA_ERROR_INVALID_HANDLE);

	if (!result)
		*ret_work = (struct sg_work){.kind = kind, .event = event};
	return result;
}

static CUresult make_child(CUgraph graph, struct sg_work *ret_work)
{
	CUresult result = sg_check_handle(graph, SG_HANDLE_GRAPH, CUDA_ERROR_INVALID_VALUE);

	if (result)
		return result;
	*ret_work = (struct sg_work){.kind = SG_WORK_GRAPH, .graph = sg_graph_clone(graph)};
	if (!ret_work->graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ret_work->graph->is_child = true;
	return CUDA_SUCCESS;
}

static CUresult make_allocation(CUDA_MEM_ALLOC_NODE_PARAMS *parameters, struct sg_work *ret_work)
{
	CUresult result = sg_check();

	if (!result && !parameters)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*ret_work = (struct sg_work){.kind = SG_WORK_ALLOCATE};
	result = sg_graph_memory_new(parameters, &ret_work->allocation);
	if (!result)
		parameters->dptr = ret_work->allocation.parameters.dptr;
	return result;
}

static CUresult make_free(CUdeviceptr address, struct sg_work *ret_work)
{
	*ret_work = (struct sg_work){.kind = SG_WORK_FREE, .address = address};
	return address ? sg_check() : CUDA_ERROR_INVALID_VALUE;
}

/* ---- adding ---------------------------------------------------------------------------- */

static CUresult add_node(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			 size_t count, CUresult made, struct sg_work *work)
{
	if (made)
		return made;
	if (!ret_node || !sg_handle_is(graph, SG_HANDLE_GRAPH) || (count && !dependencies)) {
		sg_work_clear(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return sg_graph_add(graph, dependencies, count, work, ret_node);
}

/* Define a function that adds a node with the work that the expression `made` prepares. */
#define ADD(name, parameters, made)                                                                \
	SG_API CUresult name(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,    \
			     size_t count, SG_UNPACK parameters);                                  \
	SG_API CUresult name(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,    \
			     size_t count, SG_UNPACK parameters)                                   \
	{                                                                                          \
		struct sg_work work = {0};                                                         \
		CUresult result = made;                                                            \
                                                                                                   \
		return add_node(node, graph, dependencies, count, result, &work);                  \
	}
#define SG_UNPACK(...) __VA_ARGS__

static CUresult make_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *old, struct sg_work *ret_work)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters;

	if (!old)
		return CUDA_ERROR_INVALID_VALUE;
	parameters = widen_parameters(old);
	return make_kernel(&parameters, ret_work);
}

ADD(cuGraphAddKernelNode_v2, (const CUDA_KERNEL_NODE_PARAMS_v2 *parameters),
    make_kernel(parameters, &work))
ADD(cuGraphAddKernelNode, (const CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    make_kernel_v1(parameters, &work))
ADD(cuGraphAddMemcpyNode, (const CUDA_MEMCPY3D *parameters, CUcontext context),
    make_copy(parameters, &work))
ADD(cuGraphAddMemsetNode, (const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context),
    make_set(parameters, &work))
ADD(cuGraphAddHostNode, (const CUDA_HOST_NODE_PARAMS *parameters), make_host(parameters, &work))
ADD(cuGraphAddChildGraphNode, (CUgraph child), make_child(child, &work))
ADD(cuGraphAddEventRecordNode, (CUevent event), make_event(SG_WORK_RECORD, event, &work))
ADD(cuGraphAddEventWaitNode, (CUevent event), make_event(SG_WORK_WAIT, event, &work))
ADD(cuGraphAddMemAllocNode, (CUDA_MEM_ALLOC_NODE_PARAMS * parameters),
    make_allocation(parameters, &work))
ADD(cuGraphAddMemFreeNode, (CUdeviceptr address), make_free(address, &work))

SG_API CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
				    const CUgraphNode *dependencies, size_t count)
{
	struct sg_work work = {.kind = SG_WORK_EMPTY};

	return add_node(node, graph, dependencies, count, sg_check(), &work);
}

static CUresult make_any(CUgraphNodeParams *parameters, struct sg_work *ret_work)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	switch (parameters->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return make_kernel((const CUDA_KERNEL_NODE_PARAMS_v2 *)&parameters->kernel,
				   ret_work);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return make_copy(&parameters->memcpy.copyParams, ret_work);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return make_set((const CUDA_MEMSET_NODE_PARAMS *)&parameters->memset, ret_work);
	case CU_GRAPH_NODE_TYPE_HOST:
		return make_host((const CUDA_HOST_NODE_PARAMS *)&parameters->host, ret_work);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return make_child(parameters->graph.graph, ret_work);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return sg_check();
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return make_event(SG_WORK_WAIT, parameters->eventWait.event, ret_work);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return make_event(SG_WORK_RECORD, parameters->eventRecord.event, ret_work);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return make_allocation((CUDA_MEM_ALLOC_NODE_PARAMS *)&parameters->alloc, ret_work);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return make_free(parameters->free.dptr, ret_work);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return sg_check() ? sg_check()
				  : sg_condition_prepare(&parameters->conditional, ret_work);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

SG_API CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  const CUgraphEdgeData *edges, size_t count,
				  CUgraphNodeParams *parameters)
{
	struct sg_work work = {0};
	CUresult result = make_any(parameters, &work);

	return add_node(node, graph, dependencies, count, result, &work);
}

ADD(cuGraphAddNode, (CUgraphNodeParams * parameters), make_any(parameters, &work))

/* ---- reading --------------------------------------------------------------------------- */

static CUresult check_node_kind(CUgraphNode node, enum sg_work_kind kind, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!sg_handle_is(node, SG_HANDLE_NODE) || node->work.kind != kind || !pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
					      CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	const struct sg_kernel_work *kernel;
	CUresult result = check_node_kind(node, SG_WORK_KERNEL, parameters);

	if (result)
		return result;
	kernel = &node->work.kernel;
	*parameters = (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = kernel->kernel ? NULL : kernel->function,
		.gridDimX = kernel->shape.grid[0],
		.gridDimY = kernel->shape.grid[1],
		.gridDimZ = kernel->shape.grid[2],
		.blockDimX = kernel->shape.block[0],
		.blockDimY = kernel->shape.block[1],
		.blockDimZ = kernel->shape.block[2],
		.sharedMemBytes = kernel->shape.dynamic_shared,
		.kernelParams = kernel->pointers,
		.kern = kernel->kernel,
		.ctx = kernel->function->module->context,
	};
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *old);
SG_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters;
	CUresult result =
		old ? cuGraphKernelNodeGetParams_v2(node, &parameters) : CUDA_ERROR_INVALID_VALUE;

	if (!result) {
		parameters.func = node->work.kernel.function;
		memcpy(old, &parameters, sizeof(*old));
	}
	return result;
}

SG_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *parameters)
{
	const struct sg_set_work *set;
	CUresult result = check_node_kind(node, SG_WORK_SET, parameters);

	if (result)
		return result;
	set = &node->work.set;
	*parameters = (CUDA_MEMSET_NODE_PARAMS){
		.dst = set->address,
		.pitch = set->pitch,
		.value = set->value,
		.elementSize = set->element_size,
		.width = set->width,
		.height = set->height,
	};
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *parameters)
{
	CUresult result = check_node_kind(node, SG_WORK_HOST, parameters);

	if (result)
		return result;
	parameters->fn = node->work.host.function;
	parameters->userData = node->work.host.data;
	return CUDA_SUCCESS;
}

/* Define a function that reads a member of the work of a node of this kind. */
#define GET(name, kind, type, member)                                                              \
	SG_API CUresult name(CUgraphNode node, type *pointer)                                      \
	{                                                                                          \
		CUresult result = check_node_kind(node, kind, pointer);                            \
                                                                                                   \
		if (!result)                                                                       \
			*pointer = node->work.member;                                              \
		return result;                                                                     \
	}

GET(cuGraphMemcpyNodeGetParams, SG_WORK_COPY, CUDA_MEMCPY3D, copy.parameters)
GET(cuGraphChildGraphNodeGetGraph, SG_WORK_GRAPH, CUgraph, graph)
GET(cuGraphEventRecordNodeGetEvent, SG_WORK_RECORD, CUevent, event)
GET(cuGraphEventWaitNodeGetEvent, SG_WORK_WAIT, CUevent, event)
GET(cuGraphMemAllocNodeGetParams, SG_WORK_ALLOCATE, CUDA_MEM_ALLOC_NODE_PARAMS,
    allocation.parameters)
GET(cuGraphMemFreeNodeGetParams, SG_WORK_FREE, CUdeviceptr, address)

/* ---- changing -------------------------------------------------------------------------- */

static CUresult replace_work(CUgraphNode node, enum sg_work_kind kind, CUresult made,
			     struct sg_work *work)
{
	if (made)
		return made;
	if (!sg_handle_is(node, SG_HANDLE_NODE) || node->work.kind != kind) {
		sg_work_clear(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	sg_node_set(node, work);
	return CUDA_SUCCESS;
}

/* Return the node of an executable graph that corresponds to the program's node. */
static CUgraphNode find_in(CUgraphExec executable, CUgraphNode node)
{
	if (!sg_handle_is(executable, SG_HANDLE_EXECUTABLE))
		return NULL;
	return sg_graph_find(executable->graph, node);
}

static CUresult replace_in(CUgraphExec executable, CUgraphNode node, enum sg_work_kind kind,
			   CUresult made, struct sg_work *work)
{
	CUgraphNode found = find_in(executable, node);
	CUresult result;

	if (!found) {
		if (!made)
			sg_work_clear(work);
		return made ? made : CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&executable->lock);
	result = replace_work(found, kind, made, work);
	pthread_mutex_unlock(&executable->lock);
	return result;
}

/* Define a function that changes a node, and one that changes it in an executable graph only. */
#define SET(name, kind, parameters, made)                                                          \
	SG_API CUresult name(CUgraphNode node, SG_UNPACK parameters);                              \
	SG_API CUresult name(CUgraphNode node, SG_UNPACK parameters)                               \
	{                                                                                          \
		struct sg_work work = {0};                                                         \
		CUresult result = made;                                                            \
                                                                                                   \
		return replace_work(node, kind, result, &work);                                    \
	}
#define SET_IN(name, kind, parameters, made)                                                       \
	SG_API CUresult name(CUgraphExec executable, CUgraphNode node, SG_UNPACK parameters);      \
	SG_API CUresult name(CUgraphExec executable, CUgraphNode node, SG_UNPACK parameters)       \
	{                                                                                          \
		struct sg_work work = {0};                                                         \
		CUresult result = made;                                                            \
                                                                                                   \
		return replace_in(executable, node, kind, result, &work);                          \
	}

SET(cuGraphKernelNodeSetParams_v2, SG_WORK_KERNEL, (const CUDA_KERNEL_NODE_PARAMS_v2 *parameters),
    make_kernel(parameters, &work))
SET(cuGraphKernelNodeSetParams, SG_WORK_KERNEL, (const CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    make_kernel_v1(parameters, &work))
SET(cuGraphMemcpyNodeSetParams, SG_WORK_COPY, (const CUDA_MEMCPY3D *parameters),
    make_copy(parameters, &work))
SET(cuGraphMemsetNodeSetParams, SG_WORK_SET, (const CUDA_MEMSET_NODE_PARAMS *parameters),
    make_set(parameters, &work))
SET(cuGraphHostNodeSetParams, SG_WORK_HOST, (const CUDA_HOST_NODE_PARAMS *parameters),
    make_host(parameters, &work))
SET(cuGraphEventRecordNodeSetEvent, SG_WORK_RECORD, (CUevent event),
    make_event(SG_WORK_RECORD, event, &work))
SET(cuGraphEventWaitNodeSetEvent, SG_WORK_WAIT, (CUevent event),
    make_event(SG_WORK_WAIT, event, &work))

SET_IN(cuGraphExecKernelNodeSetParams_v2, SG_WORK_KERNEL,
       (const CUDA_KERNEL_NODE_PARAMS_v2 *parameters), make_kernel(parameters, &work))
SET_IN(cuGraphExecKernelNodeSetParams, SG_WORK_KERNEL,
       (const CUDA_KERNEL_NODE_PARAMS_v1 *parameters), make_kernel_v1(parameters, &work))
SET_IN(cuGraphExecMemcpyNodeSetParams, SG_WORK_COPY,
       (const CUDA_MEMCPY3D *parameters, CUcontext context), make_copy(parameters, &work))
SET_IN(cuGraphExecMemsetNodeSetParams, SG_WORK_SET,
       (const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context), make_set(parameters, &work))
SET_IN(cuGraphExecHostNodeSetParams, SG_WORK_HOST, (const CUDA_HOST_NODE_PARAMS *parameters),
       make_host(parameters, &work))
SET_IN(cuGraphExecChildGraphNodeSetParams, SG_WORK_GRAPH, (CUgraph child), make_child(child, &work))
SET_IN(cuGraphExecEventRecordNodeSetEvent, SG_WORK_RECORD, (CUevent event),
       make_event(SG_WORK_RECORD, event, &work))
SET_IN(cuGraphExecEventWaitNodeSetEvent, SG_WORK_WAIT, (CUevent event),
       make_event(SG_WORK_WAIT, event, &work))

SG_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *parameters)
{
	struct sg_work work = {0};
	CUresult result = make_any(parameters, &work);

	return replace_work(node, work.kind, result, &work);
}

SG_API CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node,
					 CUgraphNodeParams *parameters)
{
	struct sg_work work = {0};
	CUresult result = make_any(parameters, &work);

	return replace_in(executable, node, work.kind, result, &work);
}

SG_API CUresult cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node,
				      unsigned int enabled)
{
	CUgraphNode found = find_in(executable, node);
	CUresult result = sg_check();

	if (result)
		return result;
	if (!found || (found->work.kind != SG_WORK_KERNEL && found->work.kind != SG_WORK_COPY &&
		       found->work.kind != SG_WORK_SET))
		return CUDA_ERROR_INVALID_VALUE;
	found->enabled = enabled != 0;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node,
				      unsigned int *enabled)
{
	CUgraphNode found = find_in(executable, node);
	CUresult result = sg_check();

	if (result)
		return result;
	if (!found || !enabled)
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = found->enabled;
	return CUDA_SUCCESS;
}
