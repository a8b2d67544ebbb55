/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The CUDA runtime API as far as this device implements it; what the functions do is NVIDIA's
 * public documentation of CUDA 13.0. The library exports more names than stand here: those
 * return cudaErrorNotSupported (see README.md beside this folder).
 */
#pragma once

#include "driver_types.h"

#define CUDART_VERSION 13000
#define CUDARTAPI
#define CUDART_CB

#ifdef __cplusplus
#define SG_DEFAULT(value) = value
#else
#define SG_DEFAULT(value)
#endif

/* With -DCUDA_API_PER_THREAD_DEFAULT_STREAM stream 0 is the calling thread's own. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds
#define cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds
#define cudaMemcpy2D cudaMemcpy2D_ptds
#define cudaMemcpyToArray cudaMemcpyToArray_ptds
#define cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds
#define cudaMemcpyFromArray cudaMemcpyFromArray_ptds
#define cudaMemcpy2DFromArray cudaMemcpy2DFromArray_ptds
#define cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds
#define cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
#define cudaMemcpy3D cudaMemcpy3D_ptds
#define cudaMemcpy3DPeer cudaMemcpy3DPeer_ptds
#define cudaMemset cudaMemset_ptds
#define cudaMemset2D cudaMemset2D_ptds
#define cudaMemset3D cudaMemset3D_ptds
#define cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz
#define cudaGraphUpload cudaGraphUpload_ptsz
#define cudaGraphLaunch cudaGraphLaunch_ptsz
#define cudaStreamBeginCapture cudaStreamBeginCapture_ptsz
#define cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz
#define cudaStreamEndCapture cudaStreamEndCapture_ptsz
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
#define cudaStreamIsCapturing cudaStreamIsCapturing_ptsz
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#define cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz
#define cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz
#define cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz
#define cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz
#define cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz
#define cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz
#define cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz
#define cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz
#define cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz
#define cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
#define cudaMemsetAsync cudaMemsetAsync_ptsz
#define cudaMemset2DAsync cudaMemset2DAsync_ptsz
#define cudaMemset3DAsync cudaMemset3DAsync_ptsz
#define cudaStreamQuery cudaStreamQuery_ptsz
#define cudaStreamGetDevice cudaStreamGetDevice_ptsz
#define cudaStreamGetFlags cudaStreamGetFlags_ptsz
#define cudaStreamGetId cudaStreamGetId_ptsz
#define cudaStreamGetPriority cudaStreamGetPriority_ptsz
#define cudaEventRecord cudaEventRecord_ptsz
#define cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz
#define cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
#define cudaStreamAddCallback cudaStreamAddCallback_ptsz
#define cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
#define cudaStreamSynchronize cudaStreamSynchronize_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC cudaLaunchKernelExC_ptsz
#define cudaLaunchHostFunc cudaLaunchHostFunc_ptsz
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz
#define cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz
#define cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz
#define cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
#define cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz
#define cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz
#define cudaStreamGetAttribute cudaStreamGetAttribute_ptsz
#define cudaStreamSetAttribute cudaStreamSetAttribute_ptsz
#define cudaMallocAsync cudaMallocAsync_ptsz
#define cudaFreeAsync cudaFreeAsync_ptsz
#define cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
#define cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz
#define cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC cudaLaunchKernelExC_ptsz
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

/* Devices */
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *cache_config);
cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest_priority, int *highest_priority);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cache_config);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pci_bus_id);
cudaError_t cudaDeviceGetPCIBusId(char *pci_bus_id, int len, int device);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int source,
				      int target);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetValidDevices(int *device_arr, int len);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaCtxResetPersistingL2Cache(void);
cudaError_t cudaDeviceCanAccessPeer(int *can_access_peer, int device, int peer_device);
cudaError_t cudaDeviceEnablePeerAccess(int peer_device, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer_device);
cudaError_t cudaDriverGetVersion(int *driver_version);
cudaError_t cudaRuntimeGetVersion(int *runtime_version);

