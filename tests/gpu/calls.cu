/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* calls COUNT: a kernel of one thread that stores COUNT times. Prints what it stored last. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void store_often(volatile int *word, int count)
{
	for (int i = 1; i <= count; i++)
		*word = i;
}

int main(int count, char **words)
{
	int *device, last = 0;
	cudaError_t error = cudaMalloc(&device, sizeof(*device));

	if (error == cudaSuccess) {
		store_often<<<1, 1>>>(device, count > 1 ? atoi(words[1]) : 20000);
		error = cudaMemcpy(&last, device, sizeof(last), cudaMemcpyDeviceToHost);
	}
	printf("calls: %d, %s\n", last, cudaGetErrorName(error));
	return error != cudaSuccess;
}
