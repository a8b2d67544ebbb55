/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scales a vector with threads that share the work badly: 5 threads, of which each takes a chunk of
 * 210,527 of the 1,000,000 elements, so that what remains for the last one is 157,892, 75 % of the
 * others' work. `gputap threadhist` shows it.
 */
#include "check.h"

#include <cuda_runtime.h>

#include <vector>

__global__ void scale_chunks(float *values, int count, int chunk)
{
	int first = threadIdx.x * chunk, end = first + chunk < count ? first + chunk : count;

	/* One iteration per element: an unrolled loop has fewer. */
#pragma unroll 1
	for (int i = first; i < end; i++)
		values[i] *= 2;
}

int main()
{
	const int count = 1000000, threads = 5, chunk = 210527;
	const size_t size = count * sizeof(float);
	std::vector<float> values(count, 1.5f);
	float *device_values;

	CHECK(cudaMalloc(&device_values, size));
	CHECK(cudaMemcpy(device_values, values.data(), size, cudaMemcpyHostToDevice));
	scale_chunks<<<1, threads>>>(device_values, count, chunk);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(values.data(), device_values, size, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_values));
	for (int i = 0; i < count; i++) {
		if (values[i] != 3) {
			printf("uneven: wrong: value %d is %g, not 3\n", i, values[i]);
			return 1;
		}
	}
	printf("uneven: %d products are right\n", count);
	return 0;
}
