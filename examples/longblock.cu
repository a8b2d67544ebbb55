/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sums the rows of a triangle, a block for each row: the last of 64 rows is much longer than the
 * others together, so that one multiprocessor works while all others are idle. `gputap blocktime`
 * shows it.
 */
#include "check.h"

#include <cuda_runtime.h>

#include <vector>

__global__ void sum_triangle(unsigned *sums, int rows, int longest)
{
	int row = blockIdx.x, length = row == rows - 1 ? longest : row + 1;
	unsigned sum = 0;

	for (int i = threadIdx.x; i < length; i += blockDim.x)
		sum += i ^ row;
	atomicAdd(&sums[row], sum);
}

int main()
{
	const int rows = 64, longest = 1 << 22;
	const size_t size = rows * sizeof(unsigned);
	std::vector<unsigned> sums(rows);
	unsigned *device_sums;

	CHECK(cudaMalloc(&device_sums, size));
	CHECK(cudaMemset(device_sums, 0, size));
	sum_triangle<<<rows, 64>>>(device_sums, rows, longest);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(sums.data(), device_sums, size, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_sums));
	for (int row = 0; row < rows; row++) {
		int length = row == rows - 1 ? longest : row + 1;
		unsigned sum = 0;

		for (int i = 0; i < length; i++)
			sum += i ^ row;
		if (sums[row] != sum) {
			printf("longblock: wrong: row %d has the sum %u, not %u\n", row, sums[row],
			       sum);
			return 1;
		}
	}
	printf("longblock: %d sums are right\n", rows);
	return 0;
}
