/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Devices, versions, limits. */
#include <limits.h>
#include <string.h>

#include "runtime/runtime.h"

enum { RUNTIME_VERSION = 13000 };

/* For calls that work without a context. */
static cudaError_t check_device(int device, const void *result_place)
{
	cudaError_t error = sg_start();
	CUdevice unused;

	if (!error && !result_place)
		error = cudaErrorInvalidValue;
	return error ? error : sg_error(sg_driver.cuDeviceGet(&unused, device));
}

SG_API cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error = sg_start();

	if (!error && !count)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuDeviceGetCount(count));
	else if (count)
		*count = 0;
	return sg_finish(error);
}

SG_API cudaError_t cudaSetDevice(int device)
{
	cudaError_t error = check_device(device, &device);
	CUcontext context;

	if (!error)
		error = sg_error(sg_driver.cuDevicePrimaryCtxRetain(&context, device));
	if (!error)
		error = sg_error(sg_driver.cuCtxSetCurrent(context));
	if (!error) {
		sg_self()->device = device;
		error = sg_enter();
	}
	return sg_finish(error);
}

SG_API cudaError_t cudaGetDevice(int *device)
{
	cudaError_t error = sg_start();

	if (!error && !device)
		error = cudaErrorInvalidValue;
	if (!error)
		*device = sg_self()->device;
	return sg_finish(error);
}

SG_API cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	cudaError_t error = check_device(device, &device);
	CUcontext context;

	if (!error && flags & ~cudaInitDeviceFlagsAreValid)
		error = cudaErrorInvalidValue;
	if (!error && flags)
		error = sg_error(sg_driver.cuDevicePrimaryCtxSetFlags(device, device_flags));
	if (!error)
		error = sg_error(sg_driver.cuDevicePrimaryCtxRetain(&context, device));
	return sg_finish(error);
}

SG_API cudaError_t cudaSetValidDevices(int *devices, int count)
{
	cudaError_t error = sg_start();
	int there = 0;

	if (!error)
		error = sg_error(sg_driver.cuDeviceGetCount(&there));
	if (!error && count > there)
		error = cudaErrorInvalidValue;
	for (int i = 0; i < count && !error; i++)
		error = devices ? check_device(devices[i], devices) : cudaErrorInvalidValue;
	return sg_finish(error);
}

SG_API cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	cudaError_t error = sg_start();

	if (!error && flags & ~cudaDeviceMask)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuDevicePrimaryCtxSetFlags(sg_self()->device, flags));
	return sg_finish(error);
}

SG_API cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	cudaError_t error = sg_start();
	int active;

	if (!error && !flags)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(
			sg_driver.cuDevicePrimaryCtxGetState(sg_self()->device, flags, &active));
	/* Host memory can always be mapped. */
	if (!error)
		*flags |= cudaDeviceMapHost;
	return sg_finish(error);
}

SG_API cudaError_t cudaDeviceReset(void)
{
	cudaError_t error = sg_start();

	if (!error)
		error = sg_error(sg_driver.cuDevicePrimaryCtxReset(sg_self()->device));
	if (!error) {
		sg_driver.cuCtxSetCurrent(NULL);
		sg_contexts_changed();
		sg_self()->last_error = cudaSuccess;
	}
	return sg_finish(error);
}

SG_PASS(cudaDeviceSynchronize, (void), cuCtxSynchronize, ())

SG_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	cudaError_t error = check_device(device, value);

	if (!error)
		error = sg_error(sg_driver.cuDeviceGetAttribute(
			value, (CUdevice_attribute)attribute, device));
	return sg_finish(error);
}

SG_API cudaError_t cudaDriverGetVersion(int *version)
{
	cudaError_t error = sg_start();

	if (!version)
		return sg_finish(cudaErrorInvalidValue);
	/* Without a driver the version is 0, without an error. */
	*version = 0;
	if (error == cudaErrorInsufficientDriver)
		return cudaSuccess;
	return sg_finish(sg_error(sg_driver.cuDriverGetVersion(version)));
}

SG_API cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return sg_finish(cudaErrorInvalidValue);
	*version = RUNTIME_VERSION;
	return cudaSuccess;
}

/* ---- properties ------------------------------------------------------------------------ */

static int get_attribute(int device, CUdevice_attribute number)
{
	int value = 0;

	sg_driver.cuDeviceGetAttribute(&value, number, device);
	return value;
}

#define ATTRIBUTE(name) get_attribute(device, CU_DEVICE_ATTRIBUTE_##name)

