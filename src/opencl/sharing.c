/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "opencl/sharing.h"

#include <stdint.h>
#include <stdlib.h>

enum {
	PAGE = 4096, /* so that drivers need no copy of the buffer */
};

static const char kernel_name[] = "gputap_sharing";
static const char source[] =
	"__kernel void gputap_sharing(__global ulong *at) { *at = (ulong)at; }";

/* What a check creates; NULL: not yet. */
struct check {
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;
	cl_program program;
	cl_kernel kernel;
};

static void release_check(const struct gt_cl_sharing_calls *call, const struct check *check)
{
	if (check->kernel)
		call->clReleaseKernel(check->kernel);
	if (check->program)
		call->clReleaseProgram(check->program);
	if (check->buffer)
		call->clReleaseMemObject(check->buffer);
	if (check->queue)
		call->clReleaseCommandQueue(check->queue);
	if (check->context)
		call->clReleaseContext(check->context);
}

/* False: something of it could not be created. */
static bool create_check(const struct gt_cl_sharing_calls *call, cl_device_id device, void *memory,
			 struct check *check)
{
	const char *text = source;
	cl_int error;

	check->context = call->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (check->context)
		check->queue = call->clCreateCommandQueue(check->context, device, 0, &error);
	if (check->queue)
		check->buffer = call->clCreateBuffer(check->context,
						     CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, PAGE,
						     memory, &error);
	if (check->buffer)
		check->program =
			call->clCreateProgramWithSource(check->context, 1, &text, NULL, &error);
	if (check->program && !call->clBuildProgram(check->program, 1, &device, "", NULL, NULL))
		check->kernel = call->clCreateKernel(check->program, kernel_name, &error);
	return check->kernel;
}

static bool run_check(const struct gt_cl_sharing_calls *call, const struct check *check,
		      const volatile uint64_t *memory)
{
	const size_t one = 1;

	return !call->clSetKernelArg(check->kernel, 0, sizeof(check->buffer), &check->buffer) &&
	       !call->clEnqueueNDRangeKernel(check->queue, check->kernel, 1, NULL, &one, &one, 0,
					     NULL, NULL) &&
	       !call->clFinish(check->queue) && *memory == (uintptr_t)memory;
}

static bool has_system_memory(const struct gt_cl_sharing_calls *call, cl_device_id device)
{
	cl_device_svm_capabilities svm = 0;

	return !call->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm,
				      NULL) &&
	       svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
}

static bool is_cpu(const struct gt_cl_sharing_calls *call, cl_device_id device)
{
	cl_device_type type = 0;

	return !call->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) &&
	       type & CL_DEVICE_TYPE_CPU;
}

bool gt_cl_shares_memory(const struct gt_cl_sharing_calls *call, cl_device_id device)
{
	struct check check = {0};
	uint64_t *memory;
	bool shares;

	if (has_system_memory(call, device))
		return true;
	if (!is_cpu(call, device))
		return false;
	memory = aligned_alloc(PAGE, PAGE);
	if (!memory)
		return false;
	*memory = 0;
	shares = create_check(call, device, memory, &check) && run_check(call, &check, memory);
	release_check(call, &check);
	free(memory);
	return shares;
}
