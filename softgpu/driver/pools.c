/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stream-ordered memory and its pools. */
#include <string.h>

#include "base/clock.h"
#include "device/clock.h"
#include "device/graph.h"
#include "device/memory.h"
#include "device/pool.h"
#include "driver/api.h"

/* ---- allocation ------------------------------------------------------------------------ */

/* In a captured stream the allocation is a node of the graph. */
static CUresult allocate_captured(CUstream stream, size_t size, CUdeviceptr *ret_address)
{
	struct sg_work work = {.kind = SG_WORK_ALLOCATE};
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {CU_MEM_LOCATION_TYPE_DEVICE, stream->context->device}},
		.bytesize = size,
	};
	CUresult result = sg_graph_memory_new(&parameters, &work.allocation);
	CUdeviceptr address;

	if (result)
		return result;
	address = work.allocation.parameters.dptr;
	result = sg_stream_submit(stream, &work, false);
	if (!result)
		*ret_address = address;
	return result;
}

static void log_allocation(CUstream stream, const struct sg_allocation *wanted, uint64_t start,
			   CUresult result)
{
	struct sg_record record = {
		.operation = "alloc",
		.kind = "pool",
		.submitted_ns = start,
		.start_ns = start,
		.end_ns = gt_clock_monotonic(),
		.device = wanted->device,
		.stream = sg_stream_handle(stream),
		.stream_id = stream->id,
		.address = wanted->address,
		.bytes = wanted->size,
		.result = result,
	};

	sg_log_write(&record);
}

static CUresult allocate_from_pool(CUdeviceptr *ret_address, size_t size, CUmemoryPool pool,
				   CUstream handle, CUstream zero)
{
	struct sg_allocation wanted = {.kind = SG_MEMORY_POOL, .size = size};
	uint64_t start = gt_clock_monotonic();
	uint64_t address;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result && (!ret_address || !size))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && !pool)
		result = sg_pool_current(stream->context->device, &pool);
	if (!result && !sg_handle_is(pool, SG_HANDLE_POOL))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (sg_stream_is_captured(stream))
		return allocate_captured(stream, size, ret_address);
	/* An imported pool contains only imported pointers. */
	if (pool->imported_fd >= 0)
		return CUDA_ERROR_NOT_PERMITTED;
	wanted.pool = pool;
	wanted.device = pool->device;
	wanted.context = stream->context;
	result = sg_memory_allocate(&wanted, 0, &address);
	if (!result)
		*ret_address = wanted.address = address;
	log_allocation(stream, &wanted, start, result);
	return result;
}

SG_STREAM_VARIANTS(cuMemAllocAsync, cuMemAllocAsync_ptsz,
		   (CUdeviceptr * address, size_t size, CUstream stream),
		   allocate_from_pool(address, size, NULL, stream, zero))
SG_STREAM_VARIANTS(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz,
		   (CUdeviceptr * address, size_t size, CUmemoryPool pool, CUstream stream),
		   pool ? allocate_from_pool(address, size, pool, stream, zero)
			: CUDA_ERROR_INVALID_VALUE)

static CUresult free_in_stream(CUdeviceptr address, CUstream handle, CUstream zero)
{
	struct sg_work work = {.kind = SG_WORK_FREE, .address = address};
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result || !address)
		return result;
	if (!sg_stream_is_captured(stream))
		result =
			sg_memory_begin_free(address, 1u << SG_MEMORY_POOL | 1u << SG_MEMORY_GRAPH);
	return result ? result : sg_stream_submit(stream, &work, false);
}

SG_STREAM_VARIANTS(cuMemFreeAsync, cuMemFreeAsync_ptsz, (CUdeviceptr address, CUstream stream),
		   free_in_stream(address, stream, zero))

/* ---- pools ----------------------------------------------------------------------------- */

SG_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if ((properties->handleTypes &&
	     properties->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ||
	    properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sg_device_find(properties->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	result = sg_pool_new(properties->location.id, properties->location.type, pool);
	if (!result)
		(*pool)->is_shareable = properties->handleTypes != 0;
	return result;
}

SG_API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult result = sg_check_pool(pool, pool);

	if (!result && pool->is_default)
		result = CUDA_ERROR_NOT_PERMITTED;
	if (!result)
		sg_pool_destroy(pool);
	return result;
}

SG_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult result = sg_check_device(device, pool);

	return result ? result : sg_pool_default(device, pool);
}

