/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handles COUNT: launches a kernel COUNT times, each from main, as nvcc 13's code does, which is
 * C++: the names by which gputap knows its parts are given here.
 *
 *	main → scale(…) → __device_stub__Z5scalePffi(…) → __cudaLaunchKernel_helper(…)
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define NOINLINE __attribute__((noinline))

static const unsigned char scale_fatbin[] __attribute__((aligned(16), section(".nv_fatbin"))) = {
#include "scale.fatbin.inc"
};

static struct {
	uint32_t magic, version;
	const void *data;
	void *unused;
} wrapper __attribute__((section(".nvFatBinSegment"))) = {0x466243b1, 1, scale_fatbin, NULL};

static void **module;

void scale(float *values, float factor, int count);
void stub(float *values, float factor, int count) __asm__("_Z26__device_stub__Z5scalePffiPffi");
cudaError_t helper(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
		   cudaStream_t stream) __asm__("_Z25__cudaLaunchKernel_helperP9CUkern_st4dim3S1_"
						"PPvmP11CUstream_st");

NOINLINE cudaError_t helper(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
			    size_t shared, cudaStream_t stream)
{
	cudaError_t error = __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);

	__asm__ volatile("" : "+r"(error)); /* a call, not a jump */
	return error;
}

NOINLINE void stub(float *values, float factor, int count)
{
	static cudaKernel_t handle __asm__("_ZZ26__device_stub__Z5scalePffiPffiE8__handle");
	void *arguments[] = {&values, &factor, &count};
	cudaStream_t stream;
	dim3 grid, block;
	size_t shared;

	if (!handle)
		CHECK(__cudaGetKernel(&handle, (const void *)(uintptr_t)scale));
	CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, (void *)&stream));
	CHECK(helper(handle, grid, block, arguments, shared, stream));
}

NOINLINE void scale(float *values, float factor, int count)
{
	stub(values, factor, count);
	__asm__ volatile("");
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

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	dim3 one = {1, 1, 1};
	float *values;

	CHECK(cudaMalloc((void **)&values, 4096));
	for (int i = 0; i < count; i++) {
		CHECK((cudaError_t)__cudaPushCallConfiguration(one, one, 0, NULL));
		scale(values, 2, 1);
		if (i) /* it runs until it was seen */
			usleep(1000);
	}
	CHECK(cudaFree(values));
	return 0;
}
