/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * C++ forms of the functions of cuda_runtime_api.h: typed pointers, the variable or the kernel
 * itself where C takes its address, default arguments.
 */
#pragma once

#ifdef __cplusplus

#include <utility>

/* clang translates k<<<grid, block>>> into a call of this with the values in the brackets. */
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
						    void *stream = nullptr);

/* Memory */
template <typename T> static inline cudaError_t cudaMalloc(T **pointer, size_t size)
{
	return ::cudaMalloc((void **)(void *)pointer, size);
}

template <typename T>
static inline cudaError_t cudaMallocHost(T **pointer, size_t size, unsigned int flags = 0)
{
	return ::cudaHostAlloc((void **)(void *)pointer, size, flags);
}

template <typename T>
static inline cudaError_t cudaHostAlloc(T **pointer, size_t size, unsigned int flags)
{
	return ::cudaHostAlloc((void **)(void *)pointer, size, flags);
}

template <typename T>
static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
	return ::cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}

template <typename T>
static inline cudaError_t cudaMallocManaged(T **pointer, size_t size,
					    unsigned int flags = cudaMemAttachGlobal)
{
	return ::cudaMallocManaged((void **)(void *)pointer, size, flags);
}

template <typename T>
static inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
	return ::cudaMallocPitch((void **)(void *)pointer, pitch, width, height);
}

template <typename T>
static inline cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaStream_t stream)
{
	return ::cudaMallocAsync((void **)(void *)pointer, size, stream);
}

template <typename T>
static inline cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaMemPool_t pool,
					  cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync((void **)(void *)pointer, size, pool, stream);
}

template <typename T>
static inline cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t size, cudaMemPool_t pool,
						  cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync((void **)(void *)pointer, size, pool, stream);
}

template <typename T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *pointer,
						   size_t length = 0,
						   unsigned int flags = cudaMemAttachSingle)
{
	return ::cudaStreamAttachMemAsync(stream, (void *)pointer, length, flags);
}

/* Variables of the device */
template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *source, size_t count,
					     size_t offset = 0,
					     enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return ::cudaMemcpyToSymbol((const void *)&symbol, source, count, offset, kind);
}

template <typename T>
static inline cudaError_t
cudaMemcpyToSymbolAsync(const T &symbol, const void *source, size_t count, size_t offset = 0,
			enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
	return ::cudaMemcpyToSymbolAsync((const void *)&symbol, source, count, offset, kind,
					 stream);
}

template <typename T>
static inline cudaError_t cudaMemcpyFromSymbol(void *target, const T &symbol, size_t count,
					       size_t offset = 0,
					       enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return ::cudaMemcpyFromSymbol(target, (const void *)&symbol, count, offset, kind);
}

template <typename T>
static inline cudaError_t
cudaMemcpyFromSymbolAsync(void *target, const T &symbol, size_t count, size_t offset = 0,
			  enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
			  cudaStream_t stream = 0)
{
	return ::cudaMemcpyFromSymbolAsync(target, (const void *)&symbol, count, offset, kind,
					   stream);
}

template <typename T>
static inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
	return ::cudaGetSymbolAddress(pointer, (const void *)&symbol);
}

template <typename T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
	return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

/* Events */
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
	return ::cudaEventCreateWithFlags(event, flags);
}

/* Kernels */
/* The format of an array of these. */
template <typename T> static inline struct cudaChannelFormatDesc cudaCreateChannelDesc(void)
{
	return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define SOFTGPU_CHANNEL(type, x, y, z, w, kind)                                                    \
	template <> inline struct cudaChannelFormatDesc cudaCreateChannelDesc<type>(void) {        \
		return cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind);             \
	}
#define SOFTGPU_CHANNELS(type, bits, kind)                                                         \
	SOFTGPU_CHANNEL(type##1, bits, 0, 0, 0, kind)                                              \
	SOFTGPU_CHANNEL(type##2, bits, bits, 0, 0, kind)                                           \
	SOFTGPU_CHANNEL(type##4, bits, bits, bits, bits, kind)
SOFTGPU_CHANNEL(char, 8, 0, 0, 0, Signed)
SOFTGPU_CHANNEL(signed char, 8, 0, 0, 0, Signed)
SOFTGPU_CHANNEL(unsigned char, 8, 0, 0, 0, Unsigned)
SOFTGPU_CHANNEL(short, 16, 0, 0, 0, Signed)
SOFTGPU_CHANNEL(unsigned short, 16, 0, 0, 0, Unsigned)
SOFTGPU_CHANNEL(int, 32, 0, 0, 0, Signed)
SOFTGPU_CHANNEL(unsigned int, 32, 0, 0, 0, Unsigned)
SOFTGPU_CHANNEL(float, 32, 0, 0, 0, Float)
SOFTGPU_CHANNELS(char, 8, Signed)
SOFTGPU_CHANNELS(uchar, 8, Unsigned)
SOFTGPU_CHANNELS(short, 16, Signed)
SOFTGPU_CHANNELS(ushort, 16, Unsigned)
SOFTGPU_CHANNELS(int, 32, Signed)
SOFTGPU_CHANNELS(uint, 32, Unsigned)
SOFTGPU_CHANNELS(float, 32, Float)
#undef SOFTGPU_CHANNELS
#undef SOFTGPU_CHANNEL

/* The form before CUDA 12; only the result reports errors. */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
					       cudaGraphNode_t *error_node, char *log,
					       size_t log_size)
{
	return cudaGraphInstantiate(executable, graph, 0);
}

template <typename T>
static inline cudaError_t cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **arguments,
					   size_t shared = 0, cudaStream_t stream = 0)
{
	return ::cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}

template <typename T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *kernel, dim3 grid, dim3 block,
						      void **arguments, size_t shared = 0,
						      cudaStream_t stream = 0)
{
	return ::cudaLaunchCooperativeKernel((const void *)kernel, grid, block, arguments, shared,
					     stream);
}

