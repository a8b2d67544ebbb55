/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of OpenCL that fail, memory that is not released, and calls of CUDA between them. With an
 * argument `cuda` it only makes one of these each, in turn: cudaMalloc, clCreateBuffer, clRelease…,
 * cudaFree. With `svm` it allocates shared virtual memory, of which 512 bytes are not freed.
 */
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static cl_context open_context(void)
{
	cl_platform_id platform;
	cl_device_id device;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return NULL;
	return clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
}

static int call_both(cl_context context)
{
	void *cuda = dlopen("libcudart.so.13", RTLD_NOW), *memory = NULL;
	int (*allocate)(void **, size_t), (*release)(void *);
	cl_mem buffer;

	if (!cuda) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&allocate = dlsym(cuda, "cudaMalloc");
	*(void **)&release = dlsym(cuda, "cudaFree");
	if (!allocate || !release || allocate(&memory, 4096))
		return 1;
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 8192, NULL, NULL);
	clReleaseMemObject(buffer);
	return release(memory);
}

/* Memory that is freed at once, by a queue, and not. */
static int use_svm(cl_context context)
{
	cl_device_id device;
	cl_command_queue queue;
	void *once, *queued[2];

	if (clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL))
		return 1;
	queue = clCreateCommandQueue(context, device, 0, NULL);
	once = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	queued[0] = clSVMAlloc(context, CL_MEM_READ_WRITE, 1024, 0);
	queued[1] = clSVMAlloc(context, CL_MEM_READ_WRITE, 2048, 0);
	if (!once || !queued[0] || !queued[1] || !clSVMAlloc(context, CL_MEM_READ_WRITE, 512, 0))
		return 1;
	clSVMFree(context, once);
	return clEnqueueSVMFree(queue, 2, queued, NULL, NULL, 0, NULL, NULL) || clFinish(queue);
}

int main(int count, char **arguments)
{
	cl_context context = open_context();
	cl_int error = 0;
	const cl_buffer_region half = {0, 2048};
	cl_mem kept, shared, part;

	if (!context)
		return 1;
	if (count > 1 && !strcmp(arguments[1], "cuda"))
		return call_both(context);
	if (count > 1 && !strcmp(arguments[1], "svm"))
		return use_svm(context);
	clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &error);
	printf("%d\n", error);
	clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, NULL);
	clReleaseMemObject(NULL);
	kept = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, 4096, NULL,
			      &error);
	shared = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, &error);
	/* Two references: the first release frees nothing. */
	clRetainMemObject(kept);
	clReleaseMemObject(kept);
	part = clCreateSubBuffer(kept, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
	clReleaseMemObject(part);
	clRetainMemObject(shared);
	clReleaseMemObject(shared);
	clReleaseMemObject(shared);
	return error;
}