static void describe_limits(struct cudaDeviceProp *properties, int device)
{
	properties->sharedMemPerBlock = (size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK);
	properties->regsPerBlock = ATTRIBUTE(MAX_REGISTERS_PER_BLOCK);
	properties->warpSize = ATTRIBUTE(WARP_SIZE);
	properties->memPitch = (size_t)ATTRIBUTE(MAX_PITCH);
	properties->maxThreadsPerBlock = ATTRIBUTE(MAX_THREADS_PER_BLOCK);
	properties->maxThreadsDim[0] = ATTRIBUTE(MAX_BLOCK_DIM_X);
	properties->maxThreadsDim[1] = ATTRIBUTE(MAX_BLOCK_DIM_Y);
	properties->maxThreadsDim[2] = ATTRIBUTE(MAX_BLOCK_DIM_Z);
	properties->maxGridSize[0] = ATTRIBUTE(MAX_GRID_DIM_X);
	properties->maxGridSize[1] = ATTRIBUTE(MAX_GRID_DIM_Y);
	properties->maxGridSize[2] = ATTRIBUTE(MAX_GRID_DIM_Z);
	properties->totalConstMem = (size_t)ATTRIBUTE(TOTAL_CONSTANT_MEMORY);
	properties->multiProcessorCount = ATTRIBUTE(MULTIPROCESSOR_COUNT);
	properties->maxThreadsPerMultiProcessor = ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR);
	properties->sharedMemPerMultiprocessor =
		(size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	properties->regsPerMultiprocessor = ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR);
	properties->sharedMemPerBlockOptin = (size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	properties->maxBlocksPerMultiProcessor = ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR);
	properties->accessPolicyMaxWindowSize = ATTRIBUTE(MAX_ACCESS_POLICY_WINDOW_SIZE);
	properties->reservedSharedMemPerBlock = (size_t)ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK);
}

static void describe_textures(struct cudaDeviceProp *properties, int device)
{
	properties->textureAlignment = (size_t)ATTRIBUTE(TEXTURE_ALIGNMENT);
	properties->texturePitchAlignment = (size_t)ATTRIBUTE(TEXTURE_PITCH_ALIGNMENT);
	properties->maxTexture1D = ATTRIBUTE(MAXIMUM_TEXTURE1D_WIDTH);
	properties->maxTexture1DMipmap = ATTRIBUTE(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
	properties->maxTexture2D[0] = ATTRIBUTE(MAXIMUM_TEXTURE2D_WIDTH);
	properties->maxTexture2D[1] = ATTRIBUTE(MAXIMUM_TEXTURE2D_HEIGHT);
	properties->maxTexture2DMipmap[0] = ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH);
	properties->maxTexture2DMipmap[1] = ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT);
	properties->maxTexture2DLinear[0] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_WIDTH);
	properties->maxTexture2DLinear[1] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT);
	properties->maxTexture2DLinear[2] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_PITCH);
	properties->maxTexture2DGather[0] = ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_WIDTH);
	properties->maxTexture2DGather[1] = ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_HEIGHT);
	properties->maxTexture3D[0] = ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH);
	properties->maxTexture3D[1] = ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT);
	properties->maxTexture3D[2] = ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH);
	properties->maxTexture3DAlt[0] = ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE);
	properties->maxTexture3DAlt[1] = ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE);
	properties->maxTexture3DAlt[2] = ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
	properties->maxTextureCubemap = ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_WIDTH);
	properties->maxTexture1DLayered[0] = ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_WIDTH);
	properties->maxTexture1DLayered[1] = ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
	properties->maxTexture2DLayered[0] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_WIDTH);
	properties->maxTexture2DLayered[1] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT);
	properties->maxTexture2DLayered[2] = ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
	properties->maxTextureCubemapLayered[0] = ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH);
	properties->maxTextureCubemapLayered[1] = ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
}

static void describe_surfaces(struct cudaDeviceProp *properties, int device)
{
	properties->maxSurface1D = ATTRIBUTE(MAXIMUM_SURFACE1D_WIDTH);
	properties->maxSurface2D[0] = ATTRIBUTE(MAXIMUM_SURFACE2D_WIDTH);
	properties->maxSurface2D[1] = ATTRIBUTE(MAXIMUM_SURFACE2D_HEIGHT);
	properties->maxSurface3D[0] = ATTRIBUTE(MAXIMUM_SURFACE3D_WIDTH);
	properties->maxSurface3D[1] = ATTRIBUTE(MAXIMUM_SURFACE3D_HEIGHT);
	properties->maxSurface3D[2] = ATTRIBUTE(MAXIMUM_SURFACE3D_DEPTH);
	properties->maxSurface1DLayered[0] = ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_WIDTH);
	properties->maxSurface1DLayered[1] = ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_LAYERS);
	properties->maxSurface2DLayered[0] = ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_WIDTH);
	properties->maxSurface2DLayered[1] = ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_HEIGHT);
	properties->maxSurface2DLayered[2] = ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_LAYERS);
	properties->maxSurfaceCubemap = ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_WIDTH);
	properties->maxSurfaceCubemapLayered[0] = ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH);
	properties->maxSurfaceCubemapLayered[1] = ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS);
	properties->surfaceAlignment = (size_t)ATTRIBUTE(SURFACE_ALIGNMENT);
}

