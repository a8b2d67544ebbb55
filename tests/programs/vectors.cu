/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vectors [DEVICE]: launches vectorAdd twice, in 3 blocks of 40 threads for 100 elements, and the
 * kernel `plain`, which has no mangled name, in a block of 10 threads.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "vectors: line %d: %s\n", __LINE__,                        \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	COUNT = 100,
	BLOCKS = 3,
	THREADS = 40,
	PLAIN_THREADS = 10,
};

__constant__ int length;

__global__ void vectorAdd(const float *a, const float *b, float *c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < length)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void plain(float *values)
{
	values[threadIdx.x] += 1;
}

int main(int words, char **word)
{
	const int count = COUNT;
	float a[COUNT], b[COUNT], c[COUNT], *device;
	int wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	if (words > 1)
		CHECK(cudaSetDevice(atoi(word[1])));
	CHECK(cudaMemcpyToSymbol(length, &count, sizeof(count)));
	CHECK(cudaMalloc(&device, 3 * sizeof(a)));
	CHECK(cudaMemcpy(device, a, sizeof(a), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(device + COUNT, b, sizeof(b), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(device + 2 * COUNT, 0, sizeof(c)));
	for (int round = 0; round < 2; round++) {
		vectorAdd<<<BLOCKS, THREADS>>>(device, device + COUNT, device + 2 * COUNT);
		CHECK(cudaGetLastError());
	}
	plain<<<1, PLAIN_THREADS>>>(device);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(c, device + 2 * COUNT, sizeof(c), cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		wrong += c[i] != 3 * i;
	printf("vectors: %d of %d sums are right\n", COUNT - wrong, COUNT);
	CHECK(cudaFree(device));
	return 0;
}
