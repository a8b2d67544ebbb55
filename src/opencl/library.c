/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The library: loading it, its devices, its errors. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/private.h"
#include "opencl/sharing.h"

enum {
	MAX_DEVICES = 64, /* of a platform, and platforms */
};

const char *gt_cl_error_name(int code)
{
	static const struct {
		cl_int code;
		const char *name;
	} errors[] = {
#define ERROR(name) {name, #name},
#include "opencl/errors.def"
#undef ERROR
	};

	for (size_t i = 0; i < gt_countof(errors); i++)
		if (errors[i].code == code)
			return errors[i].name;
	return NULL;
}

int gt_cl_check(cl_int result, const char *function, struct gt_diag *diag)
{
	const char *name = gt_cl_error_name(result);
	int error = result == CL_OUT_OF_HOST_MEMORY || result == CL_MEM_OBJECT_ALLOCATION_FAILURE
			    ? -ENOMEM
			    : -EIO;

	if (result == CL_SUCCESS)
		return 0;
	if (name)
		return gt_diag(diag, error, "device", function, "%s", name);
	return gt_diag(diag, error, "device", function, "OpenCL error %d", result);
}

static int find_functions(struct gt_cl *cl, struct gt_diag *diag)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define FUNCTION(name) {#name, offsetof(struct gt_cl_functions, name)},
#include "opencl/functions.def"
#undef FUNCTION
	};

	for (size_t i = 0; i < gt_countof(functions); i++) {
		void *function = dlsym(cl->library, functions[i].name);

		if (!function)
			return gt_diag(diag, -ENOTSUP, "device", "libOpenCL.so.1",
				       "the OpenCL library has no %s", functions[i].name);
		*(void **)((char *)&cl->call + functions[i].offset) = function;
	}
	*(void **)&cl->call.clCreateProgramWithIL = dlsym(cl->library, "clCreateProgramWithIL");
	return 0;
}

/* A platform without devices, or that fails, has none. */
static int add_devices(struct gt_cl *cl, cl_platform_id platform)
{
	cl_device_id devices[MAX_DEVICES];
	cl_uint count = 0;

	if (cl->call.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count))
		return 0;
	for (cl_uint i = 0; i < count && i < MAX_DEVICES; i++)
		if (gt_vec_push(&cl->devices, devices[i]))
			return -ENOMEM;
	return 0;
}

static int list_devices(struct gt_cl *cl, struct gt_diag *diag)
{
	cl_platform_id platforms[MAX_DEVICES];
	cl_uint count = 0;

	/* The loader reports an error where there is no platform (cl_khr_icd). */
	if (cl->call.clGetPlatformIDs(MAX_DEVICES, platforms, &count))
		count = 0;
	for (cl_uint i = 0; i < count && i < MAX_DEVICES; i++)
		if (add_devices(cl, platforms[i]))
			return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	if (cl->devices.count)
		return 0;
	return gt_diag(diag, -ENODEV, "device", NULL,
		       "there is no OpenCL device: install a driver, or pocl-opencl-icd for the "
		       "CPU ('clinfo -l' lists the devices)");
}

int gt_cl_open(struct gt_cl **ret_cl, struct gt_diag *diag)
{
	gt_auto(cl) struct gt_cl *cl = calloc(1, sizeof(*cl));
	int error;

	if (!cl)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	/* Never closed: threads of a driver keep running in it. */
	cl->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cl->library)
		return gt_diag(diag, -ENOENT, "device", NULL,
			       "cannot load the OpenCL library: %s; install ocl-icd-libopencl1 "
			       "and a driver, such as pocl-opencl-icd for the CPU",
			       dlerror());
	error = find_functions(cl, diag);
	if (!error)
		error = list_devices(cl, diag);
	if (error)
		return error;
	*ret_cl = gt_take(cl);
	return 0;
}

void gt_cl_free(struct gt_cl *cl)
{
	if (!cl)
		return;
	gt_vec_free(&cl->devices);
	free(cl);
}

