/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A device, a program and the launch of its kernel, for test programs of OpenCL. */
#pragma once

#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	ITEMS = 64,
};

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static inline bool open_device(void)
{
	cl_platform_id platform;
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return false;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (error)
		return false;
	queue = clCreateCommandQueue(context, device, 0, &error);
	return !error;
}

static const char source[] = "#ifndef STEP\n"
			     "#define STEP 1\n"
			     "#endif\n"
			     "__kernel void number(__global int *numbers, int first) {\n"
			     "	int i = get_global_id(0);\n"
			     "	numbers[i] = first + i * STEP;\n"
			     "}\n";

static inline cl_program create(const char *text)
{
	return clCreateProgramWithSource(context, 1, &text, NULL, NULL);
}

/* Launch a kernel `number`; whether its results are right. */
static inline bool launch(cl_kernel kernel, int first, int step)
{
	const size_t items = ITEMS, group = 16;
	int numbers[ITEMS];
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, NULL);
	bool right =
		buffer && !clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) &&
		!clSetKernelArg(kernel, 1, sizeof(first), &first) &&
		!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) &&
		!clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
				     NULL);

	for (int i = 0; i < ITEMS && right; i++)
		right = numbers[i] == first + i * step;
	clReleaseMemObject(buffer);
	return right;
}

static inline bool launch_by_name(cl_program program, const char *name, int first, int step)
{
	cl_kernel kernel = clCreateKernel(program, name, NULL);
	bool right = kernel && launch(kernel, first, step);

	return right && !clReleaseKernel(kernel);
}

/* Run the program that the argument names, which prints whether all was right. */
struct named_program {
	const char *name;
	bool (*run)(void);
};

static inline int run_named(const struct named_program *programs, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(name, programs[i].name)) {
			puts(open_device() && programs[i].run() ? "right" : "wrong");
			return 0;
		}
	fprintf(stderr, "usage: PROGRAM, one of");
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, " %s", programs[i].name);
	fprintf(stderr, "\n");
	return 2;
}
