/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stand-in for an OpenCL library that uses Level Zero: its functions succeed and do nothing. */
#include "vendors.h"

static char kernel;

void *clCreateBuffer(void *context, unsigned long flags, size_t size, void *host, int *ret_error)
{
	void *memory;
	int error = zeMemAllocDevice(context, NULL, size, 64, NULL, &memory);
	static char buffers[16];
	static int count;

	if (ret_error)
		*ret_error = error;
	return &buffers[count++];
}

int clReleaseMemObject(void *buffer)
{
	return zeMemFree(NULL, buffer);
}

void *clCreateKernel(void *program, const char *name, int *ret_error)
{
	const struct ze_kernel_desc description = {.name = name};
	void *below;
	int error = zeKernelCreate(program, &description, &below);

	if (ret_error)
		*ret_error = error;
	return &kernel;
}

int clSetKernelArg(void *of, unsigned index, size_t size, const void *value)
{
	return 0;
}

int clEnqueueNDRangeKernel(void *queue, void *launched, unsigned dimensions, const size_t *offset,
			   const size_t *global, const size_t *local, unsigned count,
			   void *const *list, void **event)
{
	const unsigned groups[3] = {(unsigned)(*global / *local), 1, 1};

	return zeCommandListAppendLaunchKernel(queue, launched, groups, NULL, 0, NULL);
}
