/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One command of OpenCL of each kind, in a queue with profiling, or without (argument `plain`): 4
 * kernels, 2 of them by clCreateKernelsInProgram, one native; 16 copies, maps and unmaps; 3 fills.
 * One more fails. The program prints "right" if the results are.
 *
 * Argument `names`: 2 * ROUNDS new kernels instead, each launched as soon as it exists.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "opencl.h"

enum { SIZE = 4096, WIDTH = 16, HEIGHT = 8, PIXEL = 16, ROUNDS = 300 };

static const char source[] = "__kernel void add(__global int *values, int number)\n"
			     "{\n"
			     "	values[get_global_id(0)] += number;\n"
			     "}\n"
			     "__kernel void negate(__global int *values)\n"
			     "{\n"
			     "	values[0] = -values[0];\n"
			     "}\n";

static struct opencl opencl;
static cl_command_queue queue;
static cl_mem buffer, other;

static cl_mem make_image(void)
{
	const cl_image_format format = {CL_RGBA, CL_FLOAT};
	const cl_image_desc shape = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
	cl_mem image;

	CREATE(image, clCreateImage(opencl.context, CL_MEM_READ_WRITE, &format, &shape, NULL,
				    &error_code));
	return image;
}

/* 9 commands. */
static bool use_buffers(void)
{
	static int values[SIZE / sizeof(int)], rows[4][4];
	const size_t origin[3] = {0}, region[3] = {16, 4, 1};
	const int seven = 7;
	cl_event written;
	int *mapped;

	CHECK(clEnqueueFillBuffer(queue, buffer, &seven, sizeof(seven), 0, SIZE, 0, NULL, NULL));
	CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, SIZE, values, 0, NULL, &written));
	CHECK(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 1024, 1, &written, NULL));
	CHECK(clReleaseEvent(written));
	CHECK(clEnqueueReadBufferRect(queue, other, CL_FALSE, origin, origin, region, 64, 0, 16, 0,
				      rows, 0, NULL, NULL));
	CHECK(clEnqueueWriteBufferRect(queue, other, CL_TRUE, origin, origin, region, 64, 0, 16, 0,
				       rows, 0, NULL, NULL));
	CHECK(clEnqueueCopyBufferRect(queue, other, buffer, origin, origin, region, 64, 0, 64, 0, 0,
				      NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, 2048, values, 0, NULL, NULL));
	CREATE(mapped, clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 512, 256, 0, NULL,
					  NULL, &error_code));
	mapped[0] = 8;
	CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	/* Beyond the end. */
	return values[255] == 7 && !values[256] && rows[3][3] == 7 &&
	       clEnqueueReadBuffer(queue, other, CL_TRUE, 0, SIZE + 1, values, 0, NULL, NULL);
}

/* 8 commands. */
static bool use_images(void)
{
	static cl_float4 pixels[HEIGHT][WIDTH];
	const cl_float4 color = {{1, 2, 3, 4}};
	const size_t origin[3] = {0}, whole[3] = {WIDTH, HEIGHT, 1}, part[3] = {8, 4, 1};
	cl_mem image = make_image(), copy = make_image();
	size_t row;
	cl_float4 *mapped;
	float seen;

	CHECK(clEnqueueFillImage(queue, image, &color, origin, whole, 0, NULL, NULL));
	CHECK(clEnqueueWriteImage(queue, copy, CL_FALSE, origin, whole, 0, 0, pixels, 0, NULL,
				  NULL));
	CHECK(clEnqueueCopyImage(queue, image, copy, origin, origin, part, 0, NULL, NULL));
	CHECK(clEnqueueReadImage(queue, copy, CL_TRUE, origin, part, 0, 0, pixels, 0, NULL, NULL));
	CHECK(clEnqueueCopyImageToBuffer(queue, copy, other, origin, part, 1024, 0, NULL, NULL));
	CHECK(clEnqueueCopyBufferToImage(queue, other, image, 1024, origin, part, 0, NULL, NULL));
	CREATE(mapped, clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, origin, part, &row,
					 NULL, 0, NULL, NULL, &error_code));
	seen = mapped[0].s[3];
	CHECK(clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL));
	CHECK(clReleaseMemObject(image));
	CHECK(clReleaseMemObject(copy));
	return seen == 4 && pixels[0][0].s[1] == 2;
}

