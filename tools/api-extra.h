/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Exported functions that no public header of the current toolkit declares as C, in the form of
 * declarations: tools/gen-api reads them after the toolkit's headers and makes rows of them.
 */

/*
 * What nvcc's code calls. Sources: crt/host_runtime.h and crt/device_functions.h of the toolkit,
 * which declare them for nvcc alone; __cudaRegisterHostVar is in no header of CUDA 13, it stands
 * here as LLVM's flang runtime declares it. The last argument of __cudaPopCallConfiguration is a
 * void * there, and points at a stream.
 */
void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
		       const char *deviceName, int ext, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
			      const char *deviceName, int ext, size_t size, int constant,
			      int global);
void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar,
			   size_t size);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, struct uint3 *tid,
			    struct uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterTexture(void **fatCubinHandle, const void *hostVar, const void **deviceAddress,
			   const char *deviceName, int dim, int norm, int ext);
void __cudaRegisterSurface(void **fatCubinHandle, const void *hostVar, const void **deviceAddress,
			   const char *deviceName, int dim, int ext);
char __cudaInitModule(void **fatCubinHandle);
unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
					 cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       cudaStream_t *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entryFuncAddr);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
				    size_t sharedMem, cudaStream_t stream);

/* Their arguments and results are not published: none are shown. */
void __cudaRegisterUnifiedTable(void);
void __cudaGetProcAddress(void);

/*
 * What libcudart.so.12 and older export and version 13 does not. Sources of the parameters:
 * generated_cuda_runtime_api_meta.h and generated_cudart_removed_meta.h of CUDA 13, which list them
 * for each version. No library of version 12 was examined.
 */
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device);
cudaError_t cudaMemPrefetchAsync_v2(const void *devPtr, size_t count,
				    struct cudaMemLocation location, unsigned int flags,
				    cudaStream_t stream);
cudaError_t cudaMemAdvise_v2(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation location);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				const cudaGraphNode_t *pDependencies,
				const cudaGraphEdgeData *dependencyData, size_t numDependencies,
				struct cudaGraphNodeParams *nodeParams);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edgeData, size_t numDependencies);
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
					   const cudaGraphNode_t *to,
					   const cudaGraphEdgeData *edgeData,
					   size_t numDependencies);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				 cudaGraphEdgeData *edgeData, size_t *numEdges);
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					    cudaGraphEdgeData *edgeData, size_t *pNumDependencies);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node,
					      cudaGraphNode_t *pDependentNodes,
					      cudaGraphEdgeData *edgeData,
					      size_t *pNumDependentNodes);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					enum cudaStreamCaptureStatus *captureStatus_out,
					unsigned long long *id_out, cudaGraph_t *graph_out,
					const cudaGraphNode_t **dependencies_out,
					size_t *numDependencies_out);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream,
					enum cudaStreamCaptureStatus *captureStatus_out,
					unsigned long long *id_out, cudaGraph_t *graph_out,
					const cudaGraphNode_t **dependencies_out,
					const cudaGraphEdgeData **edgeData_out,
					size_t *numDependencies_out);
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream,
						   cudaGraphNode_t *dependencies,
						   const cudaGraphEdgeData *dependencyData,
						   size_t numDependencies, unsigned int flags);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);
#if CUDART_VERSION >= 13000 /* as driver_types.h of CUDA 9 to 12 has it */
struct cudaLaunchParams {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	void **args;
	size_t sharedMem;
	cudaStream_t stream;
};
#endif
cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *launchParamsList,
						   unsigned int numDevices, unsigned int flags);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig);
cudaError_t cudaSetDoubleForDevice(double *d);
cudaError_t cudaSetDoubleForHost(double *d);
cudaError_t cudaConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream);
cudaError_t cudaSetupArgument(const void *arg, size_t size, size_t offset);
cudaError_t cudaLaunch(const void *func);
