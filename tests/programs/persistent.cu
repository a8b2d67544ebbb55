/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * persistent: a kernel of 64 threads that runs until the host sets a flag, which it does at the end
 * of standard input. Prints "running" once the kernel loops, and "stopped" at the end.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "persistent: line %d: %s\n", __LINE__,                     \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* words: the flag of the host; whether a thread has looped. */
__global__ void spin(volatile unsigned *words)
{
	while (!words[0])
		words[1] = 1;
}

int main(void)
{
	unsigned *words, *on_device;

	CHECK(cudaHostAlloc((void **)&words, 4096, cudaHostAllocMapped));
	CHECK(cudaHostGetDevicePointer((void **)&on_device, words, 0));
	words[0] = words[1] = 0;
	spin<<<2, 32>>>(on_device);
	CHECK(cudaGetLastError());
	while (!*(volatile unsigned *)&words[1])
		;
	printf("running\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	*(volatile unsigned *)&words[0] = 1;
	CHECK(cudaDeviceSynchronize());
	printf("stopped\n");
	return 0;
}
