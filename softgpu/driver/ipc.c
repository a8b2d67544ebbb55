/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interprocess communication: memory, events, pools. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/event.h"
#include "device/memory.h"
#include "device/pool.h"
#include "driver/api.h"

/* The contents of a handle: a file of a process, and the location of the memory in it. */
struct ipc_contents {
	char magic[8];
	int32_t pid;
	int32_t fd; /* in that process */
	uint64_t offset;
	uint64_t size;
	uint64_t id; /* of the allocation */
};

static const char memory_magic[8] = "softgpu", event_magic[8] = "softevt",
		  pointer_magic[8] = "softptr";

_Static_assert(sizeof(struct ipc_contents) <= sizeof(CUipcMemHandle), "it fits into the handle");
_Static_assert(sizeof(struct ipc_contents) <= sizeof(CUipcEventHandle), "it fits into the handle");
_Static_assert(sizeof(struct ipc_contents) <= sizeof(CUmemPoolPtrExportData),
	       "it fits into the data");

static int open_file(const struct ipc_contents *ipc)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ipc->pid, ipc->fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Map the pages around the memory. */
static CUresult map_pages(int fd, const struct ipc_contents *ipc, struct sg_allocation *imported)
{
	const uint64_t page = 4096;
	uint64_t start = ipc->offset / page * page, end;
	struct stat status;
	void *mapping;

	if (!ipc->size || __builtin_add_overflow(ipc->offset, ipc->size, &end) ||
	    fstat(fd, &status) || !S_ISREG(status.st_mode) || end > (uint64_t)status.st_size)
		return CUDA_ERROR_INVALID_VALUE;
	imported->mapping_size = end - start;
	mapping = mmap(NULL, imported->mapping_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)start);
	if (mapping == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	imported->mapping = (uintptr_t)mapping;
	imported->address = (uintptr_t)mapping + ipc->offset - start;
	imported->size = ipc->size;
	return CUDA_SUCCESS;
}

/* Map it and register it with the device. */
static CUresult import_memory(int fd, const struct ipc_contents *ipc,
			      struct sg_allocation *imported)
{
	CUresult result = map_pages(fd, ipc, imported);

	if (result)
		return result;
	result = sg_memory_adopt(imported);
	if (result)
		munmap((void *)(uintptr_t)imported->mapping, imported->mapping_size);
	return result;
}

static struct ipc_contents describe_memory(const char *magic,
					   const struct sg_allocation *allocation)
{
	struct ipc_contents ipc = {
		.pid = getpid(),
		.fd = sg_state.arena_fd,
		.offset = allocation->address - sg_state.arena,
		.size = allocation->size,
		.id = allocation->id,
	};

	memcpy(ipc.magic, magic, sizeof(ipc.magic));
	return ipc;
}

/* ---- memory ---------------------------------------------------------------------------- */

SG_API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	struct sg_allocation allocation;
	struct ipc_contents ipc;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!handle || !sg_memory_find(address, &allocation) || allocation.kind != SG_MEMORY_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	ipc = describe_memory(memory_magic, &allocation);
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ipc, sizeof(ipc));
	return CUDA_SUCCESS;
}

/* Opens the file that a handle of 64 bytes from another process names; the caller closes it. */
static CUresult open_handle(const void *handle, const char magic[8], struct ipc_contents *ret_ipc,
			    int *ret_fd)
{
	memcpy(ret_ipc, handle, sizeof(*ret_ipc));
	if (memcmp(ret_ipc->magic, magic, sizeof(ret_ipc->magic)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* CUDA does not open a handle in the process that made it. */
	if (ret_ipc->pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_fd = open_file(ret_ipc);
	return *ret_fd < 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult open_memory(CUdeviceptr *address, const CUipcMemHandle *handle)
{
	struct sg_allocation imported = {.kind = SG_MEMORY_IMPORTED};
	struct ipc_contents ipc;
	CUresult result = sg_context_use(&imported.context);
	int fd;

	if (result)
		return result;
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	result = open_handle(handle, memory_magic, &ipc, &fd);
	if (result)
		return result;
	imported.device = imported.context->device;
	result = import_memory(fd, &ipc, &imported);
	close(fd);
	if (!result)
		*address = imported.address;
	return result;
}

SG_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle,
				      unsigned int flags)
{
	return open_memory(address, &handle);
}

SG_API CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags);
SG_API CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	return open_memory(address, &handle);
}

SG_API CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	sg_contexts_join();
	return sg_memory_free(address, 1u << SG_MEMORY_IMPORTED, NULL);
}

/* ---- events ---------------------------------------------------------------------------- */

SG_API CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	struct ipc_contents ipc = {.pid = getpid()};
	CUresult result = sg_check();

	if (result)
		return result;
	if (!sg_handle_is(event, SG_HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!handle || !event->shared)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ipc.magic, event_magic, sizeof(ipc.magic));
	ipc.fd = sg_shared_event_file(event->shared);
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ipc, sizeof(ipc));
	return CUDA_SUCCESS;
}

SG_API CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct ipc_contents ipc;
	CUcontext context;
	CUresult result = sg_context_use(&context);
	int fd;

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	result = open_handle(&handle, event_magic, &ipc, &fd);
	/* The event takes over the file. */
	return result ? result : sg_event_open(context, fd, event);
}

/* ---- pools ----------------------------------------------------------------------------- */

/* A pool's memory is in the arena: its file gives access to all memory of the devices. */
SG_API CUresult cuMemPoolExportToShareableHandle(void *shareable, CUmemoryPool pool,
						 CUmemAllocationHandleType type,
						 unsigned long long flags)
{
	CUresult result = sg_check_pool(pool, shareable);
	int fd;

	if (result)
		return result;
	if (flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !pool->is_shareable)
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(sg_state.arena_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *shareable,
						   CUmemAllocationHandleType type,
						   unsigned long long flags)
{
	struct stat status;
	CUmemoryPool made;
	CUresult result = sg_check();
	int fd = (int)(intptr_t)shareable;

	if (result)
		return result;
	if (!pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    fstat(fd, &status) || !S_ISREG(status.st_mode))
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	result = sg_pool_new(sg_thread_device(), CU_MEM_LOCATION_TYPE_DEVICE, &made);
	if (result) {
		close(fd);
		return result;
	}
	made->imported_fd = fd;
	*pool = made;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr address)
{
	struct sg_allocation allocation;
	struct ipc_contents ipc;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!data || !sg_memory_find(address, &allocation) || !allocation.pool ||
	    !allocation.pool->is_shareable)
		return CUDA_ERROR_INVALID_VALUE;
	ipc = describe_memory(pointer_magic, &allocation);
	memset(data, 0, sizeof(*data));
	memcpy(data, &ipc, sizeof(ipc));
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
				       CUmemPoolPtrExportData *data)
{
	struct sg_allocation imported = {.kind = SG_MEMORY_POOL, .pool = pool};
	struct ipc_contents ipc;
	CUresult result = sg_check_pool(pool, address);

	if (result)
		return result;
	if (!data || pool->imported_fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&ipc, data, sizeof(ipc));
	if (memcmp(ipc.magic, pointer_magic, sizeof(ipc.magic)))
		return CUDA_ERROR_INVALID_VALUE;
	imported.device = pool->device;
	imported.context = sg_context_current();
	result = import_memory(pool->imported_fd, &ipc, &imported);
	if (result)
		return result;
	sg_pool_add(pool, imported.size);
	*address = imported.address;
	return CUDA_SUCCESS;
}