/* Errors */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* Memory */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer);
cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *pointer);
cudaError_t cudaMallocManaged(void **pointer, size_t size,
			      unsigned int flags SG_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMalloc(void **pointer, size_t size);
cudaError_t cudaMallocHost(void **pointer, size_t size);
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height SG_DEFAULT(0),
			    unsigned int flags SG_DEFAULT(0));
cudaError_t cudaFree(void *pointer);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaHostAlloc(void **host, size_t size, unsigned int flags);
cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched_dev_ptr, struct cudaExtent extent);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			      struct cudaExtent extent, unsigned int flags SG_DEFAULT(0));
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *pointer);
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *pointer);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *pointer,
			      cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *pointer,
				  cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpy(void *target, const void *source, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void *target, int dst_device, const void *source, int src_device,
			   size_t count);
cudaError_t cudaMemcpy2D(void *target, size_t dpitch, const void *source, size_t spitch,
			 size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t target, size_t w_offset, size_t offset,
				const void *source, size_t spitch, size_t width, size_t height,
				enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *target, size_t dpitch, cudaArray_const_t source,
				  size_t w_offset, size_t offset, size_t width, size_t height,
				  enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t target, size_t w_offset_dst, size_t offset_dst,
				     cudaArray_const_t source, size_t w_offset_src,
				     size_t offset_src, size_t width, size_t height,
				     enum cudaMemcpyKind kind SG_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *source, size_t size,
			       size_t offset SG_DEFAULT(0),
			       enum cudaMemcpyKind kind SG_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyFromSymbol(void *target, const void *symbol, size_t size,
				 size_t offset SG_DEFAULT(0),
				 enum cudaMemcpyKind kind SG_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t size, enum cudaMemcpyKind kind,
			    cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpyPeerAsync(void *target, int dst_device, const void *source, int src_device,
				size_t count, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
				 size_t count, struct cudaMemcpyAttributes *attrs,
				 size_t *attrs_idxs, size_t num_attrs, cudaStream_t stream);
cudaError_t cudaMemcpy3DBatchAsync(size_t num_ops, struct cudaMemcpy3DBatchOp *op_list,
				   unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *target, size_t dpitch, const void *source, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind,
			      cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t target, size_t w_offset, size_t offset,
				     const void *source, size_t spitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpy2DFromArrayAsync(void *target, size_t dpitch, cudaArray_const_t source,
				       size_t w_offset, size_t offset, size_t width, size_t height,
				       enum cudaMemcpyKind kind, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size,
				    size_t offset, enum cudaMemcpyKind kind,
				    cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpyFromSymbolAsync(void *target, const void *symbol, size_t size, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemset(void *pointer, int value, size_t size);
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pitched_dev_ptr, int value,
			 struct cudaExtent extent);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size,
			    cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
			      cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitched_dev_ptr, int value,
			      struct cudaExtent extent, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation location,
				 unsigned int flags, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
				      struct cudaMemLocation *prefetch_locs,
				      size_t *prefetch_loc_idxs, size_t num_prefetch_locs,
				      unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
				     unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
						struct cudaMemLocation *prefetch_locs,
						size_t *prefetch_loc_idxs, size_t num_prefetch_locs,
						unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location);
cudaError_t cudaMemRangeGetAttribute(void *data, size_t data_size,
				     enum cudaMemRangeAttribute attribute, const void *pointer,
				     size_t size);
cudaError_t cudaMemRangeGetAttributes(void **data, size_t *data_sizes,
				      enum cudaMemRangeAttribute *attributes, size_t count,
				      const void *pointer, size_t size);
cudaError_t cudaMemcpyToArray(cudaArray_t target, size_t w_offset, size_t offset,
			      const void *source, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void *target, cudaArray_const_t source, size_t w_offset,
				size_t offset, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t target, size_t w_offset_dst, size_t offset_dst,
				   cudaArray_const_t source, size_t w_offset_src, size_t offset_src,
				   size_t size,
				   enum cudaMemcpyKind kind SG_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t target, size_t w_offset, size_t offset,
				   const void *source, size_t size, enum cudaMemcpyKind kind,
				   cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaMemcpyFromArrayAsync(void *target, cudaArray_const_t source, size_t w_offset,
				     size_t offset, size_t size, enum cudaMemcpyKind kind,
				     cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			     unsigned int *flags, cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmapped_array,
				     const struct cudaChannelFormatDesc *desc,
				     struct cudaExtent extent, unsigned int num_levels,
				     unsigned int flags SG_DEFAULT(0));
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level_array,
				       cudaMipmappedArray_const_t mipmapped_array,
				       unsigned int level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmapped_array);
cudaError_t cudaArrayGetPlane(cudaArray_t *plane_array, cudaArray_t array,
			      unsigned int plane_index);
cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memory_requirements,
					   cudaArray_t array, int device);
cudaError_t
cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memory_requirements,
					cudaMipmappedArray_t mipmap, int device);
cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparse_properties,
					 cudaArray_t array);
