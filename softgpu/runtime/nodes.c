/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nodes of graphs: the runtime's parameters as the driver wants them. */
#include <string.h>

#include "runtime/runtime.h"

#define ADD_PARAMETERS                                                                             \
	cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count
#define ADD_ARGUMENTS node, graph, dependencies, count

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

SG_API cudaError_t cudaGraphAddKernelNode(ADD_PARAMETERS,
					  const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error = convert_kernel(parameters, &kernel);

	if (!error)
		error = sg_error(sg_driver.cuGraphAddKernelNode(ADD_ARGUMENTS, &kernel));
	return sg_finish(error);
}

SG_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
						const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error = convert_kernel(parameters, &kernel);

	if (!error)
		error = sg_error(sg_driver.cuGraphKernelNodeSetParams(node, &kernel));
	return sg_finish(error);
}

SG_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable,
						    cudaGraphNode_t node,
						    const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error = convert_kernel(parameters, &kernel);

	if (!error)
		error = sg_error(
			sg_driver.cuGraphExecKernelNodeSetParams(executable, node, &kernel));
	return sg_finish(error);
}

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

static struct cudaMemcpy3DParms plain_copy(void *target, const void *source, size_t size,
					   enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = {(void *)(uintptr_t)source, size, size, 1},
		.dstPtr = {target, size, size, 1},
		.extent = {size, 1, 1},
		.kind = kind,
	};
}

/* A copy to (target NULL) or from a variable of the device. */
static cudaError_t symbol_copy(const void *symbol, void *target, const void *source, size_t size,
			       size_t offset, enum cudaMemcpyKind kind,
			       struct cudaMemcpy3DParms *ret_copy)
{
	CUdeviceptr address;
	size_t whole;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_find_symbol(symbol, &address, &whole);
	if (!error && (offset > whole || size > whole - offset))
		error = cudaErrorInvalidValue;
	if (error)
		return error;
	address += offset;
	if (target)
		*ret_copy = plain_copy(target, (void *)(uintptr_t)address, size, kind);
	else
		*ret_copy = plain_copy((void *)(uintptr_t)address, source, size, kind);
	return cudaSuccess;
}

static cudaError_t add_copy(ADD_PARAMETERS, const struct cudaMemcpy3DParms *parameters)
{
	CUDA_MEMCPY3D copy;
	CUcontext context = NULL;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_convert_copy(parameters, &copy);
	if (!error)
		error = sg_error(sg_driver.cuCtxGetCurrent(&context));
	return error ? error
		     : sg_error(sg_driver.cuGraphAddMemcpyNode(ADD_ARGUMENTS, &copy, context));
}

static cudaError_t set_copy(cudaGraphNode_t node, const struct cudaMemcpy3DParms *parameters)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_convert_copy(parameters, &copy);
	return error ? error : sg_error(sg_driver.cuGraphMemcpyNodeSetParams(node, &copy));
}

static cudaError_t set_copy_in(cudaGraphExec_t executable, cudaGraphNode_t node,
			       const struct cudaMemcpy3DParms *parameters)
{
	CUDA_MEMCPY3D copy;
	CUcontext context = NULL;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_convert_copy(parameters, &copy);
	if (!error)
		error = sg_error(sg_driver.cuCtxGetCurrent(&context));
	return error ? error
		     : sg_error(sg_driver.cuGraphExecMemcpyNodeSetParams(executable, node, &copy,
									 context));
}

SG_API cudaError_t cudaGraphAddMemcpyNode(ADD_PARAMETERS,
					  const struct cudaMemcpy3DParms *parameters)
{
	return sg_finish(add_copy(ADD_ARGUMENTS, parameters));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
						const struct cudaMemcpy3DParms *parameters)
{
	return sg_finish(set_copy(node, parameters));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable,
						    cudaGraphNode_t node,
						    const struct cudaMemcpy3DParms *parameters)
{
	return sg_finish(set_copy_in(executable, node, parameters));
}

