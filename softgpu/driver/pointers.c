/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an address is, and hints about managed memory. */
#include <stdbool.h>
#include <string.h>

#include "device/memory.h"
#include "driver/api.h"

/* An attribute's value, written as the type that CUDA documents. */
static CUresult tell(CUpointer_attribute attribute, const struct sg_allocation *allocation,
		     CUdeviceptr address, void *data)
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
		if (!host && allocation->kind != SG_MEMORY_MANAGED)
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
		*(bool *)data = allocation->kind == SG_MEMORY_MANAGED;
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
	return tell(attribute, &allocation, address, data);
}

/* What several attributes are for memory that nobody knows: 0, but the call succeeds. */
static void tell_unknown(CUpointer_attribute attribute, void *data)
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
		if (!known || tell(attributes[i], &allocation, address, data[i]))
			tell_unknown(attributes[i], data[i]);
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

/* ---- hints: memory is where it is ------------------------------------------------------ */

static CUresult check_managed(CUdeviceptr address, size_t size)
{
	struct sg_allocation allocation;

	if (!size || !sg_memory_find_range(address, size, &allocation) ||
	    allocation.kind != SG_MEMORY_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_location(CUmemLocation location)
{
	if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !sg_device_find(location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	return CUDA_SUCCESS;
}

static CUmemLocation location_of(CUdevice device)
{
	CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};

	if (device == CU_DEVICE_CPU)
		location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
	return location;
}

static CUresult prefetch(CUdeviceptr address, size_t size, CUmemLocation location, CUstream handle,
			 CUstream zero)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result)
		result = check_managed(address, size);
	return result ? result : check_location(location);
}

SG_TWINS(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz,
	 (CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags,
	  CUstream stream),
	 prefetch(address, size, location, stream, zero))
SG_TWINS(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz,
	 (CUdeviceptr address, size_t size, CUdevice device, CUstream stream),
	 prefetch(address, size, location_of(device), stream, zero))

static CUresult check_batch(const CUdeviceptr *addresses, const size_t *sizes, size_t count,
			    CUstream handle, CUstream zero)
{
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result && (!addresses || !sizes || !count))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = check_managed(addresses[i], sizes[i]);
	return result;
}

SG_TWINS(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz,
	 (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
	  size_t *location_indices, size_t location_count, unsigned long long flags,
	  CUstream stream),
	 check_batch(addresses, sizes, count, stream, zero))
SG_TWINS(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz,
	 (CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags,
	  CUstream stream),
	 check_batch(addresses, sizes, count, stream, zero))
SG_TWINS(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz,
	 (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *locations,
	  size_t *location_indices, size_t location_count, unsigned long long flags,
	  CUstream stream),
	 check_batch(addresses, sizes, count, stream, zero))

static CUresult advise(CUdeviceptr address, size_t size, CUmem_advise advice,
		       CUmemLocation location)
{
	CUresult result = sg_check();

	if (!result)
		result = check_managed(address, size);
	if (!result &&
	    (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : check_location(location);
}

SG_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
			       CUmemLocation location)
{
	return advise(address, size, advice, location);
}

SG_API CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device);
SG_API CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device)
{
	return advise(address, size, advice, location_of(device));
}

static CUresult tell_range(void *data, size_t size, CUmem_range_attribute attribute)
{
	if (!data || size < sizeof(int) || size % sizeof(int))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*(int *)data = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		for (size_t i = 0; i < size / sizeof(int); i++)
			((int *)data)[i] = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemRangeGetAttribute(void *data, size_t data_size,
				       CUmem_range_attribute attribute, CUdeviceptr address,
				       size_t size)
{
	CUresult result = sg_check();

	if (!result)
		result = check_managed(address, size);
	return result ? result : tell_range(data, data_size, attribute);
}

SG_API CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes,
					CUmem_range_attribute *attributes, size_t count,
					CUdeviceptr address, size_t size)
{
	CUresult result = sg_check();

	if (!result)
		result = check_managed(address, size);
	if (!result && (!data || !data_sizes || !attributes || !count))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = tell_range(data[i], data_sizes[i], attributes[i]);
	return result;
}
