/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A CUDA device, accessed through the driver library, which is loaded at run time. A software
 * device that implements the driver API works as well as a GPU.
 *
 * If a driver call fails, the result is -EIO (-ENOMEM: out of memory), the diag's place is the
 * function, and its text begins with the name of the error: "CUDA_ERROR_INVALID_PTX: a PTX JIT
 * compilation failed". After an error of a kernel, such as an illegal address, all later calls on
 * the device fail in the same way.
 *
 * Each thread has a current device: the last one for which it called gt_device_open or
 * gt_device_use. Call gt_device_use before calls for another device or in another thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/strbuf.h"

struct gt_driver;
struct gt_device;
struct gt_module;

/*
 * Opens and initialises the driver library at a path (NULL: libcuda.so.1 in the loader's search
 * path). -ENOENT: it cannot be loaded; -ENOTSUP: it lacks a function; -ENODEV: there is no device.
 * The library stays loaded until the process ends.
 */
int gt_driver_open(const char *library, struct gt_driver **ret_driver, struct gt_diag *diag);
void gt_driver_free(struct gt_driver *driver);
GT_DEFINE_AUTO(driver, struct gt_driver, gt_driver_free)

/* Devices are numbered from 0. */
unsigned gt_driver_device_count(const struct gt_driver *driver);
/* The CUDA version that the driver supports: 13000 is 13.0. */
unsigned gt_driver_version(const struct gt_driver *driver);

struct gt_device_info {
	unsigned number; /* of the driver */
	char name[256];
	uint8_t uuid[16];
	unsigned sm; /* 90: compute capability 9.0 */
	unsigned multiprocessors;
	unsigned max_block_threads;
};
int gt_driver_device_info(const struct gt_driver *driver, unsigned number,
			  struct gt_device_info *ret_info, struct gt_diag *diag);

/*
 * Opens a device, and makes its primary context current in this thread. The driver must outlive it.
 */
int gt_device_open(const struct gt_driver *driver, unsigned number, struct gt_device **ret_device,
		   struct gt_diag *diag);
void gt_device_close(struct gt_device *device);
GT_DEFINE_AUTO(device, struct gt_device, gt_device_close)
/* Makes the device current in this thread. */
int gt_device_use(struct gt_device *device, struct gt_diag *diag);
const struct gt_device_info *gt_device_info(const struct gt_device *device);

/* Device memory. */
struct gt_device_memory {
	uint64_t address; /* on the device */
	size_t size;      /* bytes; 0: not allocated */
};
/* Allocates zeroed memory. With a size of 0 there is no address. */
int gt_device_allocate(struct gt_device *device, size_t size, struct gt_device_memory *ret_memory,
		       struct gt_diag *diag);
void gt_device_free(struct gt_device *device, struct gt_device_memory *memory);
/*
 * Allocates zeroed memory that other processes can map (CUDA Driver API, virtual memory
 * management): `size` is a multiple of GT_DEVICE_SHARED_UNIT. The caller closes *ret_fd, a POSIX
 * shareable handle. The memory lives as long as this process or another one has the handle or a
 * mapping. -EIO: the driver or the device cannot do so.
 */
enum { GT_DEVICE_SHARED_UNIT = 2 << 20 }; /* bytes: the granularity of all GPUs so far */
int gt_device_share(struct gt_device *device, size_t size, struct gt_device_memory *ret_memory,
		    int *ret_fd, struct gt_diag *diag);
void gt_device_unshare(struct gt_device *device, struct gt_device_memory *memory);

/*
 * Copies to and from device memory. They wait for kernels that this process has launched, not for
 * those of others.
 */
int gt_device_write(struct gt_device *device, uint64_t address, const void *bytes, size_t size,
		    struct gt_diag *diag);
int gt_device_read(struct gt_device *device, uint64_t address, void *bytes, size_t size,
		   struct gt_diag *diag);

/*
 * Registers whole pages of this process (cuMemHostRegister), so that all devices of the driver can
 * access them until gt_device_unregister. -EIO: they cannot be registered, or are already. Until
 * then the memory must stay mapped and the device open.
 */
int gt_device_register(struct gt_device *device, void *memory, size_t size, struct gt_diag *diag);
void gt_device_unregister(struct gt_device *device, void *memory);
/* The address of registered memory on the device. */
int gt_device_address(struct gt_device *device, void *memory, uint64_t *ret_address,
		      struct gt_diag *diag);

/*
 * Loads a module from PTX text (ended by a NUL). On errors, the messages of the driver's compiler
 * are appended to *ret_log, unless that is NULL, and their first line is in the diag. The device
 * must outlive the module.
 */
int gt_module_load(struct gt_device *device, const char *text, struct gt_module **ret_module,
		   struct gt_strbuf *ret_log, struct gt_diag *diag);
void gt_module_free(struct gt_module *module);
GT_DEFINE_AUTO(module, struct gt_module, gt_module_free)
/* The address and size in bytes of a variable. -ENOENT: the module has no such variable. */
int gt_module_symbol(struct gt_module *module, const char *name, uint64_t *ret_address,
		     size_t *ret_size, struct gt_diag *diag);

struct gt_launch {
	const char *kernel; /* name in the module */
	uint32_t grid[3], block[3];
	void **arguments; /* a pointer to each */
};
/* Launches a kernel without waiting. -ENOENT: the module has no such kernel. */
int gt_module_launch(struct gt_module *module, const struct gt_launch *launch,
		     struct gt_diag *diag);
/*
 * Waits until all launched kernels have ended. -ETIME: they have not after `limit` ns (0: no
 * limit). They still run, and end with the process at the latest: see gt_device_abandon.
 */
int gt_device_wait(struct gt_device *device, uint64_t limit, struct gt_diag *diag);
/* From now on, closing the device, its modules and its memory does not touch the driver. */
void gt_device_abandon(struct gt_device *device);
