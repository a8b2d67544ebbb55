/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transposes a matrix by kernels that access memory differently: without shared memory, where a
 * warp stores a column; through a tile in shared memory, whose columns are in one bank; and through
 * a tile that has a column more, whose columns are not. `gputap memtrace` shows it.
 *
 *	transpose [N]	N x N numbers, N a multiple of 32 (default: 256)
 */
#include "check.h"

#include <cuda_runtime.h>

#include <cstdlib>
#include <vector>

const int TILE = 32, ROWS = 8;

/* Neighbors in a row become neighbors in a column: each lane stores to another sector. */
__global__ void transpose_plain(const float *from, float *to, int n)
{
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

#pragma unroll 1
	for (int row = y; row < y + TILE; row += ROWS)
		to[x * n + row] = from[row * n + x];
}

/* A block writes its tile by rows, from columns of the tile. */
template <int PADDING> __device__ void transpose_tile(const float *from, float *to, int n)
{
	__shared__ float tile[TILE][TILE + PADDING];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

#pragma unroll 1
	for (int row = 0; row < TILE; row += ROWS)
		tile[threadIdx.y + row][threadIdx.x] = from[(y + row) * n + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll 1
	for (int row = 0; row < TILE; row += ROWS)
		to[(y + row) * n + x] = tile[threadIdx.x][threadIdx.y + row];
}

__global__ void transpose_shared(const float *from, float *to, int n)
{
	transpose_tile<0>(from, to, n);
}

__global__ void transpose_padded(const float *from, float *to, int n)
{
	transpose_tile<1>(from, to, n);
}

static bool is_transposed(const std::vector<float> &to, int n)
{
	for (int row = 0; row < n; row++)
		for (int column = 0; column < n; column++)
			if (to[row * n + column] != (float)(column * n + row))
				return false;
	return true;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 256;
	const struct {
		const char *name;
		void (*kernel)(const float *from, float *to, int n);
	} kernels[] = {{"plain", transpose_plain},
		       {"shared", transpose_shared},
		       {"padded", transpose_padded}};
	const size_t size = (size_t)n * n * sizeof(float);
	std::vector<float> from((size_t)n * n), to((size_t)n * n);
	float *device_from, *device_to;

	if (n < TILE || n % TILE || n > 4096) {
		printf("transpose: N is a multiple of %d, at most 4096\n", TILE);
		return 2;
	}
	for (size_t i = 0; i < from.size(); i++)
		from[i] = (float)i;
	CHECK(cudaMalloc(&device_from, size));
	CHECK(cudaMalloc(&device_to, size));
	CHECK(cudaMemcpy(device_from, from.data(), size, cudaMemcpyHostToDevice));
	for (const auto &kernel : kernels) {
		CHECK(cudaMemset(device_to, 0, size));
		kernel.kernel<<<dim3(n / TILE, n / TILE), dim3(TILE, ROWS)>>>(device_from,
									      device_to, n);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(to.data(), device_to, size, cudaMemcpyDeviceToHost));
		if (!is_transposed(to, n)) {
			printf("transpose: wrong: %s\n", kernel.name);
			return 1;
		}
	}
	CHECK(cudaFree(device_from));
	CHECK(cudaFree(device_to));
	printf("transpose: 3 x %d x %d numbers are right\n", n, n);
	return 0;
}