cudaError_t
cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparse_properties,
				      cudaMipmappedArray_t mipmap);

/* Textures and surfaces */
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *tex_object,
				    const struct cudaResourceDesc *res_desc,
				    const struct cudaTextureDesc *tex_desc,
				    const struct cudaResourceViewDesc *res_view_desc);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t tex_object);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *res_desc,
					     cudaTextureObject_t tex_object);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *tex_desc,
					    cudaTextureObject_t tex_object);
cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *res_view_desc,
						 cudaTextureObject_t tex_object);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surf_object,
				    const struct cudaResourceDesc *res_desc);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surf_object);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *res_desc,
					     cudaSurfaceObject_t surf_object);
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *max_width_in_elements,
						 const struct cudaChannelFormatDesc *fmt_desc,
						 int device);

/* Stream-ordered memory and pools */
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *mem_pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t mem_pool);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *mem_pool, int device);
cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t mem_pool, size_t min_bytes_to_keep);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t mem_pool, enum cudaMemPoolAttr attribute,
				    void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t mem_pool, enum cudaMemPoolAttr attribute,
				    void *value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t mem_pool, const struct cudaMemAccessDesc *desc_list,
				 size_t count);
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t mem_pool,
				 struct cudaMemLocation *location);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *mem_pool, const struct cudaMemPoolProps *pool_props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t mem_pool);
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *mem_pool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type);
cudaError_t cudaMemGetMemPool(cudaMemPool_t *mem_pool, struct cudaMemLocation *location,
			      enum cudaMemAllocationType type);
cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
			      cudaMemPool_t mem_pool);
cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t mem_pool,
				    cudaStream_t stream);
cudaError_t cudaMemPoolExportToShareableHandle(void *shareable_handle, cudaMemPool_t mem_pool,
					       enum cudaMemAllocationHandleType handle_type,
					       unsigned int flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *mem_pool, void *shareable_handle,
						 enum cudaMemAllocationHandleType handle_type,
						 unsigned int flags);
cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *export_data, void *pointer);
cudaError_t cudaMemPoolImportPointer(void **pointer, cudaMemPool_t mem_pool,
				     struct cudaMemPoolPtrExportData *export_data);

/* Streams */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *stream_id);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device);
cudaError_t cudaStreamCopyAttributes(cudaStream_t target, cudaStream_t source);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
				   cudaStreamAttrValue *value_out);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
				   const cudaStreamAttrValue *value);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
				unsigned int flags SG_DEFAULT(0));
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
				  unsigned int flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t length,
				     unsigned int flags SG_DEFAULT(cudaMemAttachSingle));
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);

/* Events */
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream SG_DEFAULT(0));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream SG_DEFAULT(0),
				     unsigned int flags SG_DEFAULT(0));
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* Kernels and launches */
cudaError_t cudaLaunchKernel(const void *function, dim3 grid_dim, dim3 block_dim, void **args,
			     size_t shared_mem, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
				void **args);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid_dim, dim3 block_dim,
					void **args, size_t shared_mem, cudaStream_t stream);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache cache_config);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attribute, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetName(const char **name, const void *function);
