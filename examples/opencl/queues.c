/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two OpenCL queues that depend on each other by events: one writes and reads, the other, with
 * profiling, runs kernels. The program prints how long the kernels ran.
 */
#include "opencl.h"

enum { COUNT = 16 * 1024, ROUNDS = 4 };

static const char source[] = "__kernel void scale(__global float *values, float factor)\n"
			     "{\n"
			     "	values[get_global_id(0)] *= factor;\n"
			     "}\n";

static cl_ulong profile(cl_event event, cl_profiling_info what)
{
	cl_ulong time;

	CHECK(clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL));
	return time;
}

int main(void)
{
	static float values[COUNT];
	struct opencl opencl = opencl_open(source);
	cl_command_queue copies = opencl_queue(&opencl, 0);
	cl_command_queue kernels = opencl_queue(&opencl, CL_QUEUE_PROFILING_ENABLE);
	cl_mem buffer = opencl_buffer(&opencl, sizeof(values));
	cl_kernel scale = opencl_kernel(&opencl, "scale");
	const size_t global = COUNT, local = 64;
	const cl_float factor = 2;
	cl_ulong total = 0;

	CHECK(clSetKernelArg(scale, 0, sizeof(buffer), &buffer));
	CHECK(clSetKernelArg(scale, 1, sizeof(factor), &factor));
	for (int i = 0; i < COUNT; i++)
		values[i] = 1;
	for (int round = 0; round < ROUNDS; round++) {
		cl_event written, scaled, read;

		CHECK(clEnqueueWriteBuffer(copies, buffer, CL_FALSE, 0, sizeof(values), values, 0,
					   NULL, &written));
		CHECK(clFlush(copies));
		CHECK(clEnqueueNDRangeKernel(kernels, scale, 1, NULL, &global, &local, 1, &written,
					     &scaled));
		CHECK(clFlush(kernels));
		CHECK(clEnqueueReadBuffer(copies, buffer, CL_FALSE, 0, sizeof(values), values, 1,
					  &scaled, &read));
		CHECK(clWaitForEvents(1, &read));
		total += profile(scaled, CL_PROFILING_COMMAND_END) -
			 profile(scaled, CL_PROFILING_COMMAND_START);
		CHECK(clReleaseEvent(written));
		CHECK(clReleaseEvent(scaled));
		CHECK(clReleaseEvent(read));
	}
	printf("%d kernels, %lu ns, %s\n", ROUNDS, (unsigned long)total,
	       values[COUNT - 1] == 16.0F ? "right" : "wrong");
	CHECK(clReleaseKernel(scale));
	CHECK(clReleaseMemObject(buffer));
	CHECK(clReleaseCommandQueue(copies));
	CHECK(clReleaseCommandQueue(kernels));
	opencl_close(&opencl);
	return values[COUNT - 1] != 16.0F;
}
