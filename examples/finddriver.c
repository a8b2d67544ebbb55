/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds the driver as a statically linked CUDA runtime does: libcuda.so.1 is opened while the
 * program runs, one function is looked up in it, and that one finds all others. A tool that only
 * examines the libraries a program names, or the symbols that it uses, sees nothing here.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned char scale_ptx[] = {
#include "scale.ptx.inc"
	0};

typedef CUresult find_function(const char *name, void **function, int version, cuuint64_t flags,
			       CUdriverProcAddressQueryResult *found);

static find_function *get_proc_address;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "finddriver: %s: %s\n", what, why);
	exit(1);
}

static void *find(const char *name)
{
	CUdriverProcAddressQueryResult found;
	void *function = NULL;

	if (get_proc_address(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found) !=
		    CUDA_SUCCESS ||
	    !function || found != CU_GET_PROC_ADDRESS_SUCCESS)
		fail(name, "the driver does not have it");
	return function;
}

/* The name is given without the version (_v2 …) that cuda.h's macro of that name adds. */
#define CALL(name, ...) check(#name, ((__typeof__(name) *)find(#name))(__VA_ARGS__))

static void check(const char *name, CUresult result)
{
	if (result != CUDA_SUCCESS)
		fail(name, "failed");
}

#define COUNT 1000

static void find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver)
		fail("libcuda.so.1", dlerror());
	get_proc_address = (find_function *)dlsym(driver, "cuGetProcAddress_v2");
	if (!get_proc_address)
		fail("cuGetProcAddress_v2", dlerror());
}

static void run(CUmodule module, float *values, float factor)
{
	int count = COUNT;
	CUfunction scale = NULL;
	CUdeviceptr device = 0;
	void *parameters[] = {&device, &factor, &count};

	CALL(cuModuleGetFunction, &scale, module, "scale");
	CALL(cuMemAlloc, &device, COUNT * sizeof(*values));
	CALL(cuMemcpyHtoD, device, values, COUNT * sizeof(*values));
	CALL(cuLaunchKernel, scale, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, parameters,
	     NULL);
	CALL(cuMemcpyDtoH, values, device, COUNT * sizeof(*values));
	CALL(cuMemFree, device);
}

int main(void)
{
	float values[COUNT];
	CUdevice device = 0;
	CUcontext context = NULL;
	CUmodule module = NULL;

	for (int i = 0; i < COUNT; i++)
		values[i] = (float)i;
	find_driver();
	CALL(cuInit, 0);
	CALL(cuDeviceGet, &device, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, device);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, scale_ptx);
	run(module, values, -3);
	CALL(cuModuleUnload, module);
	CALL(cuDevicePrimaryCtxRelease, device);

	for (int i = 0; i < COUNT; i++) {
		if (values[i] != (float)i * -3) {
			printf("finddriver: wrong: value %d is %g, not %d\n", i, values[i], i * -3);
			return 1;
		}
	}
	printf("finddriver: %d products are right\n", COUNT);
	return 0;
}
