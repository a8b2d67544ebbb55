/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Devices: the context, and waiting for kernels. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cuda/private.h"

enum {
	MIN_SLEEP = 10 * 1000, /* ns */
	MAX_SLEEP = 1000 * 1000,
};

int gt_device_use(struct gt_device *device, struct gt_diag *diag)
{
	return gt_driver_check(device->driver, device->driver->call.context_set(device->context),
			       "cuCtxSetCurrent", diag);
}

int gt_device_open(const struct gt_driver *driver, unsigned number, struct gt_device **ret_device,
		   struct gt_diag *diag)
{
	gt_auto(device) struct gt_device *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	device->driver = driver;
	if (number >= driver->device_count)
		return gt_diag(diag, -ENODEV, "device", NULL, "no device %u: the driver has %u",
			       number, driver->device_count);
	error = gt_driver_device_info(driver, number, &device->info, diag);
	if (!error)
		error = gt_driver_check(driver,
					driver->call.device_get(&device->number, (int)number),
					"cuDeviceGet", diag);
	if (!error)
		error = gt_driver_check(
			driver, driver->call.context_retain(&device->context, device->number),
			"cuDevicePrimaryCtxRetain", diag);
	if (!error)
		error = gt_device_use(device, diag);
	if (error)
		return error;
	*ret_device = gt_take(device);
	return 0;
}

void gt_device_close(struct gt_device *device)
{
	if (device && device->context && !device->abandoned)
		device->driver->call.context_release(device->number);
	free(device);
}

const struct gt_device_info *gt_device_info(const struct gt_device *device)
{
	return &device->info;
}

int gt_device_wait(struct gt_device *device, uint64_t limit, struct gt_diag *diag)
{
	uint64_t start = gt_clock_monotonic();
	struct timespec pause = {.tv_nsec = MIN_SLEEP};
	int result;

	/* The default stream waits for all others. */
	while ((result = device->driver->call.stream_query(NULL)) == GT_CUDA_ERROR_NOT_READY) {
		if (limit && gt_clock_monotonic() - start >= limit)
			return gt_diag(diag, -ETIME, "device", NULL,
				       "the program did not end within %" PRIu64 " ms",
				       limit / 1000000);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < MAX_SLEEP)
			pause.tv_nsec *= 2;
	}
	return gt_driver_check(device->driver, result, "cuStreamQuery", diag);
}

void gt_device_abandon(struct gt_device *device)
{
	device->abandoned = true;
}
