/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of a device. */
#include "cuda/private.h"

/* Flags of cuMemHostRegister. */
enum {
	HOST_PORTABLE = 1,
	HOST_DEVICE_MAP = 2,
};

int gt_device_allocate(struct gt_device *device, size_t size, struct gt_device_memory *ret_memory,
		       struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	struct gt_device_memory memory = {.size = size};
	int error = 0;

	if (size)
		error = gt_driver_check(driver, driver->call.memory_allocate(&memory.address, size),
					"cuMemAlloc", diag);
	if (error)
		return error;
	if (size)
		error = gt_driver_check(driver, driver->call.memory_set(memory.address, 0, size),
					"cuMemsetD8", diag);
	if (error)
		driver->call.memory_free(memory.address);
	else
		*ret_memory = memory;
	return error;
}

void gt_device_free(struct gt_device *device, struct gt_device_memory *memory)
{
	if (memory->size && !device->abandoned)
		device->driver->call.memory_free(memory->address);
	*memory = (struct gt_device_memory){0};
}

int gt_device_register(struct gt_device *device, void *memory, size_t size, struct gt_diag *diag)
{
	return gt_driver_check(
		device->driver,
		device->driver->call.host_register(memory, size, HOST_PORTABLE | HOST_DEVICE_MAP),
		"cuMemHostRegister", diag);
}

void gt_device_unregister(struct gt_device *device, void *memory)
{
	if (!device->abandoned)
		device->driver->call.host_unregister(memory);
}

int gt_device_address(struct gt_device *device, void *memory, uint64_t *ret_address,
		      struct gt_diag *diag)
{
	uint64_t address = 0;
	int error = gt_driver_check(device->driver,
				    device->driver->call.host_address(&address, memory, 0),
				    "cuMemHostGetDevicePointer", diag);

	if (!error)
		*ret_address = address;
	return error;
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
