/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of an OpenCL program that are the same in all examples. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

/* Checks the result of a call that must not fail. */
#define CHECK(call)                                                                                \
	do {                                                                                       \
		cl_int error_ = (call);                                                            \
		if (error_ != CL_SUCCESS) {                                                        \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call,        \
				error_);                                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The same of a call that reports its error by an argument, `&error_code`. */
#define CREATE(variable, call)                                                                     \
	do {                                                                                       \
		cl_int error_code;                                                                 \
		(variable) = (call);                                                               \
		CHECK(error_code);                                                                 \
	} while (0)

struct opencl {
	cl_device_id device;
	cl_context context;
	cl_program program;
};

/* The first device of the first platform, and a program that is built for it. */
static inline struct opencl opencl_open(const char *source)
{
	struct opencl opencl;
	cl_platform_id platform;

	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &opencl.device, NULL));
	CREATE(opencl.context, clCreateContext(NULL, 1, &opencl.device, NULL, NULL, &error_code));
	CREATE(opencl.program,
	       clCreateProgramWithSource(opencl.context, 1, &source, NULL, &error_code));
	CHECK(clBuildProgram(opencl.program, 1, &opencl.device, "", NULL, NULL));
	return opencl;
}

static inline void opencl_close(struct opencl *opencl)
{
	CHECK(clReleaseProgram(opencl->program));
	CHECK(clReleaseContext(opencl->context));
}

static inline cl_command_queue opencl_queue(const struct opencl *opencl,
					    cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_command_queue queue;

	CREATE(queue, clCreateCommandQueueWithProperties(opencl->context, opencl->device, list,
							 &error_code));
	return queue;
}

static inline cl_mem opencl_buffer(const struct opencl *opencl, size_t size)
{
	cl_mem buffer;

	CREATE(buffer, clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, size, NULL, &error_code));
	return buffer;
}

static inline cl_kernel opencl_kernel(const struct opencl *opencl, const char *name)
{
	cl_kernel kernel;

	CREATE(kernel, clCreateKernel(opencl->program, name, &error_code));
	return kernel;
}
