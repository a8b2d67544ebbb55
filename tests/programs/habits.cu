/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * habits: patterns that are worth a finding, often enough to be reported: 40 allocations in a loop,
 * 30 launches that are waited for one by one, 100 copies of 16 bytes, 5 launches of 8 threads, and
 * an allocation that fails twice and is tried again for less.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "habits: line %d: %s\n", __LINE__,                         \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void count(int *number)
{
	if (threadIdx.x == 0)
		*number += 1;
}

static void allocate_in_loop(void)
{
	for (int i = 0; i < 40; i++) {
		void *memory;

		CHECK(cudaMalloc(&memory, 8192));
		CHECK(cudaFree(memory));
	}
}

static void wait_for_each(int *number)
{
	for (int i = 0; i < 30; i++) {
		count<<<1, 32>>>(number);
		CHECK(cudaDeviceSynchronize());
	}
}

static void copy_little(int *number)
{
	int host[4] = {0, 0, 0, 0};

	for (int i = 0; i < 100; i++)
		CHECK(cudaMemcpy(number, host, sizeof(host), cudaMemcpyHostToDevice));
}

static void launch_small(int *number)
{
	for (int i = 0; i < 5; i++)
		count<<<1, 8>>>(number);
	CHECK(cudaDeviceSynchronize());
}

/* Each half the size of the previous one. */
static void try_again(void)
{
	size_t bytes = (size_t)1 << 50;
	void *memory = NULL;

	for (int i = 0; i < 3 && cudaMalloc(&memory, i == 2 ? 4096 : bytes >> i); i++)
		;
	cudaGetLastError();
	CHECK(cudaFree(memory));
}

int main(void)
{
	int *number;

	CHECK(cudaMalloc(&number, 4096));
	CHECK(cudaMemset(number, 0, 4096));
	allocate_in_loop();
	wait_for_each(number);
	copy_little(number);
	launch_small(number);
	try_again();
	CHECK(cudaFree(number));
	return 0;
}
