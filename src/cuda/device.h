/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A CUDA device, reached through the driver library: nothing is linked with CUDA. A software
 * device that offers the driver API does as well as a GPU.
 *
 * Where a call of the driver fails, the result is -EIO (-ENOMEM where memory is short), the diag's
 * place is the function and its text begins with the error's name: "CUDA_ERROR_INVALID_PTX: a PTX
 * JIT compilation failed". After an error of a kernel (an illegal address, say) every later call on
 * the device fails likewise.
 *
 * A thread uses the device that it opened last, or that it told by gt_device_use: this comes before
 * calls for another device, and in another thread.
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
 * Opens the driver library at a path (NULL: libcuda.so.1, where the loader finds it) and
 * initialises it. -ENOENT: it cannot be loaded; -ENOTSUP: it lacks a function; -ENODEV: it has no
 * device. The library stays loaded until the process ends.
 */
int gt_driver_open(const char *library, struct gt_driver **ret_driver, struct gt_diag *diag);
void gt_driver_free(struct gt_driver *driver);
GT_DEFINE_AUTO(driver, struct gt_driver, gt_driver_free)

/* Devices are numbered from 0. */
unsigned gt_driver_device_count(const struct gt_driver *driver);
/* 13000: it speaks CUDA 13.0. */
unsigned gt_driver_version(const struct gt_driver *driver);

struct gt_device_info {
	char name[256];
	uint8_t uuid[16];
	unsigned sm;              /* 90: compute capability 9.0 */
	unsigned multiprocessors; /* that run blocks */
	unsigned max_block_threads;
};
int gt_driver_device_info(const struct gt_driver *driver, unsigned number,
			  struct gt_device_info *ret_info, struct gt_diag *diag);

/*
 * Opens a device: its primary context becomes current for this thread. The driver must outlive it.
 */
int gt_device_open(const struct gt_driver *driver, unsigned number, struct gt_device **ret_device,
		   struct gt_diag *diag);
void gt_device_close(struct gt_device *device);
GT_DEFINE_AUTO(device, struct gt_device, gt_device_close)
int gt_device_use(struct gt_device *device, struct gt_diag *diag);
const struct gt_device_info *gt_device_info(const struct gt_device *device);

/* Memory of the device, all zeros at first. */
struct gt_device_memory {
	uint64_t address; /* for the device */
	size_t size;      /* bytes; 0: there is none */
};
/* A size of 0 gives memory without an address. */
int gt_device_allocate(struct gt_device *device, size_t size, struct gt_device_memory *ret_memory,
		       struct gt_diag *diag);
void gt_device_free(struct gt_device *device, struct gt_device_memory *memory);
/* Copies to and from memory of the device; they wait for what runs there. */
int gt_device_write(struct gt_device *device, uint64_t address, const void *bytes, size_t size,
		    struct gt_diag *diag);
int gt_device_read(struct gt_device *device, uint64_t address, void *bytes, size_t size,
		   struct gt_diag *diag);

/*
 * Lets devices reach memory of this process, whole pages: they are locked in place until
 * gt_device_unlock, for all devices of the driver. -EIO, of what cannot be locked or is already.
 * The memory must be mapped, and the device open, until it is unlocked.
 */
int gt_device_lock(struct gt_device *device, void *memory, size_t size, struct gt_diag *diag);
void gt_device_unlock(struct gt_device *device, void *memory);
/* Where the device finds memory that is locked. */
int gt_device_address(struct gt_device *device, void *memory, uint64_t *ret_address,
		      struct gt_diag *diag);

/*
 * Loads a module from PTX text (ended by a NUL). *ret_log, where it is not NULL, gets all that the
 * driver's compiler says of errors; its first line is in the diag, too. The device must outlive
 * the module.
 */
int gt_module_load(struct gt_device *device, const char *text, struct gt_module **ret_module,
		   struct gt_strbuf *ret_log, struct gt_diag *diag);
void gt_module_free(struct gt_module *module);
GT_DEFINE_AUTO(module, struct gt_module, gt_module_free)
/* Where a variable of the module is, and its bytes. -ENOENT: it has none of this name. */
int gt_module_symbol(struct gt_module *module, const char *name, uint64_t *ret_address,
		     size_t *ret_size, struct gt_diag *diag);

struct gt_launch {
	const char *kernel; /* its name in the module */
	uint32_t grid[3], block[3];
	void **arguments; /* a pointer to each */
};
/* Starts a kernel and does not wait. -ENOENT: the module has none of this name. */
int gt_module_launch(struct gt_module *module, const struct gt_launch *launch,
		     struct gt_diag *diag);
/*
 * Waits until all that was started is done. -ETIME: it was not after `limit` ns (0: no limit). Then
 * it still runs, and only the end of the process ends it: see gt_device_abandon.
 */
int gt_device_wait(struct gt_device *device, uint64_t limit, struct gt_diag *diag);
/* Closing the device, its modules and its memory leaves them alone from now on, without waiting. */
void gt_device_abandon(struct gt_device *device);
