/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs of several OpenCL devices, on each of which a kernel of 64 work-items is launched:
 * "parts" of one in one context, which one program is built for; "all" of all platforms, in a
 * context each. They check the results, and print "right".
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "opencl_device.h"

enum { MAX_DEVICES = 8 };

/* Launch the kernel of a program on a device of the current context. */
static bool launch_on(cl_device_id on, cl_kernel kernel, int first)
{
	cl_int error;
	bool right;

	queue = clCreateCommandQueue(context, on, 0, &error);
	right = !error && launch(kernel, first, 1);
	return right && !clReleaseCommandQueue(queue);
}

static bool run_parts(void)
{
	static const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	cl_device_id parts[MAX_DEVICES];
	cl_uint count = 0;
	cl_program program;
	cl_kernel kernel;
	bool right = !clCreateSubDevices(device, equally, MAX_DEVICES, parts, &count) && count;

	count = count < 2 ? count : 2;
	context = clCreateContext(NULL, count, parts, NULL, NULL, NULL);
	program = create(source);
	right = right && !clBuildProgram(program, count, parts, NULL, NULL, NULL);
	kernel = right ? clCreateKernel(program, "number", NULL) : NULL;
	/* A machine may have one compute unit. */
	for (cl_uint i = 0; i < 2 && right; i++)
		right = launch_on(parts[i % count], kernel, (int)i);
	return right && !clReleaseKernel(kernel) && !clReleaseProgram(program);
}

static bool run_device(cl_device_id on, int first)
{
	cl_program program;
	cl_kernel kernel;
	cl_int error;

	context = clCreateContext(NULL, 1, &on, NULL, NULL, &error);
	program = error ? NULL : create(source);
	if (!program || clBuildProgram(program, 1, &on, NULL, NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	return kernel && launch_on(on, kernel, first) && !clReleaseKernel(kernel) &&
	       !clReleaseProgram(program);
}

static bool run_all(void)
{
	cl_platform_id platforms[MAX_DEVICES];
	cl_device_id devices[MAX_DEVICES];
	cl_uint platform_count, count;
	int launched = 0;

	if (clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count))
		return false;
	for (cl_uint i = 0; i < platform_count && i < MAX_DEVICES; i++) {
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count))
			return false;
		for (cl_uint j = 0; j < count && j < MAX_DEVICES; j++)
			if (!run_device(devices[j], launched++))
				return false;
	}
	printf("%d devices\n", launched);
	return true;
}

int main(int count, char **arguments)
{
	static const struct named_program programs[] = {{"parts", run_parts}, {"all", run_all}};

	return run_named(programs, sizeof(programs) / sizeof(*programs),
			 count == 2 ? arguments[1] : NULL);
}
