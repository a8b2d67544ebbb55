/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fixture of the tests of the driver API: a context with the kernels loaded. */
#pragma once

#include <cuda.h>

#include "kernels.h"
#include "tap.h"

/* Return the name of an error, for messages. */
static inline const char *error_name(CUresult result)
{
	const char *name = NULL;

	cuGetErrorName(result, &name);
	return name ? name : "no error of CUDA's";
}

#define CHECK_CUDA(call, expected)                                                                 \
	do {                                                                                       \
		CUresult tap_r = (call), tap_x = (expected);                                       \
		if (tap_r != tap_x)                                                                \
			TAP_FAIL("%s is %s, not %s", #call, error_name(tap_r), error_name(tap_x)); \
	} while (0)
#define CHECK_OK(call) CHECK_CUDA(call, CUDA_SUCCESS)

struct driver {
	CUcontext context;
	CUmodule module;
	CUdeviceptr memory; /* 4096 bytes, zero */
};

static inline CUfunction find(const struct driver *driver, const char *name)
{
	CUfunction function = NULL;

	CHECK_OK(cuModuleGetFunction(&function, driver->module, name));
	return function;
}

static inline struct driver begin(void)
{
	struct driver driver = {0};

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&driver.context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&driver.module, kernels_ptx));
	CHECK_OK(cuMemAlloc(&driver.memory, 4096));
	CHECK_OK(cuMemsetD8(driver.memory, 0, 4096));
	CHECK_OK(cuCtxSynchronize());
	return driver;
}

static inline void end(struct driver *driver)
{
	CHECK_OK(cuCtxDestroy(driver->context));
}

static inline CUresult launch(CUfunction function, unsigned int blocks, unsigned int threads,
			      CUstream stream, void **arguments)
{
	return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

/* Launch count(memory + 4 * index) with one thread. */
static inline CUresult count(const struct driver *driver, unsigned int index, CUstream stream)
{
	CUdeviceptr place = driver->memory + 4 * index;
	void *arguments[] = {&place};

	return launch(find(driver, "count"), 1, 1, stream, arguments);
}

static inline CUresult spin(const struct driver *driver, unsigned int index, unsigned int rounds,
			    CUstream stream)
{
	CUdeviceptr place = driver->memory + 4 * index;
	void *arguments[] = {&place, &rounds};

	return launch(find(driver, "spin"), 1, 1, stream, arguments);
}

/* Launch await(memory + 4 * index, flag) with one thread. */
static inline CUresult await(const struct driver *driver, unsigned int index, const int *flag,
			     CUstream stream)
{
	CUdeviceptr address = driver->memory + 4 * index;
	void *arguments[] = {&address, &flag};

	return launch(find(driver, "await"), 1, 1, stream, arguments);
}

/* Return the int at memory + 4 * index after all work is done. */
static inline int value(const struct driver *driver, unsigned int index)
{
	int found = -1;

	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuMemcpyDtoH(&found, driver->memory + 4 * index, 4));
	return found;
}
