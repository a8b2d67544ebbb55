/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernels of softgpu-exec.c. */
#include <cuda_runtime.h>

const int TILE = 16;

extern "C" __global__ void matmul(const float *a, const float *b, float *product, int n)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int first = 0; first < n; first += TILE) {
		tile_a[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
		tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		__syncthreads();
	}
	product[row * n + column] = sum;
}

extern "C" __global__ void mandelbrot(unsigned *counts, int width, int height, int most)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float real = -2.0f + 3.0f * x / width, imaginary = -1.5f + 3.0f * y / height;
	float a = 0, b = 0;
	int count = 0;

	while (count < most && a * a + b * b < 4.0f) {
		float next = a * a - b * b + real;

		b = 2.0f * a * b + imaginary;
		a = next;
		count++;
	}
	counts[y * width + x] = count;
}

extern "C" __global__ void reduce(const float *values, float *sum, int count)
{
	__shared__ float sums[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	float mine = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		mine += values[i];
	for (int distance = 16; distance; distance /= 2)
		mine += __shfl_down_sync(0xffffffff, mine, distance);
	if (lane == 0)
		sums[warp] = mine;
	__syncthreads();
	if (warp)
		return;
	mine = lane < blockDim.x / 32 ? sums[lane] : 0;
	for (int distance = 16; distance; distance /= 2)
		mine += __shfl_down_sync(0xffffffff, mine, distance);
	if (lane == 0)
		atomicAdd(sum, mine);
}

extern "C" __global__ void copy(const float *from, float *to, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		to[i] = from[i];
}

/* A fetch between two texels of each row. */
extern "C" __global__ void texture(unsigned long long image, float *to, int width)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float r, g, b, a;

	asm("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
	    : "=f"(r), "=f"(g), "=f"(b), "=f"(a)
	    : "l"(image), "f"(x + 0.75f), "f"(y + 0.5f));
	to[y * width + x] = r;
}

extern "C" __global__ void barriers(int rounds)
{
	for (int i = 0; i < rounds; i++)
		__syncthreads();
}

/* As cuda::barrier::arrive_and_wait of CUDA 13, but for its pauses after 16 attempts. */
extern "C" __global__ void mbarriers(int rounds)
{
	__shared__ unsigned long long object;
	unsigned address;

	asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"
	    : "=r"(address)
	    : "l"(&object));
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x));
	__syncthreads();
	for (int i = 0; i < rounds; i++) {
		unsigned long long state, began;
		unsigned is_over;

		asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address));
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
		do
			asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; "
				     "selp.b32 %0, 1, 0, p; }"
				     : "=r"(is_over)
				     : "r"(address), "l"(state));
		while (!is_over);
	}
}