cudaError_t cudaFuncGetParamInfo(const void *function, size_t param_index, size_t *param_offset,
				 size_t *param_size);
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, const void *function,
							  int block_size,
							  size_t dynamic_s_mem_size);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_smem_size,
						      const void *function, int num_blocks,
						      int block_size);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *num_blocks,
								   const void *function,
								   int block_size,
								   size_t dynamic_s_mem_size,
								   unsigned int flags);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *cluster_size, const void *function,
						 const cudaLaunchConfig_t *launch_config);
cudaError_t cudaOccupancyMaxActiveClusters(int *num_clusters, const void *function,
					   const cudaLaunchConfig_t *launch_config);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
					    int value, int device);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function_ptr, const void *symbol_ptr);
cudaError_t cudaGetKernel(cudaKernel_t *kernel_ptr, const void *entry_func_addr);

/* Libraries and the driver */
cudaError_t
cudaGetDriverEntryPoint(const char *symbol, void **func_ptr, unsigned long long flags,
			enum cudaDriverEntryPointQueryResult *driver_status SG_DEFAULT(0));
cudaError_t
cudaGetDriverEntryPointByVersion(const char *symbol, void **func_ptr, unsigned int cuda_version,
				 unsigned long long flags,
				 enum cudaDriverEntryPointQueryResult *driver_status SG_DEFAULT(0));
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				enum cudaJitOption *jit_options, void **jit_options_values,
				unsigned int num_jit_options,
				enum cudaLibraryOption *library_options,
				void **library_option_values, unsigned int num_library_options);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
				    enum cudaJitOption *jit_options, void **jit_options_values,
				    unsigned int num_jit_options,
				    enum cudaLibraryOption *library_options,
				    void **library_option_values, unsigned int num_library_options);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetGlobal(void **pointer, size_t *bytes, cudaLibrary_t library,
				 const char *name);
cudaError_t cudaLibraryGetManaged(void **pointer, size_t *bytes, cudaLibrary_t library,
				  const char *name);
cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol);
cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int num_kernels,
					cudaLibrary_t library);
cudaError_t cudaGetExportTable(const void **export_table, const cudaUUID_t *export_table_id);

/* Stream capture and graphs */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *dependency_data, size_t count,
					  enum cudaStreamCaptureMode mode);
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
				  enum cudaStreamCaptureStatus *capture_status);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *capture_status_out,
				     unsigned long long *id_out SG_DEFAULT(0),
				     cudaGraph_t *graph_out SG_DEFAULT(0),
				     const cudaGraphNode_t **dependencies_out SG_DEFAULT(0),
				     const cudaGraphEdgeData **edge_data_out SG_DEFAULT(0),
				     size_t *num_dependencies_out SG_DEFAULT(0));
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						const cudaGraphEdgeData *dependency_data,
						size_t count, unsigned int flags SG_DEFAULT(0));
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   const struct cudaKernelNodeParams *node_params);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					 struct cudaKernelNodeParams *node_params);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					 const struct cudaKernelNodeParams *node_params);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t target, cudaGraphNode_t source);
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
					    cudaKernelNodeAttrValue *value_out);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
					    const cudaKernelNodeAttrValue *value);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   const struct cudaMemcpy3DParms *copy_params);
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *graph_node, cudaGraph_t graph,
					   const cudaGraphNode_t *dependencies, size_t count,
					   const void *symbol, const void *source, size_t size,
					   size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *graph_node, cudaGraph_t graph,
					     const cudaGraphNode_t *dependencies, size_t count,
					     void *target, const void *symbol, size_t size,
					     size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				     const cudaGraphNode_t *dependencies, size_t count,
				     void *target, const void *source, size_t size,
				     enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
					 struct cudaMemcpy3DParms *node_params);
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
					 const struct cudaMemcpy3DParms *node_params);
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
						 const void *source, size_t size, size_t offset,
						 enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *target,
						   const void *symbol, size_t size, size_t offset,
						   enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *target, const void *source,
					   size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   const struct cudaMemsetParams *memset_params);
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
					 struct cudaMemsetParams *node_params);
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
					 const struct cudaMemsetParams *node_params);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				 const cudaGraphNode_t *dependencies, size_t count,
				 const struct cudaHostNodeParams *node_params);
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
				       struct cudaHostNodeParams *node_params);
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
				       const struct cudaHostNodeParams *node_params);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				       const cudaGraphNode_t *dependencies, size_t count,
				       cudaGraph_t child_graph);
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				  const cudaGraphNode_t *dependencies, size_t count);
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
					const cudaGraphNode_t *dependencies, size_t count,
					cudaEvent_t event);
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      cudaEvent_t event);
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				     const cudaGraphNode_t *dependencies, size_t count,
				     struct cudaMemAllocNodeParams *node_params);
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
					   struct cudaMemAllocNodeParams *params_out);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
				    const cudaGraphNode_t *dependencies, size_t count,
				    void *pointer);
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out);
cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
					   void *value);
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
					   void *value);
