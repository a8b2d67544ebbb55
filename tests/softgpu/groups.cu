// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program for nvcc that uses what the toolkit brings as headers: cooperative groups, barriers,
// asynchronous copies, a sort of Thrust's. Exit status 0: all well.
#include <cstdio>
#include <cstdlib>

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

namespace cg = cooperative_groups;

// The sum of all values: by tiles, then blocks, then the whole grid.
__global__ void sum_up(const int *values, int count, int *sums)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
	__shared__ int of_tiles[32];
	int sum = 0;

	for (int i = (int)grid.thread_rank(); i < count; i += (int)grid.size())
		sum += values[i];
	sum = cg::reduce(tile, sum, cg::plus<int>());
	if (tile.thread_rank() == 0)
		of_tiles[tile.meta_group_rank()] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		sums[blockIdx.x] = 0;
		for (unsigned int i = 0; i < tile.meta_group_size(); i++)
			sums[blockIdx.x] += of_tiles[i];
	}
	grid.sync();
	if (grid.thread_rank() == 0) {
		for (unsigned int i = 1; i < gridDim.x; i++)
			sums[0] += sums[i];
	}
}

// How many lanes of a warp are with each lane.
__global__ void part(int *sizes)
{
	auto tile = cg::tiled_partition<32>(cg::this_thread_block());
	auto parts = cg::binary_partition(tile, threadIdx.x % 3 == 0);

	sizes[threadIdx.x] = (int)parts.size();
}

__global__ void turn_round(const int *from, int *to)
{
	__shared__ int values[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
	auto block = cg::this_thread_block();

	if (threadIdx.x == 0)
		init(&barrier, blockDim.x);
	block.sync();
	cuda::memcpy_async(block, values, from, sizeof(values), barrier);
	barrier.arrive_and_wait();
	to[threadIdx.x] = values[255 - threadIdx.x];
}

static void check(bool good, const char *what)
{
	if (!good) {
		printf("%s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
		exit(1);
	}
}

int main()
{
	const int count = 10000;
	int *values, *results, expected = 0, blocks = 8;

	check(!cudaMallocManaged(&values, count * sizeof(int)), "cudaMallocManaged");
	check(!cudaMallocManaged(&results, count * sizeof(int)), "cudaMallocManaged");
	for (int i = 0; i < count; i++)
		expected += values[i] = i * 7919 % 1000;
	void *arguments[] = {&values, (void *)&count, &results};
	check(!cudaLaunchCooperativeKernel((void *)sum_up, blocks, 128, arguments, 0, 0), "launch");
	check(!cudaDeviceSynchronize(), "sum_up");
	check(results[0] == expected, "the sum is wrong");
	part<<<1, 32>>>(results);
	check(!cudaDeviceSynchronize(), "part");
	check(results[0] == 11 && results[1] == 21 && results[30] == 11, "the parts are wrong");
	turn_round<<<1, 256>>>(values, results);
	check(!cudaDeviceSynchronize(), "turn_round");
	check(results[0] == values[255] && results[255] == values[0], "the copy is wrong");
	thrust::device_vector<int> sorted(values, values + count);
	thrust::sort(sorted.begin(), sorted.end());
	for (int i = 1; i < count; i += 97)
		check(sorted[i - 1] <= sorted[i], "the order is wrong");
	return 0;
}
