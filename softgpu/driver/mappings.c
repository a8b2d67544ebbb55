/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory at addresses that the program chooses. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/memory.h"
#include "driver/api.h"

enum {
	GRANULARITY = 2 << 20,  /* bytes, as on hardware */
	FIRST_DESCRIPTOR = 512, /* of imported memory */
};

/* An allocation of cuMemCreate: pages in a memfd of their own, so that they can be exported. */
struct physical_memory {
	int fd;
	uint64_t size;
	CUmemAllocationProp properties;
	unsigned int
		handles; /* by cuMemCreate and cuMemRetainAllocationHandle: one number for all */
	unsigned int mappings; /* the memory exists while it has a handle or a mapping */
	bool is_charged;       /* to the device's memory; imported memory is another process's */
};

/* A mapping, in a list, since programs have few. */
struct virtual_mapping {
	uint64_t address, size;
	struct physical_memory *memory;
	struct virtual_mapping *next;
};

static struct {
	pthread_mutex_t lock;
	struct virtual_mapping *mappings;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *pointer_to(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* ---- physical memory ------------------------------------------------------------------- */

static void free_unused(struct physical_memory *memory)
{
	if (memory->handles || memory->mappings)
		return;
	if (memory->is_charged)
		sg_memory_uncharge(memory->properties.location.id, memory->size);
	close(memory->fd);
	free(memory);
}

static struct physical_memory *find_physical(CUmemGenericAllocationHandle handle)
{
	struct physical_memory *memory = pointer_to(handle);

	return sg_handle_is(memory, SG_HANDLE_MEMORY) ? memory : NULL;
}

static CUresult add_physical(int fd, uint64_t size, const CUmemAllocationProp *properties,
			     bool is_charged, CUmemGenericAllocationHandle *ret_handle)
{
	struct physical_memory *memory = calloc(1, sizeof(*memory));

	if (!memory || !sg_handle_add(memory, SG_HANDLE_MEMORY)) {
		free(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*memory = (struct physical_memory){fd, size, *properties, 1, 0, is_charged};
	*ret_handle = (uintptr_t)memory;
	return CUDA_SUCCESS;
}

static CUresult create_physical(uint64_t size, const CUmemAllocationProp *properties,
				CUmemGenericAllocationHandle *ret_handle)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	int fd;

	if (!sg_memory_charge(properties->location.id, size))
		return result;
	fd = memfd_create("softgpu-physical", MFD_CLOEXEC);
	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		result = add_physical(fd, size, properties, true, ret_handle);
	if (result) {
		if (fd >= 0)
			close(fd);
		sg_memory_uncharge(properties->location.id, size);
	}
	return result;
}

SG_API CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			    const CUmemAllocationProp *properties, unsigned long long flags)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!handle || !properties || flags || !size || size % GRANULARITY ||
	    properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_find(properties->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	return create_physical(size, properties, handle);
}

SG_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical_memory *memory;
	CUresult result = sg_check();

	if (result)
		return result;
	pthread_mutex_lock(&state.lock);
	memory = find_physical(handle);
	if (memory) {
		if (!--memory->handles)
			sg_handle_remove(memory);
		free_unused(memory);
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

SG_API CUresult cuMemGetAllocationGranularity(size_t *granularity,
					      const CUmemAllocationProp *properties,
					      CUmemAllocationGranularity_flags option)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!granularity || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULARITY;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
						       CUmemGenericAllocationHandle handle)
{
	struct physical_memory *memory = find_physical(handle);
	CUresult result = sg_check();

	if (result)
		return result;
	if (!properties || !memory)
		return CUDA_ERROR_INVALID_VALUE;
	*properties = memory->properties;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
					     CUmemAllocationHandleType type,
					     unsigned long long flags)
{
	struct physical_memory *memory = find_physical(handle);
	CUresult result = sg_check();
	int fd;

	if (result)
		return result;
	if (!shareable || flags || !memory || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    memory->properties.requestedHandleTypes != type)
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
					       void *os_handle, CUmemAllocationHandleType type)
{
	CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, sg_thread_device()},
	};
	struct stat status;
	CUresult result = sg_check();
	int fd;

