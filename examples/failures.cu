/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes CUDA calls fail as they fail in programs, and checks the error of each. Calls
 * that return an error, in this order:
 *
 *	the launch		cudaErrorInvalidConfiguration	9
 *	cudaGetLastError	cudaErrorInvalidConfiguration	9
 *	cudaFree		cudaErrorInvalidValue		1	of freed memory
 *	cudaFree		cudaErrorInvalidValue		1	of a pointer from nowhere
 *	cudaMalloc		cudaErrorMemoryAllocation	2
 *	cudaSetDevice		cudaErrorInvalidDevice		101
 *	cudaDeviceSynchronize	cudaErrorIllegalAddress		700
 *	cudaMalloc		cudaErrorIllegalAddress		700
 *
 * 8 in all; of 3 cudaMalloc calls 2 fail, of 3 cudaFree calls 2, of 2 launches 1.
 */
#include "check.h"

#include <cuda_runtime.h>

static int wrong;

static void expect(const char *what, cudaError_t got, cudaError_t expected)
{
	if (got != expected)
		wrong++;
	printf("failures: %s: %s%s\n", what, cudaGetErrorName(got),
	       got == expected ? "" : " (wrong)");
}

__global__ void store(int *address)
{
	*address = 1;
}

int main()
{
	void *memory;

	CHECK(cudaMalloc(&memory, 1024));

	/* A block has 1024 threads at most. The launch itself returns no error: cudaGetLastError
	 * does. */
	store<<<1, 2048>>>((int *)memory);
	expect("2048 threads in a block", cudaGetLastError(), cudaErrorInvalidConfiguration);

	CHECK(cudaFree(memory));
	expect("memory freed twice", cudaFree(memory), cudaErrorInvalidValue);
	expect("a pointer from nowhere freed", cudaFree((void *)0x12345678), cudaErrorInvalidValue);
	expect("1 PiB of memory", cudaMalloc(&memory, (size_t)1 << 50), cudaErrorMemoryAllocation);
	expect("device 1000", cudaSetDevice(1000), cudaErrorInvalidDevice);

	/*
	 * A launch returns before its kernel runs: a later call reports the errors of a kernel.
	 * This error sticks: nothing but the end of the process helps, so it comes last.
	 */
	store<<<1, 32>>>((int *)16);
	expect("a store to address 16", cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	expect("a call after that", cudaMalloc(&memory, 1024), cudaErrorIllegalAddress);

	if (wrong)
		printf("failures: %d of 7 errors are wrong\n", wrong);
	else
		printf("failures: 7 errors are right\n");
	return wrong ? 1 : 0;
}