static void describe_abilities(struct cudaDeviceProp *properties, int device)
{
	properties->integrated = ATTRIBUTE(INTEGRATED);
	properties->canMapHostMemory = ATTRIBUTE(CAN_MAP_HOST_MEMORY);
	properties->concurrentKernels = ATTRIBUTE(CONCURRENT_KERNELS);
	properties->ECCEnabled = ATTRIBUTE(ECC_ENABLED);
	properties->tccDriver = ATTRIBUTE(TCC_DRIVER);
	properties->asyncEngineCount = ATTRIBUTE(ASYNC_ENGINE_COUNT);
	properties->unifiedAddressing = ATTRIBUTE(UNIFIED_ADDRESSING);
	properties->streamPrioritiesSupported = ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED);
	properties->globalL1CacheSupported = ATTRIBUTE(GLOBAL_L1_CACHE_SUPPORTED);
	properties->localL1CacheSupported = ATTRIBUTE(LOCAL_L1_CACHE_SUPPORTED);
	properties->managedMemory = ATTRIBUTE(MANAGED_MEMORY);
	properties->isMultiGpuBoard = ATTRIBUTE(MULTI_GPU_BOARD);
	properties->multiGpuBoardGroupID = ATTRIBUTE(MULTI_GPU_BOARD_GROUP_ID);
	properties->hostNativeAtomicSupported = ATTRIBUTE(HOST_NATIVE_ATOMIC_SUPPORTED);
	properties->pageableMemoryAccess = ATTRIBUTE(PAGEABLE_MEMORY_ACCESS);
	properties->concurrentManagedAccess = ATTRIBUTE(CONCURRENT_MANAGED_ACCESS);
	properties->computePreemptionSupported = ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED);
	properties->canUseHostPointerForRegisteredMem =
		ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
	properties->cooperativeLaunch = ATTRIBUTE(COOPERATIVE_LAUNCH);
	properties->pageableMemoryAccessUsesHostPageTables =
		ATTRIBUTE(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
	properties->directManagedMemAccessFromHost = ATTRIBUTE(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
	properties->hostRegisterSupported = ATTRIBUTE(HOST_REGISTER_SUPPORTED);
	properties->sparseCudaArraySupported = ATTRIBUTE(SPARSE_CUDA_ARRAY_SUPPORTED);
	properties->hostRegisterReadOnlySupported = ATTRIBUTE(READ_ONLY_HOST_REGISTER_SUPPORTED);
	properties->timelineSemaphoreInteropSupported =
		ATTRIBUTE(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
	properties->memoryPoolsSupported = ATTRIBUTE(MEMORY_POOLS_SUPPORTED);
	properties->gpuDirectRDMASupported = ATTRIBUTE(GPU_DIRECT_RDMA_SUPPORTED);
	properties->memoryPoolSupportedHandleTypes =
		(unsigned int)ATTRIBUTE(MEMPOOL_SUPPORTED_HANDLE_TYPES);
	properties->deferredMappingCudaArraySupported =
		ATTRIBUTE(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED);
	properties->ipcEventSupported = ATTRIBUTE(IPC_EVENT_SUPPORTED);
	properties->clusterLaunch = ATTRIBUTE(CLUSTER_LAUNCH);
	properties->unifiedFunctionPointers = ATTRIBUTE(UNIFIED_FUNCTION_POINTERS);
}

static void describe_identity(struct cudaDeviceProp *properties, int device)
{
	sg_driver.cuDeviceGetName(properties->name, sizeof(properties->name), device);
	sg_driver.cuDeviceGetUuid(&properties->uuid, device);
	sg_driver.cuDeviceTotalMem(&properties->totalGlobalMem, device);
	properties->major = ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR);
	properties->minor = ATTRIBUTE(COMPUTE_CAPABILITY_MINOR);
	properties->pciBusID = ATTRIBUTE(PCI_BUS_ID);
	properties->pciDeviceID = ATTRIBUTE(PCI_DEVICE_ID);
	properties->pciDomainID = ATTRIBUTE(PCI_DOMAIN_ID);
	properties->memoryBusWidth = ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH);
	properties->l2CacheSize = ATTRIBUTE(L2_CACHE_SIZE);
	properties->persistingL2CacheMaxSize = ATTRIBUTE(MAX_PERSISTING_L2_CACHE_SIZE);
	properties->deviceNumaConfig = ATTRIBUTE(NUMA_CONFIG);
	properties->deviceNumaId = ATTRIBUTE(NUMA_ID);
	properties->mpsEnabled = ATTRIBUTE(MPS_ENABLED);
	properties->hostNumaId = ATTRIBUTE(HOST_NUMA_ID);
	properties->gpuPciDeviceID = (unsigned int)ATTRIBUTE(GPU_PCI_DEVICE_ID);
	properties->gpuPciSubsystemID = (unsigned int)ATTRIBUTE(GPU_PCI_SUBSYSTEM_ID);
	properties->hostNumaMultinodeIpcSupported = ATTRIBUTE(HOST_NUMA_MULTINODE_IPC_SUPPORTED);
}

