/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of a device. */
#include <errno.h>
#include <string.h>

#include "device/private.h"

/* Flags of cuMemHostAlloc. */
enum {
	HOST_PORTABLE = 1,
	HOST_DEVICE_MAP = 2,
};

static int allocate_device(struct gt_device *device, struct gt_device_memory *memory,
			   struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	int error = gt_driver_check(driver,
				    driver->call.memory_allocate(&memory->address, memory->size),
				    "cuMemAlloc", diag);

	if (error)
		return error;
	error = gt_driver_check(driver, driver->call.memory_set(memory->address, 0, memory->size),
				"cuMemsetD8", diag);
	if (error)
		driver->call.memory_free(memory->address);
	return error;
}

static int allocate_host(struct gt_device *device, struct gt_device_memory *memory,
			 struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	int error = gt_driver_check(driver,
				    driver->call.host_allocate(&memory->host, memory->size,
							       HOST_PORTABLE | HOST_DEVICE_MAP),
				    "cuMemHostAlloc", diag);

	if (error)
		return error;
	memset(memory->host, 0, memory->size);
	error = gt_driver_check(driver,
				driver->call.host_address(&memory->address, memory->host, 0),
				"cuMemHostGetDevicePointer", diag);
	if (error)
		driver->call.host_free(memory->host);
	return error;
}

int gt_device_allocate(struct gt_device *device, enum gt_device_memory_kind kind, size_t size,
		       struct gt_device_memory *ret_memory, struct gt_diag *diag)
{
	struct gt_device_memory memory = {.kind = kind, .size = size};
	int error = 0;

	if (size)
		error = kind == GT_ON_HOST ? allocate_host(device, &memory, diag)
					   : allocate_device(device, &memory, diag);
	if (!error)
		*ret_memory = memory;
	return error;
}

void gt_device_free(struct gt_device *device, struct gt_device_memory *memory)
{
	if (memory->size && !device->abandoned) {
		if (memory->kind == GT_ON_HOST)
			device->driver->call.host_free(memory->host);
		else
			device->driver->call.memory_free(memory->address);
	}
	*memory = (struct gt_device_memory){.kind = memory->kind};
}

int gt_device_write(struct gt_device *device, uint64_t address, const void *bytes, size_t size,
		    struct gt_diag *diag)
{
	if (!size)
		return 0;
	return gt_driver_check(device->driver,
			       device->driver->call.memory_write(address, bytes, size),
			       "cuMemcpyHtoD", diag);
}

int gt_device_read(struct gt_device *device, uint64_t address, void *bytes, size_t size,
		   struct gt_diag *diag)
{
	if (!size)
		return 0;
	return gt_driver_check(device->driver,
			       device->driver->call.memory_read(bytes, address, size),
			       "cuMemcpyDtoH", diag);
}
