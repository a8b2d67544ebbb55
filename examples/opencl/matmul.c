/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multiplies two matrices of 128 x 128 with OpenCL: groups of 16 x 16 work-items copy tiles to
 * local memory. The matrices are mapped, not copied.
 */
#include "opencl.h"

enum { SIZE = 128, TILE = 16 };

static const char source[] =
	"__kernel void multiply(__global const float *a, __global const float *b,\n"
	"                       __global float *product, int size,\n"
	"                       __local float *tile_a, __local float *tile_b)\n"
	"{\n"
	"	int x = get_local_id(0), y = get_local_id(1), width = get_local_size(0);\n"
	"	int column = get_global_id(0), row = get_global_id(1);\n"
	"	float sum = 0;\n"
	"\n"
	"	for (int first = 0; first < size; first += width) {\n"
	"		tile_a[y * width + x] = a[row * size + first + x];\n"
	"		tile_b[y * width + x] = b[(first + y) * size + column];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (int i = 0; i < width; i++)\n"
	"			sum += tile_a[y * width + i] * tile_b[i * width + x];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	product[row * size + column] = sum;\n"
	"}\n";

static float *map_matrix(cl_command_queue queue, cl_mem matrix, cl_map_flags flags)
{
	float *mapped;

	CREATE(mapped, clEnqueueMapBuffer(queue, matrix, CL_TRUE, flags, 0,
					  SIZE * SIZE * sizeof(float), 0, NULL, NULL, &error_code));
	return mapped;
}

/* The element of a row and column is `row`, or 1 in the other matrix: each sum is SIZE * row. */
static void fill_matrix(cl_command_queue queue, cl_mem matrix, int ones)
{
	float *values = map_matrix(queue, matrix, CL_MAP_WRITE_INVALIDATE_REGION);

	for (int row = 0; row < SIZE; row++)
		for (int column = 0; column < SIZE; column++)
			values[row * SIZE + column] = ones ? 1.0F : (float)row;
	CHECK(clEnqueueUnmapMemObject(queue, matrix, values, 0, NULL, NULL));
}

int main(void)
{
	struct opencl opencl = opencl_open(source);
	cl_command_queue queue = opencl_queue(&opencl, 0);
	const size_t bytes = (size_t)SIZE * SIZE * sizeof(float);
	cl_mem a = opencl_buffer(&opencl, bytes), b = opencl_buffer(&opencl, bytes);
	cl_mem product = opencl_buffer(&opencl, bytes);
	cl_kernel multiply = opencl_kernel(&opencl, "multiply");
	const size_t global[] = {SIZE, SIZE}, local[] = {TILE, TILE};
	const cl_int size = SIZE;
	const float *values;
	int wrong = 0;

	fill_matrix(queue, a, 0);
	fill_matrix(queue, b, 1);
	CHECK(clSetKernelArg(multiply, 0, sizeof(a), &a));
	CHECK(clSetKernelArg(multiply, 1, sizeof(b), &b));
	CHECK(clSetKernelArg(multiply, 2, sizeof(product), &product));
	CHECK(clSetKernelArg(multiply, 3, sizeof(size), &size));
	CHECK(clSetKernelArg(multiply, 4, TILE * TILE * sizeof(float), NULL));
	CHECK(clSetKernelArg(multiply, 5, TILE * TILE * sizeof(float), NULL));
	CHECK(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, local, 0, NULL, NULL));
	values = map_matrix(queue, product, CL_MAP_READ);
	for (int row = 0; row < SIZE; row++)
		for (int column = 0; column < SIZE; column++)
			wrong += values[row * SIZE + column] != (float)(SIZE * row);
	CHECK(clEnqueueUnmapMemObject(queue, product, (void *)values, 0, NULL, NULL));
	CHECK(clFinish(queue));
	printf("%d elements are wrong\n", wrong);
	CHECK(clReleaseKernel(multiply));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
	CHECK(clReleaseMemObject(product));
	CHECK(clReleaseCommandQueue(queue));
	opencl_close(&opencl);
	return wrong != 0;
}