SG_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	cudaError_t error = check_device(device, properties);

	if (!error) {
		memset(properties, 0, sizeof(*properties));
		describe_identity(properties, device);
		describe_limits(properties, device);
		describe_textures(properties, device);
		describe_surfaces(properties, device);
		describe_abilities(properties, device);
	}
	return sg_finish(error);
}

/* Return how far a device is from the requested properties: 0 is best, INT_MAX does not suffice. */
static int distance_from_request(const struct cudaDeviceProp *wanted,
				 const struct cudaDeviceProp *found)
{
	if (wanted->totalGlobalMem > found->totalGlobalMem ||
	    wanted->major * 10 + wanted->minor > found->major * 10 + found->minor)
		return INT_MAX;
	return found->major * 10 + found->minor - wanted->major * 10 - wanted->minor;
}

SG_API cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	struct cudaDeviceProp found;
	int count = 0, best = INT_MAX;
	cudaError_t error;

	if (!device || !wanted)
		return sg_finish(cudaErrorInvalidValue);
	error = cudaGetDeviceCount(&count);
	if (!error)
		*device = 0;
	for (int i = 0; i < count && !error; i++) {
		error = cudaGetDeviceProperties(&found, i);
		if (!error && distance_from_request(wanted, &found) < best) {
			best = distance_from_request(wanted, &found);
			*device = i;
		}
	}
	return sg_finish(error);
}

SG_API cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
	cudaError_t error = check_device(device, id);

	return sg_finish(error ? error
			       : sg_error(sg_driver.cuDeviceGetPCIBusId(id, length, device)));
}

SG_API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	cudaError_t error = sg_start();

	return sg_finish(error ? error : sg_error(sg_driver.cuDeviceGetByPCIBusId(device, id)));
}

/* ---- limits and settings --------------------------------------------------------------- */

SG_PASS(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), cuCtxSetLimit,
	((CUlimit)limit, value))
SG_PASS(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), cuCtxGetLimit,
	(value, (CUlimit)limit))
SG_PASS(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config), cuCtxGetCacheConfig,
	((CUfunc_cache *)config))
SG_PASS(cudaDeviceSetCacheConfig, (enum cudaFuncCache config), cuCtxSetCacheConfig,
	((CUfunc_cache)config))
SG_PASS(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig * config), cuCtxGetSharedMemConfig,
	((CUsharedconfig *)config))
SG_PASS(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config), cuCtxSetSharedMemConfig,
	((CUsharedconfig)config))
SG_PASS(cudaDeviceGetStreamPriorityRange, (int *lowest, int *highest), cuCtxGetStreamPriorityRange,
	(lowest, highest))
SG_PASS(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache, ())

SG_API cudaError_t cudaProfilerStart(void)
{
	return sg_finish(sg_enter());
}

SG_API cudaError_t cudaProfilerStop(void)
{
	return sg_finish(sg_enter());
}

/* ---- peers ----------------------------------------------------------------------------- */

SG_API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	cudaError_t error = check_device(device, can);

	return sg_finish(error ? error
			       : sg_error(sg_driver.cuDeviceCanAccessPeer(can, device, peer)));
}

SG_API cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute_id,
					     int source, int target)
{
	cudaError_t error = check_device(source, value);

	if (!error)
		error = sg_error(sg_driver.cuDeviceGetP2PAttribute(
			value, (CUdevice_P2PAttribute)attribute_id, source, target));
	return sg_finish(error);
}

static cudaError_t find_peer(int peer, CUcontext *ret_context)
{
	cudaError_t error = check_device(peer, ret_context);

	if (!error && peer == sg_self()->device)
		error = cudaErrorInvalidDevice;
	if (!error)
		error = sg_enter();
	return error ? error : sg_error(sg_driver.cuDevicePrimaryCtxRetain(ret_context, peer));
}

SG_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext context;
	cudaError_t error = find_peer(peer, &context);

	return sg_finish(error ? error : sg_error(sg_driver.cuCtxEnablePeerAccess(context, flags)));
}

SG_API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context;
	cudaError_t error = find_peer(peer, &context);

	return sg_finish(error ? error : sg_error(sg_driver.cuCtxDisablePeerAccess(context)));
}
