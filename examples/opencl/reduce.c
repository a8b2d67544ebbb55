/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds the numbers of a vector with OpenCL: groups of 128 work-items add up in local memory, with a
 * barrier after each step. The vector is in shared virtual memory where the device has it.
 */
#include "opencl.h"

enum { COUNT = 64 * 1024, LOCAL = 128, GROUPS = COUNT / LOCAL };

static const char source[] =
	"__kernel void reduce(__global const int *values, __global int *sums, __local int *part)\n"
	"{\n"
	"	int i = get_local_id(0);\n"
	"\n"
	"	part[i] = values[get_global_id(0)];\n"
	"	for (int step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (i < step)\n"
	"			part[i] += part[i + step];\n"
	"	}\n"
	"	if (i == 0)\n"
	"		sums[get_group_id(0)] = part[0];\n"
	"}\n";

int main(void)
{
	struct opencl opencl = opencl_open(source);
	cl_command_queue queue = opencl_queue(&opencl, 0);
	cl_kernel reduce = opencl_kernel(&opencl, "reduce");
	cl_mem sums = opencl_buffer(&opencl, GROUPS * sizeof(cl_int));
	const size_t global = COUNT, local = LOCAL;
	cl_int results[GROUPS], *values;
	long total = 0;

	values = clSVMAlloc(opencl.context, CL_MEM_READ_WRITE, COUNT * sizeof(*values), 0);
	if (!values) {
		fprintf(stderr, "the device has no shared virtual memory\n");
		return 77;
	}
	CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, values, COUNT * sizeof(*values), 0,
			      NULL, NULL));
	for (int i = 0; i < COUNT; i++)
		values[i] = i % 10;
	CHECK(clEnqueueSVMUnmap(queue, values, 0, NULL, NULL));
	CHECK(clSetKernelArgSVMPointer(reduce, 0, values));
	CHECK(clSetKernelArg(reduce, 1, sizeof(sums), &sums));
	CHECK(clSetKernelArg(reduce, 2, LOCAL * sizeof(cl_int), NULL));
	CHECK(clEnqueueNDRangeKernel(queue, reduce, 1, NULL, &global, &local, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, sizeof(results), results, 0, NULL,
				  NULL));
	for (int i = 0; i < GROUPS; i++)
		total += results[i];
	for (int i = 0; i < COUNT; i++)
		total -= i % 10;
	printf("the sum is %s\n", total ? "wrong" : "right");
	clSVMFree(opencl.context, values);
	CHECK(clReleaseKernel(reduce));
	CHECK(clReleaseMemObject(sums));
	CHECK(clReleaseCommandQueue(queue));
	opencl_close(&opencl);
	return total != 0;
}
