/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver library: loading it, and its errors. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "cuda/private.h"

/* Values of CUdevice_attribute. */
enum {
	ATTRIBUTE_MAX_BLOCK_THREADS = 1,
	ATTRIBUTE_MULTIPROCESSORS = 16,
	ATTRIBUTE_MAJOR = 75,
	ATTRIBUTE_MINOR = 76,
};

int gt_driver_check(const struct gt_driver *driver, int result, const char *function,
		    struct gt_diag *diag)
{
	const char *name = NULL, *text = NULL;
	int error = result == GT_CUDA_ERROR_NOT_FOUND       ? -ENOENT
		    : result == GT_CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM
							    : -EIO;

	if (result == GT_CUDA_SUCCESS)
		return 0;
	if (driver->call.get_error_name(result, &name) || !name)
		return gt_diag(diag, error, "device", function, "CUDA error %d", result);
	if (driver->call.get_error_string(result, &text) || !text)
		text = "no description";
	return gt_diag(diag, error, "device", function, "%s: %s", name, text);
}

static int find_functions(struct gt_driver *driver, const char *library, struct gt_diag *diag)
{
	static const struct {
		const char *exported;
		size_t offset;
	} functions[] = {
#define FUNCTION(name, exported, parameters) {exported, offsetof(struct gt_driver_functions, name)},
#include "cuda/driver.def"
#undef FUNCTION
	};

	for (size_t i = 0; i < gt_countof(functions); i++) {
		void *function = dlsym(driver->library, functions[i].exported);

		if (!function)
			return gt_diag(diag, -ENOTSUP, "device", library,
				       "the driver library has no %s: install a driver for CUDA "
				       "11.4 or newer",
				       functions[i].exported);
		*(void **)((char *)&driver->call + functions[i].offset) = function;
	}
	return 0;
}

static int initialise(struct gt_driver *driver, struct gt_diag *diag)
{
	int count = 0, version = 0;
	int error = gt_driver_check(driver, driver->call.init(0), "cuInit", diag);

	if (!error)
		error = gt_driver_check(driver, driver->call.get_version(&version),
					"cuDriverGetVersion", diag);
	if (!error)
		error = gt_driver_check(driver, driver->call.device_count(&count),
					"cuDeviceGetCount", diag);
	if (!error && count <= 0)
		error = gt_diag(diag, -ENODEV, "device", NULL, "the driver has no devices");
	if (error)
		return error;
	driver->device_count = (unsigned)count;
	driver->version = (unsigned)version;
	return 0;
}

int gt_driver_open(const char *library, struct gt_driver **ret_driver, struct gt_diag *diag)
{
	gt_auto(driver) struct gt_driver *driver = calloc(1, sizeof(*driver));
	int error;

	if (!driver)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	if (!library)
		library = "libcuda.so.1";
	/* Never closed: threads of the driver keep running in it. */
	driver->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!driver->library)
		return gt_diag(diag, -ENOENT, "device", NULL, "cannot load the driver library: %s",
			       dlerror());
	error = find_functions(driver, library, diag);
	if (!error)
		error = initialise(driver, diag);
	if (error)
		return error;
	*ret_driver = gt_take(driver);
	return 0;
}

void gt_driver_free(struct gt_driver *driver)
{
	free(driver);
}

unsigned gt_driver_device_count(const struct gt_driver *driver)
{
	return driver->device_count;
}

unsigned gt_driver_version(const struct gt_driver *driver)
{
	return driver->version;
}

static int get_attribute(const struct gt_driver *driver, int device, int attribute,
			 unsigned *ret_value, struct gt_diag *diag)
{
	int value = 0;
	int error =
		gt_driver_check(driver, driver->call.device_attribute(&value, attribute, device),
				"cuDeviceGetAttribute", diag);

	if (!error)
		*ret_value = (unsigned)value;
	return error;
}

int gt_driver_device_info(const struct gt_driver *driver, unsigned number,
			  struct gt_device_info *ret_info, struct gt_diag *diag)
{
	struct gt_device_info info = {.number = number};
	unsigned major = 0, minor = 0;
	int device = 0;
	int error = gt_driver_check(driver, driver->call.device_get(&device, (int)number),
				    "cuDeviceGet", diag);

	if (!error)
		error = gt_driver_check(
			driver, driver->call.device_name(info.name, sizeof(info.name), device),
			"cuDeviceGetName", diag);
	if (!error)
		error = gt_driver_check(driver, driver->call.device_uuid(info.uuid, device),
					"cuDeviceGetUuid", diag);
	if (!error)
		error = get_attribute(driver, device, ATTRIBUTE_MAJOR, &major, diag);
	if (!error)
		error = get_attribute(driver, device, ATTRIBUTE_MINOR, &minor, diag);
	if (!error)
		error = get_attribute(driver, device, ATTRIBUTE_MULTIPROCESSORS,
				      &info.multiprocessors, diag);
	if (!error)
		error = get_attribute(driver, device, ATTRIBUTE_MAX_BLOCK_THREADS,
				      &info.max_block_threads, diag);
	if (error)
		return error;
	info.name[sizeof(info.name) - 1] = '\0';
	info.sm = 10 * major + minor;
	*ret_info = info;
	return 0;
}
