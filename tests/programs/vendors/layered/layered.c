/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls OpenCL: one buffer is released and one is not, and a kernel is launched. */
#include "../vendors.h"

int main(void)
{
	const size_t global = 64, local = 16;
	const char name[] = "scale"; /* in memory that was written: probes read no other page */
	void *first = clCreateBuffer(NULL, 0, 1024, NULL, NULL);
	void *kernel = clCreateKernel(NULL, name, NULL);

	clCreateBuffer(NULL, 0, 4096, NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(first), &first);
	clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
	return clReleaseMemObject(first);
}