SG_API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult result = sg_check_device(device, pool);

	return result ? result : sg_pool_current(device, pool);
}

static CUresult set_current(CUdevice device, CUmemoryPool pool)
{
	CUresult result = sg_check_device(device, pool);

	if (!result)
		result = sg_check_pool(pool, pool);
	if (!result && pool->device != device)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	pthread_mutex_lock(&sg_state.lock);
	sg_device_find(device)->current_pool = pool;
	pthread_mutex_unlock(&sg_state.lock);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	return set_current(device, pool);
}

/* The same queries by location; only devices have pools. */
static CUresult check_location(const CUmemLocation *location, CUmemAllocationType type)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS
							     : CUDA_ERROR_NOT_SUPPORTED;
}

SG_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
				       CUmemAllocationType type)
{
	CUresult result = check_location(location, type);

	if (!result)
		result = sg_check_device(location->id, pool);
	return result ? result : sg_pool_default(location->id, pool);
}

SG_API CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location,
				CUmemAllocationType type)
{
	CUresult result = check_location(location, type);

	if (!result)
		result = sg_check_device(location->id, pool);
	return result ? result : sg_pool_current(location->id, pool);
}

SG_API CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
				CUmemoryPool pool)
{
	CUresult result = check_location(location, type);

	return result ? result : set_current(location->id, pool);
}

SG_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
	CUresult result = sg_check_pool(pool, pool);

	if (!result)
		sg_pool_trim(pool, bytes);
	return result;
}

/* Return where a pool stores a setting, and its size; NULL: the attribute is none. */
static void *find_setting(CUmemoryPool pool, CUmemPool_attribute attribute, size_t *ret_size)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*ret_size = sizeof(pool->reuse[attribute]);
		return &pool->reuse[attribute];
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*ret_size = sizeof(pool->release_threshold);
		return &pool->release_threshold;
	default:
		return NULL;
	}
}

SG_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = sg_check_pool(pool, value);
	const void *setting;
	size_t size;

	if (result)
		return result;
	setting = find_setting(pool, attribute, &size);
	if (setting) {
		memcpy(value, setting, size);
		return CUDA_SUCCESS;
	}
	switch (attribute) {
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = sg_pool_account(pool).reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = sg_pool_account(pool).used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = sg_pool_account(pool).reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = sg_pool_account(pool).used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = sg_check_pool(pool, value);
	void *setting;
	size_t size;

	if (result)
		return result;
	if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
		sg_pool_set_release_threshold(pool, *(cuuint64_t *)value);
		return CUDA_SUCCESS;
	}
	setting = find_setting(pool, attribute, &size);
	if (setting) {
		memcpy(setting, value, size);
		return CUDA_SUCCESS;
	}
	/* The high-water marks can only be reset. */
	if ((attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH &&
	     attribute != CU_MEMPOOL_ATTR_USED_MEM_HIGH) ||
	    *(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	sg_pool_reset_high(pool, attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	CUresult result = sg_check_pool(pool, access);

	for (size_t i = 0; i < count && !result; i++) {
		if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			result = CUDA_ERROR_INVALID_VALUE;
		else if (!sg_device_find(access[i].location.id))
			result = CUDA_ERROR_INVALID_DEVICE;
		/* The device that has the memory always reaches it. */
		else if (access[i].location.id == pool->device &&
			 access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

SG_API CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				   CUmemLocation *location)
{
	CUresult result = sg_check_pool(pool, flags);

	if (!result && (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return result;
}

/* ---- memory of graphs ------------------------------------------------------------------ */

SG_API CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	return sg_check_device(device, &device);
}

SG_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
					     void *value)
{
	struct sg_graph_account account;
	CUresult result = sg_check_device(device, value);

	if (result)
		return result;
	sg_memory_graph_account(device, &account);
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = account.used;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = account.used_high;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = account.reserved;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = account.reserved_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
					     void *value)
{
	CUresult result = sg_check_device(device, value);

	if (!result && *(cuuint64_t *)value)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		sg_memory_reset_used_high(device);
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		sg_memory_reset_reserved_high(device);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