static void CL_CALLBACK set_value(void *value)
{
	**(int **)value = 5;
}

/* 4 commands. The first one waits for an event of the program. */
static bool use_kernels(void)
{
	static int value;
	const size_t global = 64, local = 16;
	const cl_int number = 3;
	void *address = &value;
	cl_kernel kernels[2], add = opencl_kernel(&opencl, "add");
	cl_event start;

	CREATE(start, clCreateUserEvent(opencl.context, &error_code));
	CHECK(clSetKernelArg(add, 0, sizeof(buffer), &buffer));
	CHECK(clSetKernelArg(add, 1, sizeof(number), &number));
	CHECK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &global, &local, 1, &start, NULL));
	CHECK(clSetUserEventStatus(start, CL_COMPLETE));
	CHECK(clReleaseEvent(start));
	CHECK(clReleaseKernel(add));
	CHECK(clCreateKernelsInProgram(opencl.program, 2, kernels, NULL));
	for (int i = 0; i < 2; i++) {
		const size_t one = 1;

		CHECK(clSetKernelArg(kernels[i], 0, sizeof(buffer), &buffer));
		/* One of them has an argument. */
		clSetKernelArg(kernels[i], 1, sizeof(number), &number);
		CHECK(clEnqueueNDRangeKernel(queue, kernels[i], 1, NULL, &one, &one, 0, NULL,
					     NULL));
		CHECK(clReleaseKernel(kernels[i]));
	}
	CHECK(clEnqueueNativeKernel(queue, set_value, &address, sizeof(address), 0, NULL, NULL, 0,
				    NULL, NULL));
	CHECK(clFinish(queue));
	return value == 5;
}

/* 2 commands. */
static bool use_shared_memory(void)
{
	static int values[256];
	const int nine = 9;
	int *shared = clSVMAlloc(opencl.context, CL_MEM_READ_WRITE, sizeof(values), 0);

	if (!shared)
		return false;
	CHECK(clEnqueueSVMMemFill(queue, shared, &nine, sizeof(nine), sizeof(values), 0, NULL,
				  NULL));
	CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, values, shared, sizeof(values), 0, NULL, NULL));
	clSVMFree(opencl.context, shared);
	return values[255] == 9;
}

static void launch_new_kernels(void)
{
	static cl_kernel kernels[ROUNDS][2];
	const size_t one = 1;
	const int number = 3;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(clCreateKernelsInProgram(opencl.program, 2, kernels[i], NULL));
		for (int j = 0; j < 2; j++) {
			clSetKernelArg(kernels[i][j], 0, sizeof(buffer), &buffer);
			clSetKernelArg(kernels[i][j], 1, sizeof(number), &number);
			CHECK(clEnqueueNDRangeKernel(queue, kernels[i][j], 1, NULL, &one, &one, 0,
						     NULL, NULL));
		}
		/* Over many of gputap's turns. */
		usleep(1000);
	}
	CHECK(clFinish(queue));
	/* Not before: handles would be used again. */
	for (int i = 0; i < ROUNDS; i++)
		for (int j = 0; j < 2; j++)
			CHECK(clReleaseKernel(kernels[i][j]));
}

static bool use_all(void)
{
	bool right = use_buffers();

	right = use_images() && right;
	right = use_kernels() && right;
	return use_shared_memory() && right;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "";
	bool right = true;

	opencl = opencl_open(source);
	queue = opencl_queue(&opencl, strcmp(mode, "plain") ? CL_QUEUE_PROFILING_ENABLE : 0);
	buffer = opencl_buffer(&opencl, SIZE);
	other = opencl_buffer(&opencl, SIZE);
	if (strcmp(mode, "names"))
		right = use_all();
	else
		launch_new_kernels();
	puts(right ? "right" : "wrong");
	CHECK(clReleaseMemObject(buffer));
	CHECK(clReleaseMemObject(other));
	CHECK(clReleaseCommandQueue(queue));
	opencl_close(&opencl);
	return !right;
}
