/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory: allocation, pools, pointer attributes. */
#include <string.h>

#include "runtime/runtime.h"

static CUdeviceptr address_of(const void *pointer)
{
	return (uintptr_t)pointer;
}

static cudaError_t allocate_memory(void **pointer, size_t size)
{
	cudaError_t error = sg_enter();
	CUdeviceptr address = 0;

	if (!error && !pointer)
		error = cudaErrorInvalidValue;
	/* An allocation of 0 bytes is NULL and not an error. */
	if (!error && size)
		error = sg_error(sg_driver.cuMemAlloc(&address, size));
	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return error;
}

SG_API cudaError_t cudaMalloc(void **pointer, size_t size)
{
	return sg_finish(allocate_memory(pointer, size));
}

SG_API cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags)
{
	cudaError_t error = sg_enter();
	CUdeviceptr address;

	if (!error && !pointer)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuMemAllocManaged(&address, size, flags));
	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return sg_finish(error);
}

static cudaError_t allocate_rows(void **pointer, size_t *pitch, size_t width, size_t height)
{
	cudaError_t error = sg_enter();
	CUdeviceptr address = 0;

	if (!error && (!pointer || !pitch))
		error = cudaErrorInvalidValue;
	if (!error && width && height)
		error = sg_error(sg_driver.cuMemAllocPitch(&address, pitch, width, height, 4));
	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return error;
}

SG_API cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	return sg_finish(allocate_rows(pointer, pitch, width, height));
}

SG_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
	cudaError_t error;

	if (!pitched)
		return sg_finish(cudaErrorInvalidValue);
	error = allocate_rows(&pitched->ptr, &pitched->pitch, extent.width,
			      extent.height * extent.depth);
	if (!error) {
		pitched->xsize = extent.width;
		pitched->ysize = extent.height;
	}
	return sg_finish(error);
}

SG_PASS(cudaFree, (void *pointer), cuMemFree, (address_of(pointer)))

static cudaError_t allocate_host(void **pointer, size_t size, unsigned int flags)
{
	cudaError_t error = sg_enter();

	if (!error && !pointer)
		error = cudaErrorInvalidValue;
	if (!error && !size)
		*pointer = NULL;
	else if (!error)
		error = sg_error(sg_driver.cuMemHostAlloc(pointer, size, flags));
	return sg_finish(error);
}

SG_API cudaError_t cudaMallocHost(void **pointer, size_t size)
{
	return allocate_host(pointer, size, cudaHostAllocMapped);
}

SG_API cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	return allocate_host(pointer, size, flags);
}

SG_API cudaError_t cudaFreeHost(void *pointer)
{
	cudaError_t error = sg_enter();

	if (!error && pointer)
		error = sg_error(sg_driver.cuMemFreeHost(pointer));
	return sg_finish(error);
}

SG_PASS(cudaHostRegister, (void *pointer, size_t size, unsigned int flags), cuMemHostRegister,
	(pointer, size, flags))
SG_PASS(cudaHostUnregister, (void *pointer), cuMemHostUnregister, (pointer))
SG_PASS(cudaHostGetFlags, (unsigned int *flags, void *pointer), cuMemHostGetFlags, (flags, pointer))
SG_PASS(cudaHostGetDevicePointer, (void **device, void *pointer, unsigned int flags),
	cuMemHostGetDevicePointer, ((CUdeviceptr *)device, pointer, flags))
SG_PASS(cudaMemGetInfo, (size_t * free_bytes, size_t *total), cuMemGetInfo, (free_bytes, total))

/* ---- what a pointer is ----------------------------------------------------------------- */

static enum cudaMemoryType memory_type(unsigned int type, bool managed)
{
	if (managed)
		return cudaMemoryTypeManaged;
	if (type == CU_MEMORYTYPE_HOST)
		return cudaMemoryTypeHost;
	return type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
}

SG_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
					    const void *pointer)
{
	unsigned int type = 0;
	bool managed = false;
	int device = cudaInvalidDeviceId;
	CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	void *places[] = {&type, &managed, &device};
	cudaError_t error = sg_enter();

	if (!error && !attributes)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(
			sg_driver.cuPointerGetAttributes(3, wanted, places, address_of(pointer)));
	if (error)
		return sg_finish(error);
	memset(attributes, 0, sizeof(*attributes));
	attributes->type = memory_type(type, managed);
	attributes->device = device;
	if (attributes->type != cudaMemoryTypeUnregistered)
		attributes->devicePointer = (void *)(uintptr_t)address_of(pointer);
	if (attributes->type != cudaMemoryTypeDevice)
		attributes->hostPointer = (void *)(uintptr_t)address_of(pointer);
	return cudaSuccess;
}

/* ---- hints ----------------------------------------------------------------------------- */

static CUmemLocation convert_location(struct cudaMemLocation location)
{
	return (CUmemLocation){(CUmemLocationType)location.type, location.id};
}

