/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches 16 kernels at once into one stream, of which each takes longer than a launch: each waits
 * for those before it, and the last one the longest. `gputap launchlate` shows it.
 */
#include "check.h"

#include <cuda_runtime.h>

__global__ void step(unsigned *value, int rounds)
{
	unsigned next = *value;

	for (int i = 0; i < rounds; i++)
		next = next * 1664525 + 1013904223;
	*value = next;
}

int main()
{
	const int launches = 16, rounds = 100000;
	unsigned value = 1, expected = 1, *device_value;

	CHECK(cudaMalloc(&device_value, sizeof(value)));
	CHECK(cudaMemcpy(device_value, &value, sizeof(value), cudaMemcpyHostToDevice));
	for (int i = 0; i < launches; i++) {
		step<<<1, 1>>>(device_value, rounds);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&value, device_value, sizeof(value), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_value));
	for (int i = 0; i < launches * rounds; i++)
		expected = expected * 1664525 + 1013904223;
	if (value != expected) {
		printf("pipeline: wrong: the result is %u, not %u\n", value, expected);
		return 1;
	}
	printf("pipeline: %d launches are right\n", launches);
	return 0;
}
