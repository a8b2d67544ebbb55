/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What nvcc 13 makes of
 *
 *	scale<<<grid, block>>>(values, factor, count);
 *
 * written out in C: registration of the device code before main, a handle fetched once, launches
 * by handle. (clang, as nvcc 12 and older, calls cudaLaunchKernel with the stub's address.)
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(error_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static const unsigned char scale_fatbin[] __attribute__((aligned(16), section(".nv_fatbin"))) = {
#include "scale.fatbin.inc"
};

static struct {
	uint32_t magic, version;
	const void *data;
	void *unused;
} wrapper __attribute__((section(".nvFatBinSegment"))) = {0x466243b1, 1, scale_fatbin, NULL};

static void **module;

/* The host's function that stands for the kernel: its address is the kernel's name, so to speak. */
static void scale(float *values, float factor, int count)
{
	static cudaKernel_t kernel;
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	void *arguments[] = {&values, &factor, &count};

	if (!kernel) {
		kernel = (cudaKernel_t)(uintptr_t)scale;
		CHECK(__cudaGetKernel(&kernel, (const void *)(uintptr_t)scale));
	}
	CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, (void *)&stream));
	CHECK(__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream));
}

static void unregister(void)
{
	__cudaUnregisterFatBinary(module);
}

__attribute__((constructor)) static void register_kernels(void)
{
	module = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(module, (const char *)(uintptr_t)scale, (char *)"scale", "scale", -1,
			       NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(module);
	atexit(unregister);
}

#define COUNT 1000
#define LAUNCHES 3

int main(void)
{
	const dim3 grid = {(COUNT + 127) / 128, 1, 1}, block = {128, 1, 1};
	float values[COUNT], *device;

	for (int i = 0; i < COUNT; i++)
		values[i] = (float)i;
	CHECK(cudaMalloc((void **)&device, sizeof(values)));
	CHECK(cudaMemcpy(device, values, sizeof(values), cudaMemcpyHostToDevice));
	for (int i = 0; i < LAUNCHES; i++) {
		if (__cudaPushCallConfiguration(grid, block, 0, NULL) == 0)
			scale(device, 2, COUNT);
	}
	CHECK(cudaMemcpy(values, device, sizeof(values), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));

	for (int i = 0; i < COUNT; i++) {
		if (values[i] != (float)(i << LAUNCHES)) {
			printf("newlaunch: wrong: value %d is %g, not %d\n", i, values[i],
			       i << LAUNCHES);
			return 1;
		}
	}
	printf("newlaunch: %d products after %d launches are right\n", COUNT, LAUNCHES);
	return 0;
}
