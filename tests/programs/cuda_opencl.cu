/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cuda_opencl API…
 *
 * Launches, for each word, a kernel of 64 threads by CUDA ("cuda") or by OpenCL ("opencl"), on its
 * first device, and prints the last number that it computed.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 64,
};

static void expect(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "cuda_opencl: %s failed\n", what);
	exit(1);
}

__global__ void add_index(int *numbers)
{
	numbers[threadIdx.x] += threadIdx.x;
}

static void run_cuda(void)
{
	int numbers[COUNT] = {0}, *memory;

	expect(!cudaMalloc(&memory, sizeof(numbers)), "cudaMalloc");
	expect(!cudaMemcpy(memory, numbers, sizeof(numbers), cudaMemcpyHostToDevice), "cudaMemcpy");
	add_index<<<1, COUNT>>>(memory);
	expect(!cudaMemcpy(numbers, memory, sizeof(numbers), cudaMemcpyDeviceToHost), "the kernel");
	printf("cuda %d\n", numbers[COUNT - 1]);
}

static const char *source = "__kernel void triple(__global int *numbers)"
			    "{ numbers[get_global_id(0)] *= 3; }";

static cl_kernel build_kernel(cl_context context, cl_device_id device)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	cl_kernel kernel;

	expect(!error, "clCreateProgramWithSource");
	expect(!clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "triple", &error);
	expect(!error, "clCreateKernel");
	return kernel;
}

static void run_opencl(void)
{
	const size_t count = COUNT;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem memory;
	cl_int error;
	int numbers[COUNT];

	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	expect(!clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	expect(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	expect(!error, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &error);
	expect(!error, "clCreateCommandQueue");
	kernel = build_kernel(context, device);
	memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(numbers), numbers, &error);
	expect(!error, "clCreateBuffer");
	clSetKernelArg(kernel, 0, sizeof(memory), &memory);
	expect(!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL),
	       "clEnqueueNDRangeKernel");
	expect(!clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
				    NULL),
	       "the kernel");
	printf("opencl %d\n", numbers[COUNT - 1]);
}

int main(int count, char **arguments)
{
	for (int i = 1; i < count; i++)
		if (strcmp(arguments[i], "cuda"))
			run_opencl();
		else
			run_cuda();
	return 0;
}
