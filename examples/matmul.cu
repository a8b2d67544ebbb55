/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multiplies two square matrices, tile by tile in shared memory.
 *
 *	matmul [N]	N x N matrices (default: 128)
 */
#include "check.h"

#include <cuda_runtime.h>

#include <cmath>
#include <vector>

const int TILE = 16;

/*
 * A block computes one tile of the product. It walks along a row of tiles of a and down a column
 * of tiles of b; each pair is read into shared memory once and then used by all 256 threads, 16
 * times by each.
 */
__global__ void multiply(const float *a, const float *b, float *product, int n)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int first = 0; first < n; first += TILE) {
		int x = first + threadIdx.x, y = first + threadIdx.y;

		tile_a[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : 0;
		tile_b[threadIdx.y][threadIdx.x] = y < n && column < n ? b[y * n + column] : 0;
		/* Nobody reads a tile before everybody has written his part of it … */
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		/* … and nobody writes the next one while another still reads this one. */
		__syncthreads();
	}
	if (row < n && column < n)
		product[row * n + column] = sum;
}

static bool is_right(const std::vector<float> &a, const std::vector<float> &b,
		     const std::vector<float> &product, int n)
{
	for (int row = 0; row < n; row++) {
		for (int column = 0; column < n; column++) {
			double sum = 0, got = product[row * n + column];

			for (int k = 0; k < n; k++)
				sum += (double)a[row * n + k] * b[k * n + column];
			/* The order of additions differs, and so do the last bits. */
			if (!(std::fabs(got - sum) <= 1e-4 * (1 + std::fabs(sum)))) {
				printf("matmul: wrong: product[%d][%d] is %g, not %g\n", row,
				       column, got, sum);
				return false;
			}
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 128;

	if (n < 1 || n > 4096) {
		fprintf(stderr, "usage: matmul [N], N from 1 to 4096\n");
		return 2;
	}

	const size_t size = (size_t)n * n * sizeof(float);
	std::vector<float> a(n * n), b(n * n), product(n * n);
	float *device_a, *device_b, *device_product;
	dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);

	for (int i = 0; i < n * n; i++) {
		a[i] = (i % 17) * 0.25f - 2;
		b[i] = (i % 23) * 0.125f - 1;
	}
	CHECK(cudaMalloc(&device_a, size));
	CHECK(cudaMalloc(&device_b, size));
	CHECK(cudaMalloc(&device_product, size));
	CHECK(cudaMemcpy(device_a, a.data(), size, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(device_b, b.data(), size, cudaMemcpyHostToDevice));
	multiply<<<grid, block>>>(device_a, device_b, device_product, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(product.data(), device_product, size, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_a));
	CHECK(cudaFree(device_b));
	CHECK(cudaFree(device_product));

	if (!is_right(a, b, product, n))
		return 1;
	printf("matmul: the product of two %d x %d matrices is right\n", n, n);
	return 0;
}
