/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pointer attributes, and hints about managed memory. */
#include <stdbool.h>
#include <string.h>

#include "device/memory.h"
#include "driver/api.h"

/* An attribute's value, written as the type that CUDA documents. */
static CUresult write_pointer_attribute(CUpointer_attribute attribute,
					const struct sg_allocation *allocation, CUdeviceptr address,
					void *data)
{
	bool host = sg_memory_is_host(allocation);

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = allocation->context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = address;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host && !sg_memory_is_managed(allocation))
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)address;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = allocation->id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(bool *)data = sg_memory_is_managed(allocation);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = allocation->device;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(bool *)data = allocation->kind == SG_MEMORY_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = allocation->address;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = allocation->size;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(bool *)data = true;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(bool *)data = false;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(CUmemAccess_flags *)data = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = allocation->pool;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = allocation->id;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

SG_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
				      CUdeviceptr address)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!data || !sg_memory_find(address, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return write_pointer_attribute(attribute, &allocation, address, data);
}

/* Several attributes of unknown memory are 0, and the call succeeds. */
static void write_unknown_attribute(CUpointer_attribute attribute, void *data)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(bool *)data = false;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = CU_DEVICE_INVALID;
		break;
	default:
		*(unsigned long long *)data = 0;
		break;
	}
}

SG_API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
				       void **data, CUdeviceptr address)
{
	struct sg_allocation allocation;
	bool known = sg_memory_find(address, &allocation);
	CUresult result = sg_check();

	if (result)
		return result;
	if (!count || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		if (!known || write_pointer_attribute(attributes[i], &allocation, address, data[i]))
			write_unknown_attribute(attributes[i], data[i]);
	}
	return CUDA_SUCCESS;
}

