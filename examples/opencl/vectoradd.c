/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds two vectors with OpenCL. It makes 3 buffers of 1 MiB, 2 writes, 1 launch of 262144
 * work-items in groups of 256, 1 read, and releases the buffers; no call fails.
 */
#include "opencl.h"

enum { COUNT = 256 * 1024 };

static const char source[] = "__kernel void add(__global const float *a, __global const float *b,\n"
			     "                  __global float *sum, int count)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "\n"
			     "	if (i < count)\n"
			     "		sum[i] = a[i] + b[i];\n"
			     "}\n";

int main(void)
{
	static float a[COUNT], b[COUNT], sum[COUNT];
	struct opencl opencl = opencl_open(source);
	cl_command_queue queue = opencl_queue(&opencl, 0);
	cl_mem device_a = opencl_buffer(&opencl, sizeof(a));
	cl_mem device_b = opencl_buffer(&opencl, sizeof(b));
	cl_mem device_sum = opencl_buffer(&opencl, sizeof(sum));
	cl_kernel add = opencl_kernel(&opencl, "add");
	const size_t global = COUNT, local = 256;
	const cl_int count = COUNT;

	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i * 0.5F;
		b[i] = (float)i * 2.0F;
	}
	CHECK(clEnqueueWriteBuffer(queue, device_a, CL_TRUE, 0, sizeof(a), a, 0, NULL, NULL));
	CHECK(clEnqueueWriteBuffer(queue, device_b, CL_TRUE, 0, sizeof(b), b, 0, NULL, NULL));
	CHECK(clSetKernelArg(add, 0, sizeof(cl_mem), &device_a));
	CHECK(clSetKernelArg(add, 1, sizeof(cl_mem), &device_b));
	CHECK(clSetKernelArg(add, 2, sizeof(cl_mem), &device_sum));
	CHECK(clSetKernelArg(add, 3, sizeof(count), &count));
	CHECK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &global, &local, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, device_sum, CL_TRUE, 0, sizeof(sum), sum, 0, NULL, NULL));
	CHECK(clFinish(queue));
	for (int i = 0; i < COUNT; i++) {
		if (sum[i] != (float)i * 2.5F) {
			fprintf(stderr, "sum[%d] is %f\n", i, (double)sum[i]);
			return 1;
		}
	}
	printf("%d sums are right\n", COUNT);
	CHECK(clReleaseKernel(add));
	CHECK(clReleaseMemObject(device_a));
	CHECK(clReleaseMemObject(device_b));
	CHECK(clReleaseMemObject(device_sum));
	CHECK(clReleaseCommandQueue(queue));
	opencl_close(&opencl);
	return 0;
}
