/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of HIP, Level Zero and OpenCL that the stand-ins have, as their headers declare
 * them. */
#pragma once

#include <stddef.h>

struct dim3 {
	unsigned x, y, z;
};

/* hipKernelNodeParams */
struct hip_kernel_node {
	struct dim3 block;
	void **extra;
	const void *function;
	struct dim3 grid;
	void **values;
	unsigned shared;
};

/* hipLaunchParams */
struct hip_launch {
	const void *function;
	struct dim3 grid, block;
	void **arguments;
	size_t shared;
	void *stream;
};

struct ze_kernel_desc {
	int type;
	const void *next;
	unsigned flags;
	const char *name;
};

#define HIP_EXT_LAUNCH                                                                             \
	"_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_"            \
	"P11ihipEvent_tS6_j"

#pragma GCC visibility push(default)

int hipGetDeviceCount(int *count);
int hipRuntimeGetVersion(int *version);
int hipMalloc(void **pointer, size_t size);
int hipFree(void *pointer);
int hipMemcpy(void *target, const void *source, size_t size, int kind);
void __hipRegisterFunction(void **modules, const void *function, char *device, const char *name,
			   unsigned limit, void *tid, void *bid, void *block, void *grid,
			   int *size);
int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, void *stream);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipMemcpyAsync(void *target, const void *source, size_t size, int kind, void *stream);
int hipStreamCreate(void **stream);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamEndCapture(void *stream, void **graph);
int hipGraphCreate(void **graph, unsigned flags);
int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after, size_t count,
			    void *target, const void *source, size_t size, int kind);
int hipGraphAddKernelNode(void **node, void *graph, void *const *after, size_t count,
			  const struct hip_kernel_node *kernel);
int hipGraphInstantiate(void **executable, void *graph, void **node, char *log, size_t size);
int hipGraphLaunch(void *executable, void *stream);
/* Its name is mangled: it is a function of C++. */
int hip_ext_launch(void *function, unsigned threads_x, unsigned threads_y, unsigned threads_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, size_t shared,
		   void *stream, void **arguments, void **extra, void *start, void *stop,
		   unsigned flags) __asm__(HIP_EXT_LAUNCH);
int hipExtLaunchMultiKernelMultiDevice(struct hip_launch *launches, int devices, unsigned flags);

int zeInit(unsigned flags);
int zeMemAllocDevice(void *context, const void *description, size_t size, size_t alignment,
		     void *device, void **pointer);
int zeMemAllocHost(void *context, const void *description, size_t size, size_t alignment,
		   void **pointer);
int zeMemAllocShared(void *context, const void *of_device, const void *of_host, size_t size,
		     size_t alignment, void *device, void **pointer);
int zeMemFree(void *context, void *pointer);
int zeCommandListCreate(void *context, void *device, const void *description, void **ret_list);
int zeKernelCreate(void *module, const struct ze_kernel_desc *description, void **ret_kernel);
int zeKernelSetGroupSize(void *kernel, unsigned x, unsigned y, unsigned z);
int zeKernelSetArgumentValue(void *kernel, unsigned index, size_t size, const void *value);
int zeCommandListAppendMemoryCopy(void *of, void *target, const void *source, size_t size,
				  void *signal, unsigned count, void **waits);
int zeCommandListAppendLaunchKernel(void *of, void *launched, const unsigned groups[3],
				    void *signal, unsigned count, void **waits);

int clGetPlatformIDs(unsigned count, void **platforms, unsigned *ret_count);
int clGetPlatformInfo(void *platform, unsigned name, size_t size, void *value, size_t *ret_size);
int clGetDeviceIDs(void *platform, unsigned long type, unsigned count, void **devices,
		   unsigned *ret_count);
int clGetDeviceInfo(void *device, unsigned name, size_t size, void *value, size_t *ret_size);
void *clCreateBuffer(void *context, unsigned long flags, size_t size, void *host, int *ret_error);
int clReleaseMemObject(void *buffer);
void *clCreateKernel(void *program, const char *name, int *ret_error);
int clSetKernelArg(void *of, unsigned index, size_t size, const void *value);
int clEnqueueNDRangeKernel(void *queue, void *launched, unsigned dimensions, const size_t *offset,
			   const size_t *global, const size_t *local, unsigned count,
			   void *const *list, void **event);

#pragma GCC visibility pop
