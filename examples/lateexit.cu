/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Smooths a vector whose rows have 32 elements: most threads copy one element and exit, while the
 * last lane of each warp sums the row, a case of the boundary that makes the warp wait
 * for one lane. `gputap kernelretsnoop` shows it. Two launches: 8 blocks of 64 threads, and 3 of
 * 128.
 */
#include "check.h"

#include <cuda_runtime.h>

#include <vector>

__global__ void sum_rows(const float *values, float *copies, float *sums)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	copies[i] = values[i];
	if (i % 32 != 31)
		return;
		/* One addition per iteration: an unrolled loop has fewer. */
#pragma unroll 1
	for (int k = 0; k < 32; k++)
		sum += values[i - k];
	sums[i / 32] = sum;
}

int main()
{
	const int count = 512;
	std::vector<float> values(count), copies(count), sums(count / 32);
	float *device_values, *device_copies, *device_sums;

	for (int i = 0; i < count; i++)
		values[i] = (float)(i % 7);
	CHECK(cudaMalloc(&device_values, count * sizeof(float)));
	CHECK(cudaMalloc(&device_copies, count * sizeof(float)));
	CHECK(cudaMalloc(&device_sums, count / 32 * sizeof(float)));
	CHECK(cudaMemcpy(device_values, values.data(), count * sizeof(float),
			 cudaMemcpyHostToDevice));
	sum_rows<<<8, 64>>>(device_values, device_copies, device_sums);
	CHECK(cudaGetLastError());
	sum_rows<<<3, 128>>>(device_values, device_copies, device_sums);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(copies.data(), device_copies, count * sizeof(float),
			 cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(sums.data(), device_sums, count / 32 * sizeof(float),
			 cudaMemcpyDeviceToHost));
	for (int row = 0; row < count / 32; row++) {
		float sum = 0;

		for (int k = 0; k < 32; k++)
			sum += values[row * 32 + k];
		if (sums[row] != sum || copies[row * 32] != values[row * 32]) {
			printf("lateexit: wrong: row %d has the sum %g, not %g\n", row, sums[row],
			       sum);
			return 1;
		}
	}
	CHECK(cudaFree(device_values));
	CHECK(cudaFree(device_copies));
	CHECK(cudaFree(device_sums));
	printf("lateexit: %d sums are right\n", count / 32);
	return 0;
}
