/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stream capture, and graphs except for the parameters of nodes (nodes.c). */
#include "runtime/runtime.h"

/* ---- capture --------------------------------------------------------------------------- */

SG_STREAM_VARIANTS(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz,
		   (cudaStream_t stream, enum cudaStreamCaptureMode mode),
		   SG_CALL(cuStreamBeginCapture, ZERO(stream), (CUstreamCaptureMode)mode))
SG_STREAM_VARIANTS(cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz,
		   (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
		    const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode),
		   SG_CALL(cuStreamBeginCaptureToGraph, ZERO(stream), graph, dependencies,
			   (const CUgraphEdgeData *)edges, count, (CUstreamCaptureMode)mode))
SG_STREAM_VARIANTS(cudaStreamEndCapture, cudaStreamEndCapture_ptsz,
		   (cudaStream_t stream, cudaGraph_t *graph),
		   SG_CALL(cuStreamEndCapture, ZERO(stream), graph))
SG_STREAM_VARIANTS(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz,
		   (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
		   SG_CALL(cuStreamIsCapturing, ZERO(stream), (CUstreamCaptureStatus *)status))
SG_STREAM_VARIANTS(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz,
		   (cudaStream_t stream, enum cudaStreamCaptureStatus *status,
		    unsigned long long *id, cudaGraph_t *graph,
		    const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
		    size_t *count),
		   SG_CALL(cuStreamGetCaptureInfo, ZERO(stream), (CUstreamCaptureStatus *)status,
			   (cuuint64_t *)id, graph, dependencies, (const CUgraphEdgeData **)edges,
			   count))
SG_STREAM_VARIANTS(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_ptsz,
		   (cudaStream_t stream, cudaGraphNode_t *dependencies,
		    const cudaGraphEdgeData *edges, size_t count, unsigned int flags),
		   SG_CALL(cuStreamUpdateCaptureDependencies, ZERO(stream), dependencies,
			   (const CUgraphEdgeData *)edges, count, flags))
SG_PASS(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
	cuThreadExchangeStreamCaptureMode, ((CUstreamCaptureMode *)mode))

/* ---- graphs ---------------------------------------------------------------------------- */

SG_PASS(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), cuGraphCreate, (graph, flags))
SG_PASS(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, (graph))
SG_PASS(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), cuGraphClone, (clone, graph))
SG_PASS(cudaGraphNodeFindInClone,
	(cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
	cuGraphNodeFindInClone, (node, original, clone))
SG_PASS(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
	cuGraphNodeGetType, (node, (CUgraphNodeType *)type))
SG_PASS(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode, (node))
SG_PASS(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
	cuGraphGetNodes, (graph, nodes, count))
SG_PASS(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
	cuGraphGetRootNodes, (graph, nodes, count))
SG_PASS(cudaGraphGetEdges,
	(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
	 size_t *count),
	cuGraphGetEdges, (graph, from, to, (CUgraphEdgeData *)edges, count))
SG_PASS(cudaGraphNodeGetDependencies,
	(cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
	 size_t *count),
	cuGraphNodeGetDependencies, (node, dependencies, (CUgraphEdgeData *)edges, count))
SG_PASS(cudaGraphNodeGetDependentNodes,
	(cudaGraphNode_t node, cudaGraphNode_t *dependents, cudaGraphEdgeData *edges,
	 size_t *count),
	cuGraphNodeGetDependentNodes, (node, dependents, (CUgraphEdgeData *)edges, count))
SG_PASS(cudaGraphAddDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	 const cudaGraphEdgeData *edges, size_t count),
	cuGraphAddDependencies, (graph, from, to, (const CUgraphEdgeData *)edges, count))
SG_PASS(cudaGraphRemoveDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	 const cudaGraphEdgeData *edges, size_t count),
	cuGraphRemoveDependencies, (graph, from, to, (const CUgraphEdgeData *)edges, count))
SG_PASS(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
	cuGraphDebugDotPrint, (graph, path, flags))

/* ---- executable graphs ----------------------------------------------------------------- */

SG_PASS(cudaGraphInstantiate,
	(cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
	cuGraphInstantiateWithFlags, (executable, graph, flags))
SG_PASS(cudaGraphInstantiateWithFlags,
	(cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
	cuGraphInstantiateWithFlags, (executable, graph, flags))
SG_STREAM_VARIANTS(cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz,
		   (cudaGraphExec_t * executable, cudaGraph_t graph,
		    cudaGraphInstantiateParams *parameters),
		   ((void)zero, SG_CALL(cuGraphInstantiateWithParams, executable, graph,
					(CUDA_GRAPH_INSTANTIATE_PARAMS *)parameters)))
SG_PASS(cudaGraphExecGetFlags, (cudaGraphExec_t executable, unsigned long long *flags),
	cuGraphExecGetFlags, (executable, (cuuint64_t *)flags))
SG_PASS(cudaGraphExecDestroy, (cudaGraphExec_t executable), cuGraphExecDestroy, (executable))
SG_PASS(cudaGraphExecUpdate,
	(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
	cuGraphExecUpdate, (executable, graph, (CUgraphExecUpdateResultInfo *)info))
SG_STREAM_VARIANTS(cudaGraphLaunch, cudaGraphLaunch_ptsz,
		   (cudaGraphExec_t executable, cudaStream_t stream),
		   SG_CALL(cuGraphLaunch, executable, ZERO(stream)))
SG_STREAM_VARIANTS(cudaGraphUpload, cudaGraphUpload_ptsz,
		   (cudaGraphExec_t executable, cudaStream_t stream),
		   SG_CALL(cuGraphUpload, executable, ZERO(stream)))

SG_PASS(cudaGraphConditionalHandleCreate,
	(cudaGraphConditionalHandle * handle, cudaGraph_t graph, unsigned int value,
	 unsigned int flags),
	cuGraphConditionalHandleCreate,
	((CUgraphConditionalHandle *)handle, graph, NULL, value, flags))

/* ---- what graphs keep ------------------------------------------------------------------ */

SG_PASS(cudaUserObjectCreate,
	(cudaUserObject_t * object, void *pointer, cudaHostFn_t destroy, unsigned int references,
	 unsigned int flags),
	cuUserObjectCreate, (object, pointer, destroy, references, flags))
SG_PASS(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count), cuUserObjectRetain,
	(object, count))
SG_PASS(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count), cuUserObjectRelease,
	(object, count))
SG_PASS(cudaGraphRetainUserObject,
	(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
	cuGraphRetainUserObject, (graph, object, count, flags))
SG_PASS(cudaGraphReleaseUserObject,
	(cudaGraph_t graph, cudaUserObject_t object, unsigned int count), cuGraphReleaseUserObject,
	(graph, object, count))
SG_PASS(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim, (device))
SG_PASS(cudaDeviceGetGraphMemAttribute,
	(int device, enum cudaGraphMemAttributeType attribute, void *value),
	cuDeviceGetGraphMemAttribute, (device, (CUgraphMem_attribute)attribute, value))
SG_PASS(cudaDeviceSetGraphMemAttribute,
	(int device, enum cudaGraphMemAttributeType attribute, void *value),
	cuDeviceSetGraphMemAttribute, (device, (CUgraphMem_attribute)attribute, value))