	if (result)
		return result;
	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    fstat((int)(intptr_t)os_handle, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size <= 0 || status.st_size % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	/* NVIDIA's driver takes no descriptor: not one that the program may use or close. */
	fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (fd < 0)
		fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	result = add_physical(fd, (uint64_t)status.st_size, &properties, false, handle);
	if (result)
		close(fd);
	return result;
}

/* ---- addresses ------------------------------------------------------------------------- */

SG_API CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
				    CUdeviceptr wanted, unsigned long long flags)
{
	size_t whole;
	uint64_t start;
	char *mapping;
	CUresult result = sg_check();

	if (result)
		return result;
	if (alignment < GRANULARITY)
		alignment = GRANULARITY;
	if (!address || !size || size % GRANULARITY || flags || alignment & (alignment - 1) ||
	    __builtin_add_overflow(size, alignment, &whole))
		return CUDA_ERROR_INVALID_VALUE;
	mapping = mmap(pointer_to(wanted), whole, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	start = ((uintptr_t)mapping + alignment - 1) & ~(uint64_t)(alignment - 1);
	if (start > (uintptr_t)mapping)
		munmap(mapping, start - (uintptr_t)mapping);
	if ((uintptr_t)mapping + whole > start + size)
		munmap(pointer_to(start + size), (uintptr_t)mapping + whole - start - size);
	*address = start;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!address || !size || size % GRANULARITY || sg_memory_find(address, &allocation) ||
	    munmap(pointer_to(address), size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static struct virtual_mapping **find_mapping(uint64_t address)
{
	struct virtual_mapping **link = &state.mappings;

	while (*link && (*link)->address != address)
		link = &(*link)->next;
	return link;
}

static CUresult map_locked(uint64_t address, uint64_t size, struct physical_memory *memory)
{
	struct virtual_mapping *mapping;

	if (!memory || size > memory->size || *find_mapping(address))
		return CUDA_ERROR_INVALID_VALUE;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (mmap(pointer_to(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd, 0) ==
	    MAP_FAILED) {
		free(mapping);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*mapping = (struct virtual_mapping){address, size, memory, state.mappings};
	state.mappings = mapping;
	memory->mappings++;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
			 CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!address || !size || size % GRANULARITY || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&state.lock);
	result = map_locked(address, size, find_physical(handle));
	pthread_mutex_unlock(&state.lock);
	return result;
}

static CUresult unmap_one_locked(struct virtual_mapping **link)
{
	struct virtual_mapping *mapping = *link;

	sg_memory_free(mapping->address, 1u << SG_MEMORY_MAPPED, NULL);
	if (mmap(pointer_to(mapping->address), mapping->size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*link = mapping->next;
	mapping->memory->mappings--;
	free_unused(mapping->memory);
	free(mapping);
	return CUDA_SUCCESS;
}

/* The range must be one mapping, or several adjacent ones. */
static CUresult unmap_locked(uint64_t address, uint64_t size)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t done = 0;

	while (done < size) {
		const struct virtual_mapping *mapping = *find_mapping(address + done);

		if (!mapping || mapping->size > size - done)
			return CUDA_ERROR_INVALID_VALUE;
		done += mapping->size;
	}
	for (done = 0; done < size && !result;) {
		struct virtual_mapping **link = find_mapping(address + done);

		done += (*link)->size;
		result = unmap_one_locked(link);
	}
	return result;
}

SG_API CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
	CUresult result = sg_check();

	if (result)
		return result;
	sg_contexts_join();
	pthread_mutex_lock(&state.lock);
	result = unmap_locked(address, size);
	pthread_mutex_unlock(&state.lock);
	return result;
}

/* Allow or deny kernels and copies the pages of a mapping. */
static CUresult set_access(const struct virtual_mapping *mapping, CUmemAccess_flags flags)
{
	struct sg_allocation allocation = {
		.address = mapping->address,
		.size = mapping->size,
		.kind = SG_MEMORY_MAPPED,
		.device = mapping->memory->properties.location.id,
	};
	struct sg_allocation known;
	int protection = PROT_NONE;

	/* Kernels may run: nothing is taken away from them meanwhile. */
	if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && sg_memory_find(mapping->address, &known))
		return CUDA_SUCCESS;
	sg_memory_free(mapping->address, 1u << SG_MEMORY_MAPPED, NULL);
	if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
		protection = PROT_READ | PROT_WRITE;
	if (mprotect(pointer_to(mapping->address), mapping->size, protection))
		return CUDA_ERROR_OPERATING_SYSTEM;
	return protection == PROT_NONE ? CUDA_SUCCESS : sg_memory_adopt(&allocation);
}

SG_API CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
			       size_t count)
{
	uint64_t done = 0;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!size || !access || !count || access[0].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	/* The range may contain several adjacent mappings. */
	pthread_mutex_lock(&state.lock);
	while (!result && done < size) {
		const struct virtual_mapping *mapping = *find_mapping(address + done);

		if (!mapping || mapping->size > size - done) {
			result = CUDA_ERROR_INVALID_VALUE;
			break;
		}
		result = set_access(mapping, access[0].flags);
		done += mapping->size;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

SG_API CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			       CUdeviceptr address)
{
	struct sg_allocation allocation;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = sg_memory_find(address, &allocation) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
						      : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	result = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&state.lock);
	for (struct virtual_mapping *mapping = state.mappings; mapping; mapping = mapping->next) {
		if ((uintptr_t)pointer - mapping->address >= mapping->size)
			continue;
		/* A released handle becomes valid again. */
		if (!mapping->memory->handles &&
		    !sg_handle_add(mapping->memory, SG_HANDLE_MEMORY)) {
			result = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		mapping->memory->handles++;
		*handle = (uintptr_t)mapping->memory;
		result = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}
