/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nodes of graphs: conversion of the runtime's parameters to the driver's. */
#include <string.h>

#include "runtime/runtime.h"

#define ADD_PARAMETERS                                                                             \
	cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count
#define ADD_ARGUMENTS node, graph, dependencies, count

/*
 * Define the three functions of a parameter type: `add` creates a node, `set` changes one, `set_in`
 * changes one in an executable graph. `convert` calls sg_enter and fills `work`, of the driver's
 * type; add_<kind>, set_<kind> and set_<kind>_in call the driver.
 */
#define NODES(kind, type, add, set, set_in, parameters, convert)                                   \
	SG_API cudaError_t add(ADD_PARAMETERS, SG_LIST parameters)                                 \
	{                                                                                          \
		type work;                                                                         \
		cudaError_t error = convert;                                                       \
                                                                                                   \
		return sg_finish(error ? error : add_##kind(ADD_ARGUMENTS, &work));                \
	}                                                                                          \
	SG_API cudaError_t set(cudaGraphNode_t node, SG_LIST parameters)                           \
	{                                                                                          \
		type work;                                                                         \
		cudaError_t error = convert;                                                       \
                                                                                                   \
		return sg_finish(error ? error : set_##kind(node, &work));                         \
	}                                                                                          \
	SG_API cudaError_t set_in(cudaGraphExec_t executable, cudaGraphNode_t node,                \
				  SG_LIST parameters)                                              \
	{                                                                                          \
		type work;                                                                         \
		cudaError_t error = convert;                                                       \
                                                                                                   \
		return sg_finish(error ? error : set_##kind##_in(executable, node, &work));        \
	}

/* ---- kernels --------------------------------------------------------------------------- */

static cudaError_t convert_kernel(const struct cudaKernelNodeParams *parameters,
				  CUDA_KERNEL_NODE_PARAMS *ret_kernel)
{
	CUfunction function;
	cudaError_t error = sg_enter();

	if (!error && !parameters)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_find_kernel(parameters->func, &function);
	if (!error)
		error = sg_check_shape(parameters->gridDim, parameters->blockDim);
	if (error)
		return error;
	*ret_kernel = (CUDA_KERNEL_NODE_PARAMS){
		.func = function,
		.gridDimX = parameters->gridDim.x,
		.gridDimY = parameters->gridDim.y,
		.gridDimZ = parameters->gridDim.z,
		.blockDimX = parameters->blockDim.x,
		.blockDimY = parameters->blockDim.y,
		.blockDimZ = parameters->blockDim.z,
		.sharedMemBytes = parameters->sharedMemBytes,
		.kernelParams = parameters->kernelParams,
		.extra = parameters->extra,
	};
	return cudaSuccess;
}

static cudaError_t add_kernel(ADD_PARAMETERS, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return sg_error(sg_driver.cuGraphAddKernelNode(ADD_ARGUMENTS, kernel));
}

static cudaError_t set_kernel(cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return sg_error(sg_driver.cuGraphKernelNodeSetParams(node, kernel));
}

static cudaError_t set_kernel_in(cudaGraphExec_t executable, cudaGraphNode_t node,
				 const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return sg_error(sg_driver.cuGraphExecKernelNodeSetParams(executable, node, kernel));
}

NODES(kernel, CUDA_KERNEL_NODE_PARAMS, cudaGraphAddKernelNode, cudaGraphKernelNodeSetParams,
      cudaGraphExecKernelNodeSetParams, (const struct cudaKernelNodeParams *parameters),
      convert_kernel(parameters, &work))

SG_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
						struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error = sg_enter();

	if (!error && !parameters)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuGraphKernelNodeGetParams(node, &kernel));
	if (error)
		return sg_finish(error);
	*parameters = (struct cudaKernelNodeParams){
		.func = sg_find_stub(kernel.func ? kernel.func : (CUfunction)kernel.kern),
		.gridDim = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
		.blockDim = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
		.sharedMemBytes = kernel.sharedMemBytes,
		.kernelParams = kernel.kernelParams,
	};
	return cudaSuccess;
}

SG_PASS(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t target, cudaGraphNode_t source),
	cuGraphKernelNodeCopyAttributes, (target, source))
SG_PASS(cudaGraphKernelNodeGetAttribute,
	(cudaGraphNode_t node, cudaKernelNodeAttrID attribute, cudaKernelNodeAttrValue *value),
	cuGraphKernelNodeGetAttribute,
	(node, (CUkernelNodeAttrID)attribute, (CUkernelNodeAttrValue *)value))
