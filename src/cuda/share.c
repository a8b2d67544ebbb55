/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of a device that other processes can map, too. */
#include "base/file.h"
#include "cuda/private.h"

/* Structures and values of CUDA's cuda.h. */
enum {
	ALLOCATION_PINNED = 1,
	LOCATION_DEVICE = 1,
	HANDLE_POSIX_FD = 1,
	ACCESS_READ_WRITE = 3,
};

struct location {
	int type, id;
};

struct allocation_properties {
	int type, requested_handles;
	struct location location;
	void *win32_meta_data;
	struct {
		unsigned char compression, rdma;
		unsigned short usage;
		unsigned char reserved[4];
	} flags;
};

struct access {
	struct location location;
	int flags;
};

/* The memory of the software GPU is a file: without data, it has zeros. */
static int clear(struct gt_device *device, int fd, const struct gt_device_memory *memory,
		 struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	struct gt_file_part part;

	if (!gt_file_find_data(fd, 0, memory->size, &part))
		return 0;
	return gt_driver_check(driver, driver->call.memory_set(memory->address, 0, memory->size),
			       "cuMemsetD8", diag);
}

/* Map physical memory at an address of the driver's choice. */
static int map_physical(struct gt_device *device, uint64_t handle, int fd,
			struct gt_device_memory *memory, struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	const struct access access = {{LOCATION_DEVICE, device->number}, ACCESS_READ_WRITE};
	uint64_t address = 0;
	int error =
		gt_driver_check(driver, driver->call.range_reserve(&address, memory->size, 0, 0, 0),
				"cuMemAddressReserve", diag);

	if (error)
		return error;
	error = gt_driver_check(driver, driver->call.range_map(address, memory->size, 0, handle, 0),
				"cuMemMap", diag);
	if (error) {
		driver->call.range_free(address, memory->size);
		return error;
	}
	memory->address = address;
	error = gt_driver_check(driver,
				driver->call.range_access(address, memory->size, &access, 1),
				"cuMemSetAccess", diag);
	if (!error)
		error = clear(device, fd, memory, diag);
	if (error)
		gt_device_unshare(device, memory);
	return error;
}

int gt_device_share(struct gt_device *device, size_t size, struct gt_device_memory *ret_memory,
		    int *ret_fd, struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	const struct allocation_properties properties = {
		.type = ALLOCATION_PINNED,
		.requested_handles = HANDLE_POSIX_FD,
		.location = {LOCATION_DEVICE, device->number},
	};
	struct gt_device_memory memory = {.size = size};
	uint64_t handle = 0;
	int fd = -1;
	int error =
		gt_driver_check(driver, driver->call.physical_create(&handle, size, &properties, 0),
				"cuMemCreate", diag);

	if (error)
		return error;
	error = gt_driver_check(driver,
				driver->call.physical_export(&fd, handle, HANDLE_POSIX_FD, 0),
				"cuMemExportToShareableHandle", diag);
	if (!error)
		error = map_physical(device, handle, fd, &memory, diag);
	/* The mapping keeps the memory. */
	driver->call.physical_release(handle);
	if (error) {
		gt_cleanup_close(&fd);
		return error;
	}
	*ret_memory = memory;
	*ret_fd = fd;
	return 0;
}

void gt_device_unshare(struct gt_device *device, struct gt_device_memory *memory)
{
	const struct gt_driver *driver = device->driver;

	if (memory->address && !device->abandoned) {
		driver->call.range_unmap(memory->address, memory->size);
		driver->call.range_free(memory->address, memory->size);
	}
	*memory = (struct gt_device_memory){0};
}
