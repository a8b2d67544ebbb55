/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a kernel through the driver API alone: no CUDA runtime, no compiler but clang. The PTX of
 * scale.cu is a string in this program; the driver compiles it when the module is loaded.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned char scale_ptx[] = {
#include "scale.ptx.inc"
	0};

#define CHECK(call)                                                                                \
	do {                                                                                       \
		CUresult result_ = (call);                                                         \
		if (result_ != CUDA_SUCCESS)                                                       \
			fail(__LINE__, #call, result_);                                            \
	} while (0)

static void fail(int line, const char *call, CUresult result)
{
	const char *text = "an unknown error";

	cuGetErrorString(result, &text);
	fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, line, call, text);
	exit(1);
}

#define COUNT 1000

static void run(CUfunction scale, float *values, float factor)
{
	int count = COUNT;
	CUdeviceptr device;
	void *parameters[] = {&device, &factor, &count};

	CHECK(cuMemAlloc(&device, COUNT * sizeof(*values)));
	CHECK(cuMemcpyHtoD(device, values, COUNT * sizeof(*values)));
	CHECK(cuLaunchKernel(scale, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, parameters,
			     NULL));
	CHECK(cuMemcpyDtoH(values, device, COUNT * sizeof(*values)));
	CHECK(cuMemFree(device));
}

int main(void)
{
	float values[COUNT];
	char name[128];
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction scale;

	for (int i = 0; i < COUNT; i++)
		values[i] = (float)i;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDeviceGetName(name, sizeof(name), device));
	/* The primary context is the one that the runtime API uses, too. */
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, scale_ptx));
	CHECK(cuModuleGetFunction(&scale, module, "scale"));
	run(scale, values, 2.5f);
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));

	for (int i = 0; i < COUNT; i++) {
		if (values[i] != (float)i * 2.5f) {
			printf("driver: wrong: value %d is %g, not %g\n", i, values[i], i * 2.5);
			return 1;
		}
	}
	printf("driver: %d products from '%s' are right\n", COUNT, name);
	return 0;
}