SG_PASS(cudaGraphKernelNodeSetAttribute,
	(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
	 const cudaKernelNodeAttrValue *value),
	cuGraphKernelNodeSetAttribute,
	(node, (CUkernelNodeAttrID)attribute, (const CUkernelNodeAttrValue *)value))

/* ---- copies ---------------------------------------------------------------------------- */

static cudaError_t convert_copy(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *ret_copy)
{
	cudaError_t error = sg_enter();

	return error ? error : sg_convert_copy(parameters, ret_copy);
}

static cudaError_t convert_plain(void *target, const void *source, size_t size,
				 enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_copy)
{
	const struct cudaMemcpy3DParms parameters = {
		.srcPtr = {(void *)(uintptr_t)source, size, size, 1},
		.dstPtr = {target, size, size, 1},
		.extent = {size, 1, 1},
		.kind = kind,
	};

	return convert_copy(&parameters, ret_copy);
}

static cudaError_t convert_to_symbol(const void *symbol, const void *source, size_t size,
				     size_t offset, enum cudaMemcpyKind kind,
				     CUDA_MEMCPY3D *ret_copy)
{
	void *variable;
	cudaError_t error = sg_find_piece(symbol, offset, size, &variable);

	return error ? error : convert_plain(variable, source, size, kind, ret_copy);
}

static cudaError_t convert_from_symbol(void *target, const void *symbol, size_t size, size_t offset,
				       enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_copy)
{
	void *variable;
	cudaError_t error = sg_find_piece(symbol, offset, size, &variable);

	return error ? error : convert_plain(target, variable, size, kind, ret_copy);
}

static cudaError_t add_copy(ADD_PARAMETERS, const CUDA_MEMCPY3D *copy)
{
	CUcontext context = NULL;
	cudaError_t error = sg_error(sg_driver.cuCtxGetCurrent(&context));

	return error ? error
		     : sg_error(sg_driver.cuGraphAddMemcpyNode(ADD_ARGUMENTS, copy, context));
}

static cudaError_t set_copy(cudaGraphNode_t node, const CUDA_MEMCPY3D *copy)
{
	return sg_error(sg_driver.cuGraphMemcpyNodeSetParams(node, copy));
}

static cudaError_t set_copy_in(cudaGraphExec_t executable, cudaGraphNode_t node,
			       const CUDA_MEMCPY3D *copy)
{
	CUcontext context = NULL;
	cudaError_t error = sg_error(sg_driver.cuCtxGetCurrent(&context));

	return error ? error
		     : sg_error(sg_driver.cuGraphExecMemcpyNodeSetParams(executable, node, copy,
									 context));
}

NODES(copy, CUDA_MEMCPY3D, cudaGraphAddMemcpyNode, cudaGraphMemcpyNodeSetParams,
      cudaGraphExecMemcpyNodeSetParams, (const struct cudaMemcpy3DParms *parameters),
      convert_copy(parameters, &work))
NODES(copy, CUDA_MEMCPY3D, cudaGraphAddMemcpyNode1D, cudaGraphMemcpyNodeSetParams1D,
      cudaGraphExecMemcpyNodeSetParams1D,
      (void *target, const void *source, size_t size, enum cudaMemcpyKind kind),
      convert_plain(target, source, size, kind, &work))
NODES(copy, CUDA_MEMCPY3D, cudaGraphAddMemcpyNodeToSymbol, cudaGraphMemcpyNodeSetParamsToSymbol,
      cudaGraphExecMemcpyNodeSetParamsToSymbol,
      (const void *symbol, const void *source, size_t size, size_t offset,
       enum cudaMemcpyKind kind),
      convert_to_symbol(symbol, source, size, offset, kind, &work))
NODES(copy, CUDA_MEMCPY3D, cudaGraphAddMemcpyNodeFromSymbol, cudaGraphMemcpyNodeSetParamsFromSymbol,
      cudaGraphExecMemcpyNodeSetParamsFromSymbol,
      (void *target, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind),
      convert_from_symbol(target, symbol, size, offset, kind, &work))

SG_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
						struct cudaMemcpy3DParms *parameters)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = sg_enter();

	if (!error && !parameters)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuGraphMemcpyNodeGetParams(node, &copy));
	if (!error)
		sg_restore_copy(&copy, parameters);
	return sg_finish(error);
}

/* ---- memsets, host functions, events, memory ------------------------------------------- */

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS),
	       "both APIs have the same parameters");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
	       "both APIs have the same parameters");