template <typename... Parameters, typename... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
					     void (*kernel)(Parameters...),
					     Arguments &&...arguments)
{
	/* The arguments become the kernel's parameter types before their addresses are taken. */
	return [&](Parameters... converted) {
		void *pointers[sizeof...(Parameters) + 1] = {(void *)&converted...};

		return ::cudaLaunchKernelExC(config, (const void *)kernel, pointers);
	}(std::forward<Arguments>(arguments)...);
}

template <typename T>
static inline cudaError_t cudaFuncSetCacheConfig(T *kernel, enum cudaFuncCache config)
{
	return ::cudaFuncSetCacheConfig((const void *)kernel, config);
}

template <typename T>
static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel)
{
	return ::cudaFuncGetAttributes(attributes, (const void *)kernel);
}

template <typename T>
static inline cudaError_t cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute,
					       int value)
{
	return ::cudaFuncSetAttribute((const void *)kernel, attribute, value);
}

template <typename T> static inline cudaError_t cudaFuncGetName(const char **name, T *kernel)
{
	return ::cudaFuncGetName(name, (const void *)kernel);
}

template <typename T> static inline cudaError_t cudaGetKernel(cudaKernel_t *handle, T *kernel)
{
	return ::cudaGetKernel(handle, (const void *)kernel);
}

template <typename T>
static inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t *handle, T *kernel)
{
	return ::cudaGetFuncBySymbol(handle, (const void *)kernel);
}

/* Occupancy */
template <typename T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel, int block_size, size_t shared)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel,
							       block_size, shared);
}

template <typename T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T kernel, int block_size,
						       size_t shared, unsigned int flags)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		blocks, (const void *)kernel, block_size, shared, flags);
}

template <typename T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, T *kernel,
								    int blocks, int block_size)
{
	return ::cudaOccupancyAvailableDynamicSMemPerBlock(shared, (const void *)kernel, blocks,
							   block_size);
}

template <typename T>
static inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, T *kernel,
							       const cudaLaunchConfig_t *config)
{
	return ::cudaOccupancyMaxPotentialClusterSize(size, (const void *)kernel, config);
}

template <typename T>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, T *kernel,
							 const cudaLaunchConfig_t *config)
{
	return ::cudaOccupancyMaxActiveClusters(clusters, (const void *)kernel, config);
}

/*
 * The block size that keeps the most threads on a multiprocessor, the largest where several do,
 * and the number of blocks that fill the device with it. shared_of(block size) returns the
 * dynamic shared memory that a block of that size needs.
 */
template <typename Shared, typename T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
	int *grid_size, int *block_size, T kernel, Shared shared_of, int limit, unsigned int flags)
{
	struct cudaFuncAttributes attributes;
	int device, multiprocessors, warp, best_threads = 0, best_size = 0, best_blocks = 0;
	cudaError_t error;

	if (!grid_size || !block_size || !kernel)
		return cudaErrorInvalidValue;
	if ((error = ::cudaGetDevice(&device)) ||
	    (error = ::cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
					      device)) ||
	    (error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device)) ||
	    (error = ::cudaFuncGetAttributes(&attributes, (const void *)kernel)))
		return error;
	if (limit <= 0 || limit > attributes.maxThreadsPerBlock)
		limit = attributes.maxThreadsPerBlock;
	for (int size = (limit + warp - 1) / warp * warp; size > 0; size -= warp) {
		int tried = size < limit ? size : limit, blocks;

		error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&blocks, (const void *)kernel, tried, shared_of(tried), flags);
		if (error)
			return error;
		if (blocks * tried > best_threads) {
			best_threads = blocks * tried;
			best_size = tried;
			best_blocks = blocks;
		}
	}
	*grid_size = best_blocks * multiprocessors;
	*block_size = best_size;
	return cudaSuccess;
}

template <typename Shared, typename T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid_size, int *block_size, T kernel,
					       Shared shared_of, int limit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
		grid_size, block_size, kernel, shared_of, limit, cudaOccupancyDefault);
}

template <typename T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size, T kernel,
					    size_t shared = 0, int limit = 0,
					    unsigned int flags = cudaOccupancyDefault)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
		grid_size, block_size, kernel, [shared](int) { return shared; }, limit, flags);
}

template <typename T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size,
							     T kernel, size_t shared = 0,
							     int limit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, kernel, shared,
							   limit);
}

#endif
