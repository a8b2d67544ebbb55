/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reduces a million numbers to their sum and their maximum: within a warp by shuffles, within a
 * block through shared memory, between blocks by atomics.
 */
#include "check.h"

#include <cuda_runtime.h>

#include <climits>
#include <vector>

struct result {
	float sum;
	int maximum;
};

const unsigned int ALL_LANES = 0xffffffff;

/* Lane 0 ends up with the sum of its warp: the upper half is added to the lower, five times. */
__device__ float warp_sum(float value)
{
	for (int distance = 16; distance > 0; distance /= 2)
		value += __shfl_down_sync(ALL_LANES, value, distance);
	return value;
}

/* As warp_sum, but every lane ends up with the result. */
__device__ int warp_maximum(int value)
{
	for (int distance = 16; distance > 0; distance /= 2) {
		int other = __shfl_xor_sync(ALL_LANES, value, distance);

		value = other > value ? other : value;
	}
	return value;
}

__global__ void reduce(const int *values, int count, result *result)
{
	__shared__ float sums[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int maximum = INT_MIN;
	float sum = 0;

	/* Few threads, each walking through the values by the width of the grid. */
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
	     i += gridDim.x * blockDim.x) {
		sum += values[i];
		maximum = values[i] > maximum ? values[i] : maximum;
	}
	sum = warp_sum(sum);
	maximum = warp_maximum(maximum);
	if (lane == 0) {
		sums[warp] = sum;
		atomicMax(&result->maximum, maximum);
	}
	__syncthreads();
	if (warp == 0) {
		sum = warp_sum(lane < (int)blockDim.x / 32 ? sums[lane] : 0);
		if (lane == 0)
			atomicAdd(&result->sum, sum);
	}
}

int main()
{
	const int count = 1000003;
	std::vector<int> values(count);
	result expected = {0, INT_MIN}, got = {0, INT_MIN};
	int *device_values;
	result *device_result;
	double sum = 0;

	/* Small whole numbers: every partial sum is exact in single precision, in any order. */
	for (int i = 0; i < count; i++) {
		values[i] = (int)(i * 2654435761u >> 28) - 4;
		sum += values[i];
		expected.maximum = values[i] > expected.maximum ? values[i] : expected.maximum;
	}
	expected.sum = (float)sum;

	CHECK(cudaMalloc(&device_values, count * sizeof(int)));
	CHECK(cudaMalloc(&device_result, sizeof(got)));
	CHECK(cudaMemcpy(device_values, values.data(), count * sizeof(int),
			 cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(device_result, &got, sizeof(got), cudaMemcpyHostToDevice));
	reduce<<<32, 256>>>(device_values, count, device_result);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&got, device_result, sizeof(got), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_values));
	CHECK(cudaFree(device_result));

	if (got.sum != expected.sum || got.maximum != expected.maximum) {
		printf("reduce: wrong: sum %.0f, maximum %d, not %.0f and %d\n", got.sum,
		       got.maximum, expected.sum, expected.maximum);
		return 1;
	}
	printf("reduce: sum %.0f and maximum %d of %d numbers are right\n", got.sum, got.maximum,
	       count);
	return 0;
}
