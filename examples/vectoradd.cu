/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds two vectors on the GPU: the whole life of a small CUDA program, and a good first one to
 * trace. It makes 3 cudaMalloc calls of 1 MiB, 2 copies to the device, 1 launch, 1 copy back and
 * 3 cudaFree calls; none fails.
 */
#include "check.h"

#include <cuda_runtime.h>

#include <vector>

/* Every thread adds one pair. The grid may be larger than the vector, hence the condition. */
__global__ void add(const float *a, const float *b, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		sum[i] = a[i] + b[i];
}

int main()
{
	const int count = 256 * 1024;
	const size_t size = count * sizeof(float);
	std::vector<float> a(count), b(count), sum(count);
	float *device_a, *device_b, *device_sum;

	for (int i = 0; i < count; i++) {
		a[i] = i * 0.5f;
		b[i] = i * 2.0f;
	}

	/* The GPU has a memory of its own: what it works on is copied there first. */
	CHECK(cudaMalloc(&device_a, size));
	CHECK(cudaMalloc(&device_b, size));
	CHECK(cudaMalloc(&device_sum, size));
	CHECK(cudaMemcpy(device_a, a.data(), size, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(device_b, b.data(), size, cudaMemcpyHostToDevice));

	/* 1024 blocks of 256 threads. A launch returns at once; the copy back waits for it. */
	add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(sum.data(), device_sum, size, cudaMemcpyDeviceToHost));

	CHECK(cudaFree(device_a));
	CHECK(cudaFree(device_b));
	CHECK(cudaFree(device_sum));

	for (int i = 0; i < count; i++) {
		if (sum[i] != a[i] + b[i]) {
			printf("vectoradd: wrong: sum[%d] is %g, not %g\n", i, sum[i], a[i] + b[i]);
			return 1;
		}
	}
	printf("vectoradd: %d sums are right\n", count);
	return 0;
}