SG_PASS(cudaMemAdvise,
	(const void *pointer, size_t size, enum cudaMemoryAdvise advice,
	 struct cudaMemLocation location),
	cuMemAdvise, (address_of(pointer), size, (CUmem_advise)advice, convert_location(location)))
SG_STREAM_VARIANTS(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz,
		   (const void *pointer, size_t size, struct cudaMemLocation location,
		    unsigned int flags, cudaStream_t stream),
		   SG_CALL(cuMemPrefetchAsync, address_of(pointer), size,
			   convert_location(location), flags, ZERO(stream)))
SG_STREAM_VARIANTS(cudaMemPrefetchBatchAsync, cudaMemPrefetchBatchAsync_ptsz,
		   (void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
		    size_t *location_indices, size_t location_count, unsigned long long flags,
		    cudaStream_t stream),
		   SG_CALL(cuMemPrefetchBatchAsync, (CUdeviceptr *)pointers, sizes, count,
			   (CUmemLocation *)locations, location_indices, location_count, flags,
			   ZERO(stream)))
SG_STREAM_VARIANTS(cudaMemDiscardBatchAsync, cudaMemDiscardBatchAsync_ptsz,
		   (void **pointers, size_t *sizes, size_t count, unsigned long long flags,
		    cudaStream_t stream),
		   SG_CALL(cuMemDiscardBatchAsync, (CUdeviceptr *)pointers, sizes, count, flags,
			   ZERO(stream)))
SG_STREAM_VARIANTS(cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardAndPrefetchBatchAsync_ptsz,
		   (void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
		    size_t *location_indices, size_t location_count, unsigned long long flags,
		    cudaStream_t stream),
		   SG_CALL(cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *)pointers, sizes, count,
			   (CUmemLocation *)locations, location_indices, location_count, flags,
			   ZERO(stream)))
SG_PASS(cudaMemRangeGetAttribute,
	(void *data, size_t data_size, enum cudaMemRangeAttribute attribute, const void *pointer,
	 size_t size),
	cuMemRangeGetAttribute,
	(data, data_size, (CUmem_range_attribute)attribute, address_of(pointer), size))
SG_PASS(cudaMemRangeGetAttributes,
	(void **data, size_t *data_sizes, enum cudaMemRangeAttribute *attributes, size_t count,
	 const void *pointer, size_t size),
	cuMemRangeGetAttributes,
	(data, data_sizes, (CUmem_range_attribute *)attributes, count, address_of(pointer), size))

/* ---- stream-ordered memory and pools --------------------------------------------------- */

SG_STREAM_VARIANTS(cudaMallocAsync, cudaMallocAsync_ptsz,
		   (void **pointer, size_t size, cudaStream_t stream),
		   SG_CALL(cuMemAllocAsync, (CUdeviceptr *)pointer, size, ZERO(stream)))
SG_STREAM_VARIANTS(cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz,
		   (void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream),
		   SG_CALL(cuMemAllocFromPoolAsync, (CUdeviceptr *)pointer, size, pool,
			   ZERO(stream)))
SG_STREAM_VARIANTS(cudaFreeAsync, cudaFreeAsync_ptsz, (void *pointer, cudaStream_t stream),
		   SG_CALL(cuMemFreeAsync, address_of(pointer), ZERO(stream)))

SG_PASS(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetDefaultMemPool,
	(pool, device))
SG_PASS(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetMemPool,
	(pool, device))
SG_PASS(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), cuDeviceSetMemPool, (device, pool))
SG_PASS(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
	cuMemPoolCreate, (pool, (const CUmemPoolProps *)properties))
SG_PASS(cudaMemPoolDestroy, (cudaMemPool_t pool), cuMemPoolDestroy, (pool))
SG_PASS(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), cuMemPoolTrimTo, (pool, bytes))
SG_PASS(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
	cuMemPoolGetAttribute, (pool, (CUmemPool_attribute)attribute, value))
SG_PASS(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
	cuMemPoolSetAttribute, (pool, (CUmemPool_attribute)attribute, value))
SG_PASS(cudaMemPoolGetAccess,
	(enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *location),
	cuMemPoolGetAccess, ((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location))
SG_PASS(cudaMemPoolSetAccess,
	(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count),
	cuMemPoolSetAccess, (pool, (const CUmemAccessDesc *)access, count))
SG_PASS(cudaMemGetDefaultMemPool,
	(cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
	cuMemGetDefaultMemPool, (pool, (CUmemLocation *)location, (CUmemAllocationType)type))
SG_PASS(cudaMemGetMemPool,
	(cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
	cuMemGetMemPool, (pool, (CUmemLocation *)location, (CUmemAllocationType)type))
SG_PASS(cudaMemSetMemPool,
	(struct cudaMemLocation * location, enum cudaMemAllocationType type, cudaMemPool_t pool),
	cuMemSetMemPool, ((CUmemLocation *)location, (CUmemAllocationType)type, pool))