cudaError_t cudaGraphClone(cudaGraph_t *graph_clone, cudaGraph_t original_graph);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original_node,
				     cudaGraph_t cloned_graph);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *num_nodes);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *root_nodes,
				  size_t *num_root_nodes);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
			      cudaGraphEdgeData *edge_data, size_t *num_edges);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies,
					 cudaGraphEdgeData *edge_data, size_t *count);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependent_nodes,
					   cudaGraphEdgeData *edge_data,
					   size_t *num_dependent_nodes);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
				     const cudaGraphNode_t *to, const cudaGraphEdgeData *edge_data,
				     size_t count);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edge_data, size_t count);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *graph_exec, cudaGraph_t graph,
				 unsigned long long flags SG_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *graph_exec, cudaGraph_t graph,
					  unsigned long long flags SG_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *graph_exec, cudaGraph_t graph,
					   cudaGraphInstantiateParams *instantiate_params);
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graph_exec, unsigned long long *flags);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *node_params);
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *node_params);
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t graph_exec,
						     cudaGraphNode_t node, const void *symbol,
						     const void *source, size_t size, size_t offset,
						     enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t graph_exec,
						       cudaGraphNode_t node, void *target,
						       const void *symbol, size_t size,
						       size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					       void *target, const void *source, size_t size,
					       enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *node_params);
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *node_params);
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
						 cudaGraph_t child_graph);
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
						 cudaEvent_t event);
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
					       cudaEvent_t event);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
				    unsigned int is_enabled);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
				    unsigned int *is_enabled);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t graph_exec, cudaGraph_t graph,
				cudaGraphExecUpdateResultInfo *result_info);
cudaError_t cudaGraphUpload(cudaGraphExec_t graph_exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph_exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph_exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);
cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *pointer, cudaHostFn_t destroy,
				 unsigned int initial_refcount, unsigned int flags);
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count SG_DEFAULT(1));
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count SG_DEFAULT(1));
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
				      unsigned int count SG_DEFAULT(1),
				      unsigned int flags SG_DEFAULT(0));
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
				       unsigned int count SG_DEFAULT(1));
cudaError_t cudaGraphAddNode(cudaGraphNode_t *graph_node, cudaGraph_t graph,
			     const cudaGraphNode_t *dependencies,
			     const cudaGraphEdgeData *dependency_data, size_t count,
			     struct cudaGraphNodeParams *node_params);
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *node_params);
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
				       struct cudaGraphNodeParams *node_params);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle_out,
					     cudaGraph_t graph,
					     unsigned int default_launch_value SG_DEFAULT(0),
					     unsigned int flags SG_DEFAULT(0));

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind kind);

/* What compiled programs call: registration of their device code, and launches. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
			    const char *device_name, int thread_limit, uint3 *thread, uint3 *block,
			    dim3 *block_size, dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
		       const char *device_name, int is_extern, size_t size, int constant,
		       int global);
void __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
			      const char *device_name, int is_extern, size_t size, int constant,
			      int global);
void __cudaRegisterHostVar(void **handle, const char *device_name, char *host_variable,
			   size_t size);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
/* *handle holds the stub's address before; afterwards the kernel's handle. */
cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *stub);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
			       size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
				    size_t shared, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#undef SG_DEFAULT