SG_PASS(cudaGraphAddMemsetNode, (ADD_PARAMETERS, const struct cudaMemsetParams *parameters),
	cuGraphAddMemsetNode, (ADD_ARGUMENTS, (const CUDA_MEMSET_NODE_PARAMS *)parameters, NULL))
SG_PASS(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *parameters),
	cuGraphMemsetNodeGetParams, (node, (CUDA_MEMSET_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphMemsetNodeSetParams,
	(cudaGraphNode_t node, const struct cudaMemsetParams *parameters),
	cuGraphMemsetNodeSetParams, (node, (const CUDA_MEMSET_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphExecMemsetNodeSetParams,
	(cudaGraphExec_t executable, cudaGraphNode_t node,
	 const struct cudaMemsetParams *parameters),
	cuGraphExecMemsetNodeSetParams,
	(executable, node, (const CUDA_MEMSET_NODE_PARAMS *)parameters, NULL))
SG_PASS(cudaGraphAddHostNode, (ADD_PARAMETERS, const struct cudaHostNodeParams *parameters),
	cuGraphAddHostNode, (ADD_ARGUMENTS, (const CUDA_HOST_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *parameters),
	cuGraphHostNodeGetParams, (node, (CUDA_HOST_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphHostNodeSetParams,
	(cudaGraphNode_t node, const struct cudaHostNodeParams *parameters),
	cuGraphHostNodeSetParams, (node, (const CUDA_HOST_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphExecHostNodeSetParams,
	(cudaGraphExec_t executable, cudaGraphNode_t node,
	 const struct cudaHostNodeParams *parameters),
	cuGraphExecHostNodeSetParams, (executable, node, (const CUDA_HOST_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphAddChildGraphNode, (ADD_PARAMETERS, cudaGraph_t child), cuGraphAddChildGraphNode,
	(ADD_ARGUMENTS, child))
SG_PASS(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph),
	cuGraphChildGraphNodeGetGraph, (node, graph))
SG_PASS(cudaGraphExecChildGraphNodeSetParams,
	(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child),
	cuGraphExecChildGraphNodeSetParams, (executable, node, child))
SG_PASS(cudaGraphAddEmptyNode, (ADD_PARAMETERS), cuGraphAddEmptyNode, (ADD_ARGUMENTS))
SG_PASS(cudaGraphAddEventRecordNode, (ADD_PARAMETERS, cudaEvent_t event), cuGraphAddEventRecordNode,
	(ADD_ARGUMENTS, event))
SG_PASS(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
	cuGraphEventRecordNodeGetEvent, (node, event))
SG_PASS(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
	cuGraphEventRecordNodeSetEvent, (node, event))
SG_PASS(cudaGraphExecEventRecordNodeSetEvent,
	(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
	cuGraphExecEventRecordNodeSetEvent, (executable, node, event))
SG_PASS(cudaGraphAddEventWaitNode, (ADD_PARAMETERS, cudaEvent_t event), cuGraphAddEventWaitNode,
	(ADD_ARGUMENTS, event))
SG_PASS(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
	cuGraphEventWaitNodeGetEvent, (node, event))
SG_PASS(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
	cuGraphEventWaitNodeSetEvent, (node, event))
SG_PASS(cudaGraphExecEventWaitNodeSetEvent,
	(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
	cuGraphExecEventWaitNodeSetEvent, (executable, node, event))
SG_PASS(cudaGraphAddMemAllocNode, (ADD_PARAMETERS, struct cudaMemAllocNodeParams *parameters),
	cuGraphAddMemAllocNode, (ADD_ARGUMENTS, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphMemAllocNodeGetParams,
	(cudaGraphNode_t node, struct cudaMemAllocNodeParams *parameters),
	cuGraphMemAllocNodeGetParams, (node, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters))
SG_PASS(cudaGraphAddMemFreeNode, (ADD_PARAMETERS, void *pointer), cuGraphAddMemFreeNode,
	(ADD_ARGUMENTS, (uintptr_t)pointer))
SG_PASS(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *pointer),
	cuGraphMemFreeNodeGetParams, (node, (CUdeviceptr *)pointer))
SG_PASS(cudaGraphNodeSetEnabled,
	(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled),
	cuGraphNodeSetEnabled, (executable, node, enabled))
SG_PASS(cudaGraphNodeGetEnabled,
	(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int *enabled),
	cuGraphNodeGetEnabled, (executable, node, enabled))

/* ---- nodes of any type ----------------------------------------------------------------- */

static struct cudaKernelNodeParams kernel_of(const struct cudaGraphNodeParams *parameters)
{
	return (struct cudaKernelNodeParams){
		.func = parameters->kernel.func,
		.gridDim = parameters->kernel.gridDim,
		.blockDim = parameters->kernel.blockDim,
		.sharedMemBytes = parameters->kernel.sharedMemBytes,
		.kernelParams = parameters->kernel.kernelParams,
		.extra = parameters->kernel.extra,
	};
}

/* The graphs of the node are returned in parameters->phGraph_out. */
static cudaError_t add_condition(ADD_PARAMETERS, struct cudaConditionalNodeParams *parameters)
{
	CUgraphNodeParams node_parameters = {
		.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = {.handle = parameters->handle,
				.type = (CUgraphConditionalNodeType)parameters->type,
				.size = parameters->size},
	};
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_error(sg_driver.cuGraphAddNode(node, graph, dependencies, NULL, count,
							  &node_parameters));
	if (!error)
		parameters->phGraph_out = node_parameters.conditional.phGraph_out;
	return error;
}

SG_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				    const cudaGraphNode_t *dependencies,
				    const cudaGraphEdgeData *edges, size_t count,
				    struct cudaGraphNodeParams *parameters)
{
	struct cudaKernelNodeParams kernel;

	if (!parameters)
		return sg_finish(cudaErrorInvalidValue);
	switch (parameters->type) {
	case cudaGraphNodeTypeKernel:
		kernel = kernel_of(parameters);
		return cudaGraphAddKernelNode(ADD_ARGUMENTS, &kernel);
	case cudaGraphNodeTypeMemcpy:
		return cudaGraphAddMemcpyNode(ADD_ARGUMENTS, &parameters->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		return cudaGraphAddMemsetNode(ADD_ARGUMENTS,
					      (const struct cudaMemsetParams *)&parameters->memset);
	case cudaGraphNodeTypeHost:
		return cudaGraphAddHostNode(ADD_ARGUMENTS,
					    (const struct cudaHostNodeParams *)&parameters->host);
	case cudaGraphNodeTypeGraph:
		return cudaGraphAddChildGraphNode(ADD_ARGUMENTS, parameters->graph.graph);
	case cudaGraphNodeTypeEmpty:
		return cudaGraphAddEmptyNode(ADD_ARGUMENTS);
	case cudaGraphNodeTypeWaitEvent:
		return cudaGraphAddEventWaitNode(ADD_ARGUMENTS, parameters->eventWait.event);
	case cudaGraphNodeTypeEventRecord:
		return cudaGraphAddEventRecordNode(ADD_ARGUMENTS, parameters->eventRecord.event);
	case cudaGraphNodeTypeMemAlloc:
		return cudaGraphAddMemAllocNode(
			ADD_ARGUMENTS, (struct cudaMemAllocNodeParams *)&parameters->alloc);
	case cudaGraphNodeTypeMemFree:
		return cudaGraphAddMemFreeNode(ADD_ARGUMENTS, parameters->free.dptr);
	case cudaGraphNodeTypeConditional:
		return sg_finish(add_condition(ADD_ARGUMENTS, &parameters->conditional));
	default:
		return sg_finish(cudaErrorNotSupported);
	}
}

/* Change a node in an executable graph only, or (NULL) the node itself. */
static cudaError_t set_any(const cudaGraphExec_t *executable, cudaGraphNode_t node,
			   const struct cudaGraphNodeParams *parameters)
{
	struct cudaKernelNodeParams kernel;

	if (!parameters)
		return sg_finish(cudaErrorInvalidValue);
#define SET(type, value)                                                                           \
	(executable ? cudaGraphExec##type##NodeSetParams(*executable, node, value)                 \
		    : cudaGraph##type##NodeSetParams(node, value))
	switch (parameters->type) {
	case cudaGraphNodeTypeKernel:
		kernel = kernel_of(parameters);
		return SET(Kernel, &kernel);
	case cudaGraphNodeTypeMemcpy:
		return SET(Memcpy, &parameters->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		return SET(Memset, (const struct cudaMemsetParams *)&parameters->memset);
	case cudaGraphNodeTypeHost:
		return SET(Host, (const struct cudaHostNodeParams *)&parameters->host);
	default:
		return sg_finish(cudaErrorNotSupported);
	}
#undef SET
}

SG_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
					  struct cudaGraphNodeParams *parameters)
{
	return set_any(NULL, node, parameters);
}

SG_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
					      struct cudaGraphNodeParams *parameters)
{
	return set_any(&executable, node, parameters);
}