SG_API CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
				      CUdeviceptr address)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
	    !sg_memory_find(address, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- hints: kept, and memory stays where it is ------------------------------------------ */

static CUresult find_managed(CUdeviceptr address, size_t size, struct sg_allocation *ret_allocation)
{
	if (!size || !sg_memory_find_range(address, size, ret_allocation) ||
	    !sg_memory_is_managed(ret_allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_location(CUmemLocation location)
{
	switch (location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return sg_device_find(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUmemLocation location_of(CUdevice device)
{
	CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};

	if (device == CU_DEVICE_CPU)
		location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
	return location;
}

static CUresult prefetch_range(CUdeviceptr address, size_t size, CUmemLocation location)
{
	struct sg_allocation allocation;
	CUresult result = find_managed(address, size, &allocation);

	if (!result)
		result = check_location(location);
	if (result)
		return result;
	allocation.advice.prefetched = location;
	sg_memory_advise(address, &allocation.advice);
	return CUDA_SUCCESS;
}

static CUresult prefetch_in_stream(CUdeviceptr address, size_t size, CUmemLocation location,
				   CUstream handle, CUstream zero)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	return result ? result : prefetch_range(address, size, location);
}

SG_STREAM_VARIANTS(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz,
		   (CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags,
		    CUstream stream),
		   prefetch_in_stream(address, size, location, stream, zero))
SG_STREAM_VARIANTS(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz,
		   (CUdeviceptr address, size_t size, CUdevice device, CUstream stream),
		   prefetch_in_stream(address, size, location_of(device), stream, zero))

/* Ranges and their target locations: location i is for ranges from indices[i] on. */
struct prefetch_ranges {
	const CUdeviceptr *addresses;
	const size_t *sizes;
	size_t count;
	const CUmemLocation *locations;
	const size_t *indices;
	size_t location_count;
};

static CUresult check_indices(const struct prefetch_ranges *ranges)
{
	if (!ranges->locations || !ranges->indices || ranges->indices[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 1; i < ranges->location_count; i++) {
		if (ranges->indices[i] <= ranges->indices[i - 1] ||
		    ranges->indices[i] >= ranges->count)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* No location_count: they are not moved. */
static CUresult move_ranges(const struct prefetch_ranges *ranges, CUstream handle, CUstream zero)
{
	struct sg_allocation unused;
	CUstream stream;
	size_t at = 0;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result && (!ranges->addresses || !ranges->sizes || !ranges->count))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && ranges->location_count)
		result = check_indices(ranges);
	for (size_t i = 0; i < ranges->count && !result; i++) {
		if (!ranges->location_count) {
			result = find_managed(ranges->addresses[i], ranges->sizes[i], &unused);
			continue;
		}
		while (at + 1 < ranges->location_count && ranges->indices[at + 1] <= i)
			at++;
		result = prefetch_range(ranges->addresses[i], ranges->sizes[i],
					ranges->locations[at]);
	}
	return result;
}

/* A prefetch of several ranges requires a location. */
static CUresult prefetch_ranges(const struct prefetch_ranges *ranges, CUstream handle,
				CUstream zero)
{
	if (!ranges->location_count)
		return CUDA_ERROR_INVALID_VALUE;
	return move_ranges(ranges, handle, zero);
}

#define RANGES(...) (&(struct prefetch_ranges){addresses, sizes, count, __VA_ARGS__})

SG_STREAM_VARIANTS(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz,
		   (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
		    size_t *indices, size_t location_count, unsigned long long flags,
		    CUstream stream),
		   prefetch_ranges(RANGES(locations, indices, location_count), stream, zero))
SG_STREAM_VARIANTS(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz,
		   (CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags,
		    CUstream stream),
		   move_ranges(RANGES(NULL, NULL, 0), stream, zero))
SG_STREAM_VARIANTS(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz,
		   (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
		    size_t *indices, size_t location_count, unsigned long long flags,
		    CUstream stream),
		   prefetch_ranges(RANGES(locations, indices, location_count), stream, zero))

static unsigned int bit_of(CUmemLocation location)
{
	return 1u << (location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : SG_ADVICE_HOST);
}

static CUresult set_advice(struct sg_advice *advice, CUmem_advise what, CUmemLocation location)
{
	switch (what) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		advice->read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		advice->preferred = location;
		return check_location(location);
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		advice->preferred = (CUmemLocation){0};
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		if (check_location(location))
			return check_location(location);
		if (what == CU_MEM_ADVISE_SET_ACCESSED_BY)
			advice->accessed_by |= bit_of(location);
		else
			advice->accessed_by &= ~bit_of(location);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult advise_range(CUdeviceptr address, size_t size, CUmem_advise what,
			     CUmemLocation location)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (!result)
		result = find_managed(address, size, &allocation);
	if (!result)
		result = set_advice(&allocation.advice, what, location);
	if (!result)
		sg_memory_advise(address, &allocation.advice);
	return result;
}

SG_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
			       CUmemLocation location)
{
	return advise_range(address, size, advice, location);
}

SG_API CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device);
SG_API CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device)
{
	return advise_range(address, size, advice, location_of(device));
}

/* A location as the number of a device, as before CUDA 13. */
static int number_of(CUmemLocation location)
{
	if (location.type == CU_MEM_LOCATION_TYPE_INVALID)
		return CU_DEVICE_INVALID;
	return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

static int id_of(CUmemLocation location)
{
	return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : location.id;
}

/* Write the devices of SET_ACCESSED_BY: their numbers, then CU_DEVICE_INVALID. */
static void write_accessing_devices(unsigned int accessors, int *numbers, size_t count)
{
	size_t used = 0;

	for (int i = 0; i <= SG_ADVICE_HOST && used < count; i++) {
		if (accessors & 1u << i)
			numbers[used++] = i == SG_ADVICE_HOST ? CU_DEVICE_CPU : i;
	}
	while (used < count)
		numbers[used++] = CU_DEVICE_INVALID;
}

static CUresult write_range_attribute(const struct sg_advice *advice, void *data, size_t size,
				      CUmem_range_attribute attribute)
{
	int *value = data;

	if (!data || size < sizeof(int) || size % sizeof(int))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*value = advice->read_mostly;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*value = number_of(advice->preferred);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*value = (int)advice->preferred.type;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*value = id_of(advice->preferred);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*value = number_of(advice->prefetched);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*value = (int)advice->prefetched.type;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*value = id_of(advice->prefetched);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		write_accessing_devices(advice->accessed_by, value, size / sizeof(int));
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemRangeGetAttribute(void *data, size_t data_size,
				       CUmem_range_attribute attribute, CUdeviceptr address,
				       size_t size)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (!result)
		result = find_managed(address, size, &allocation);
	return result ? result
		      : write_range_attribute(&allocation.advice, data, data_size, attribute);
}

SG_API CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes,
					CUmem_range_attribute *attributes, size_t count,
					CUdeviceptr address, size_t size)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (!result)
		result = find_managed(address, size, &allocation);
	if (!result && (!data || !data_sizes || !attributes || !count))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = write_range_attribute(&allocation.advice, data[i], data_sizes[i],
					       attributes[i]);
	return result;
}