unsigned gt_cl_device_count(const struct gt_cl *cl)
{
	return (unsigned)cl->devices.count;
}

/* ---- a device ---- */

char *gt_cl_read_text(const struct gt_cl *cl, cl_device_id id, cl_device_info which)
{
	size_t size = 0;
	char *text;

	if (cl->call.clGetDeviceInfo(id, which, 0, NULL, &size))
		size = 0;
	text = calloc(1, size + 1);
	if (text && size && cl->call.clGetDeviceInfo(id, which, size, text, NULL))
		*text = 0;
	return text;
}

static void read_info(struct gt_cl_device *device)
{
	const struct gt_cl *cl = device->cl;
	gt_autofree char *extensions = gt_cl_read_text(cl, device->id, CL_DEVICE_EXTENSIONS);
	gt_autofree char *il = gt_cl_read_text(cl, device->id, CL_DEVICE_IL_VERSION);
	gt_autofree char *name = gt_cl_read_text(cl, device->id, CL_DEVICE_NAME);
	gt_autofree char *version = gt_cl_read_text(cl, device->id, CL_DEVICE_VERSION);
	struct gt_cl_device_info *info = &device->info;
	cl_platform_id platform = NULL;
	cl_uint units = 0;
	size_t group = 0;

	cl->call.clGetDeviceInfo(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units,
				 NULL);
	cl->call.clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(group), &group,
				 NULL);
	cl->call.clGetDeviceInfo(device->id, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	cl->call.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(info->platform) - 1,
				   info->platform, NULL);
	snprintf(info->name, sizeof(info->name), "%s", name ? name : "");
	snprintf(info->identity, sizeof(info->identity), "%s\n%s", name ? name : "",
		 version ? version : "");
	info->compute_units = units;
	info->max_group = group;
	info->takes_spirv = cl->call.clCreateProgramWithIL && il && strstr(il, "SPIR-V");
	info->takes_spir = extensions && strstr(extensions, "cl_khr_spir");
}

int gt_cl_device_open(struct gt_cl *cl, unsigned number, struct gt_cl_device **ret_device,
		      struct gt_diag *diag)
{
	gt_auto(cl_device) struct gt_cl_device *device = calloc(1, sizeof(*device));
	cl_int result;

	if (!device)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	device->cl = cl;
	if (number >= cl->devices.count)
		return gt_diag(diag, -ENODEV, "device", NULL,
			       "there is no OpenCL device %u: %zu are numbered from 0", number,
			       cl->devices.count);
	device->id = cl->devices.items[number];
	read_info(device);
	device->context = cl->call.clCreateContext(NULL, 1, &device->id, NULL, NULL, &result);
	if (result)
		return gt_cl_check(result, "clCreateContext", diag);
	device->queue = cl->call.clCreateCommandQueue(device->context, device->id, 0, &result);
	if (result)
		return gt_cl_check(result, "clCreateCommandQueue", diag);
	*ret_device = gt_take(device);
	return 0;
}

void gt_cl_device_close(struct gt_cl_device *device)
{
	if (!device)
		return;
	if (device->queue && !device->is_abandoned)
		device->cl->call.clReleaseCommandQueue(device->queue);
	if (device->context && !device->is_abandoned)
		device->cl->call.clReleaseContext(device->context);
	free(device);
}

void gt_cl_device_abandon(struct gt_cl_device *device)
{
	device->is_abandoned = true;
}

const struct gt_cl_device_info *gt_cl_device_info(const struct gt_cl_device *device)
{
	return &device->info;
}

bool gt_cl_device_shares_memory(struct gt_cl_device *device)
{
	const struct gt_cl_sharing_calls calls = {
#define FUNCTION(name) .name = device->cl->call.name,
#include "opencl/sharing.def"
#undef FUNCTION
	};

	if (device->sharing == GT_CL_NOT_CHECKED)
		device->sharing =
			gt_cl_shares_memory(&calls, device->id) ? GT_CL_SHARED : GT_CL_NOT_SHARED;
	return device->sharing == GT_CL_SHARED;
}
