/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of the device and of the host: allocation and queries. */
#include "device/memory.h"

#include <string.h>

#include "base/clock.h"
#include "device/clock.h"
#include "driver/api.h"

enum { PITCH_ALIGNMENT = 512 };

static const char *const kind_names[] = {
	[SG_MEMORY_DEVICE] = "device",
	[SG_MEMORY_MANAGED] = "managed",
	[SG_MEMORY_POOL] = "pool",
	[SG_MEMORY_GRAPH] = "graph",
	[SG_MEMORY_MODULE] = "module",
	[SG_MEMORY_PHYSICAL] = "physical",
	[SG_MEMORY_MAPPED] = "mapped",
	[SG_MEMORY_IMPORTED] = "imported",
	[SG_MEMORY_VARIABLES] = "managed",
	[SG_MEMORY_HOST] = "host",
	[SG_MEMORY_REGISTERED] = "registered",
};

/* The log record of a finished call. */
static void log_call(const char *operation, const struct sg_allocation *allocation, uint64_t start,
		     CUresult result)
{
	struct sg_record record = {
		.operation = operation,
		.kind = kind_names[allocation->kind],
		.submitted_ns = start,
		.start_ns = start,
		.end_ns = gt_clock_monotonic(),
		.device = allocation->device,
		.address = allocation->address,
		.bytes = allocation->size,
		.result = result,
	};

	sg_log_write(&record);
}

static CUresult use_for_memory(CUcontext *ret_context)
{
	CUresult result = sg_context_use(ret_context);

	return result ? result : sg_stream_capture_allows_unsafe();
}

static CUresult allocate_memory(CUdeviceptr *ret_address, size_t size, enum sg_memory_kind kind,
				unsigned int flags)
{
	struct sg_allocation wanted = {.kind = kind, .size = size, .flags = flags};
	uint64_t start = gt_clock_monotonic();
	uint64_t address;
	CUresult result = use_for_memory(&wanted.context);

	if (result)
		return result;
	if (!ret_address || !size)
		return CUDA_ERROR_INVALID_VALUE;
	wanted.device = wanted.context->device;
	if (kind == SG_MEMORY_HOST)
		result = sg_memory_allocate_host(&wanted, &address);
	else
		result = sg_memory_allocate(&wanted, 0, &address);
	if (!result)
		*ret_address = wanted.address = address;
	log_call("alloc", &wanted, start, result);
	return result;
}

SG_API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	return allocate_memory(address, size, SG_MEMORY_DEVICE, 0);
}

SG_API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	    flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate_memory(address, size, SG_MEMORY_MANAGED, flags);
}

SG_API CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
				   unsigned int element_size)
{
	size_t row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	size_t size;
	CUresult result;

	if (!pitch || row < width || __builtin_mul_overflow(row, height, &size) ||
	    (element_size != 4 && element_size != 8 && element_size != 16))
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate_memory(address, size, SG_MEMORY_DEVICE, 0);
	if (!result)
		*pitch = row;
	return result;
}

/* The context of a call that frees memory: the current one, else that of the allocation. */
static CUresult use_for_free(uint64_t address, CUcontext *ret_context)
{
	struct sg_allocation allocation;
	CUresult result = use_for_memory(ret_context);

	if (result != CUDA_ERROR_INVALID_CONTEXT || !sg_memory_find(address, &allocation) ||
	    !allocation.context)
		return result;
	*ret_context = allocation.context;
	return sg_stream_capture_allows_unsafe();
}

/* No work may run on memory that is freed. */
static CUresult free_memory(uint64_t address, unsigned int kinds)
{
	struct sg_allocation gone = {0};
	uint64_t start = gt_clock_monotonic();
	CUcontext context;
	CUresult result = use_for_free(address, &context);

	if (result)
		return result;
	sg_contexts_join_users(address);
	result = sg_memory_free(address, kinds, &gone);
	if (result && kinds & 1u << SG_MEMORY_POOL)
		result = sg_memory_set_live(address, false, &gone);
	gone.address = address;
	log_call("free", &gone, start, result);
	return result ? result : (CUresult)atomic_load(&context->error);
}

SG_API CUresult cuMemFree_v2(CUdeviceptr address)
{
	CUcontext context;

	if (!address)
		return use_for_memory(&context);
	return free_memory(address,
			   1u << SG_MEMORY_DEVICE | 1u << SG_MEMORY_MANAGED | 1u << SG_MEMORY_POOL);
}

SG_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = sg_state.config.memory;
	*free_bytes = *total - sg_memory_used(context->device);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	struct sg_allocation allocation;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!sg_memory_find(address, &allocation))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = allocation.address;
	if (size)
		*size = allocation.size;
	return CUDA_SUCCESS;
}

/* ---- host memory ----------------------------------------------------------------------- */

static CUresult allocate_host(void **ret_pointer, size_t size, unsigned int flags)
{
	CUdeviceptr address;
	CUresult result;

	if (!ret_pointer)
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate_memory(&address, size, SG_MEMORY_HOST, flags);
	if (!result)
		*ret_pointer = (void *)(uintptr_t)address;
	return result;
}

SG_API CUresult cuMemAllocHost_v2(void **pointer, size_t size)
{
	return allocate_host(pointer, size, CU_MEMHOSTALLOC_DEVICEMAP);
}

SG_API CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	const unsigned int known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				   CU_MEMHOSTALLOC_WRITECOMBINED;

	if (flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate_host(pointer, size, flags);
}

SG_API CUresult cuMemFreeHost(void *pointer)
{
	return free_memory((uintptr_t)pointer, 1u << SG_MEMORY_HOST);
}

SG_API CUresult cuMemHostRegister_v2(void *pointer, size_t size, unsigned int flags)
{
	const unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
				   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
	struct sg_allocation allocation = {
		.address = (uintptr_t)pointer,
		.size = size,
		.kind = SG_MEMORY_REGISTERED,
		.flags = flags,
	};
	uint64_t start = gt_clock_monotonic();
	CUresult result = use_for_memory(&allocation.context);

	if (result)
		return result;
	if (!pointer || !size || flags & ~known || (uintptr_t)pointer > UINTPTR_MAX - size)
		return CUDA_ERROR_INVALID_VALUE;
	allocation.device = allocation.context->device;
	result = sg_memory_adopt(&allocation);
	log_call("alloc", &allocation, start, result);
	return result;
}

SG_API CUresult cuMemHostUnregister(void *pointer)
{
	CUresult result = free_memory((uintptr_t)pointer, 1u << SG_MEMORY_REGISTERED);

	return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
}

SG_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer,
					     unsigned int flags)
{
	struct sg_allocation allocation;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!address || flags || !sg_memory_find((uintptr_t)pointer, &allocation) ||
	    !sg_memory_is_host(&allocation))
		return CUDA_ERROR_INVALID_VALUE;
	*address = (uintptr_t)pointer;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
	struct sg_allocation allocation;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!flags || !sg_memory_find((uintptr_t)pointer, &allocation) ||
	    !sg_memory_is_host(&allocation))
		return CUDA_ERROR_INVALID_VALUE;
	/* Under unified addressing all of it is mapped. */
	*flags = allocation.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}