#define PLAIN_PARAMETERS void *target, const void *source, size_t size, enum cudaMemcpyKind kind
#define TO_SYMBOL_PARAMETERS                                                                       \
	const void *symbol, const void *source, size_t size, size_t offset, enum cudaMemcpyKind kind
#define FROM_SYMBOL_PARAMETERS                                                                     \
	void *target, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind

SG_API cudaError_t cudaGraphAddMemcpyNode1D(ADD_PARAMETERS, PLAIN_PARAMETERS)
{
	struct cudaMemcpy3DParms copy = plain_copy(target, source, size, kind);

	return sg_finish(add_copy(ADD_ARGUMENTS, &copy));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, PLAIN_PARAMETERS)
{
	struct cudaMemcpy3DParms copy = plain_copy(target, source, size, kind);

	return sg_finish(set_copy(node, &copy));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable,
						      cudaGraphNode_t node, PLAIN_PARAMETERS)
{
	struct cudaMemcpy3DParms copy = plain_copy(target, source, size, kind);

	return sg_finish(set_copy_in(executable, node, &copy));
}

SG_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(ADD_PARAMETERS, TO_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, NULL, source, size, offset, kind, &copy);

	return sg_finish(error ? error : add_copy(ADD_ARGUMENTS, &copy));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, TO_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, NULL, source, size, offset, kind, &copy);

	return sg_finish(error ? error : set_copy(node, &copy));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable,
							    cudaGraphNode_t node,
							    TO_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, NULL, source, size, offset, kind, &copy);

	return sg_finish(error ? error : set_copy_in(executable, node, &copy));
}

SG_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(ADD_PARAMETERS, FROM_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, target, NULL, size, offset, kind, &copy);

	return sg_finish(error ? error : add_copy(ADD_ARGUMENTS, &copy));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node,
							  FROM_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, target, NULL, size, offset, kind, &copy);

	return sg_finish(error ? error : set_copy(node, &copy));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable,
							      cudaGraphNode_t node,
							      FROM_SYMBOL_PARAMETERS)
{
	struct cudaMemcpy3DParms copy;
	cudaError_t error = symbol_copy(symbol, target, NULL, size, offset, kind, &copy);

	return sg_finish(error ? error : set_copy_in(executable, node, &copy));
}

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

/* The graphs of the node are told at parameters->phGraph_out. */
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

SG_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
					  struct cudaGraphNodeParams *parameters)
{
	struct cudaKernelNodeParams kernel;

	if (!parameters)
		return sg_finish(cudaErrorInvalidValue);
	switch (parameters->type) {
	case cudaGraphNodeTypeKernel:
		kernel = kernel_of(parameters);
		return cudaGraphKernelNodeSetParams(node, &kernel);
	case cudaGraphNodeTypeMemcpy:
		return cudaGraphMemcpyNodeSetParams(node, &parameters->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		return cudaGraphMemsetNodeSetParams(
			node, (const struct cudaMemsetParams *)&parameters->memset);
	case cudaGraphNodeTypeHost:
		return cudaGraphHostNodeSetParams(
			node, (const struct cudaHostNodeParams *)&parameters->host);
	default:
		return sg_finish(cudaErrorNotSupported);
	}
}

SG_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
					      struct cudaGraphNodeParams *parameters)
{
	struct cudaKernelNodeParams kernel;

	if (!parameters)
		return sg_finish(cudaErrorInvalidValue);
	switch (parameters->type) {
	case cudaGraphNodeTypeKernel:
		kernel = kernel_of(parameters);
		return cudaGraphExecKernelNodeSetParams(executable, node, &kernel);
	case cudaGraphNodeTypeMemcpy:
		return cudaGraphExecMemcpyNodeSetParams(executable, node,
							&parameters->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		return cudaGraphExecMemsetNodeSetParams(
			executable, node, (const struct cudaMemsetParams *)&parameters->memset);
	case cudaGraphNodeTypeHost:
		return cudaGraphExecHostNodeSetParams(
			executable, node, (const struct cudaHostNodeParams *)&parameters->host);
	default:
		return sg_finish(cudaErrorNotSupported);
	}
}
