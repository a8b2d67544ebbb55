/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reductions, scans and sorts of CUB and Thrust. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include "kernels_check.h"

enum {
	THREADS = 128,
	ITEMS = 4,
	TILE = THREADS * ITEMS,
	BLOCKS = 4,
};

__global__ void collectives(const int *in, int *sorted, int *sums, int *scans)
{
	using reduce = cub::BlockReduce<int, THREADS>;
	using scan = cub::BlockScan<int, THREADS>;
	using sort = cub::BlockRadixSort<int, THREADS, ITEMS>;
	__shared__ union {
		reduce::TempStorage reduce;
		scan::TempStorage scan;
		sort::TempStorage sort;
	} memory;
	int items[ITEMS], first = blockIdx.x * TILE + threadIdx.x * ITEMS, sum, before;

	for (int i = 0; i < ITEMS; i++)
		items[i] = in[first + i];
	sum = reduce(memory.reduce).Sum(items);
	__syncthreads();
	scan(memory.scan).ExclusiveSum(items[0], before);
	__syncthreads();
	sort(memory.sort).Sort(items);
	for (int i = 0; i < ITEMS; i++)
		sorted[first + i] = items[i];
	scans[blockIdx.x * THREADS + threadIdx.x] = before;
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
}

static void check_block(const int *in, const int *sorted, int sum, const int *scans)
{
	std::vector<int> values(in, in + TILE);
	int before = 0;

	EXPECT(sum == std::accumulate(values.begin(), values.end(), 0), "sum %d", sum);
	for (int t = 0; t < THREADS; t++) {
		EXPECT(scans[t] == before, "scan of %d is %d", t, scans[t]);
		before += in[t * ITEMS];
	}
	std::sort(values.begin(), values.end());
	EXPECT(std::equal(values.begin(), values.end(), sorted), "the block is not sorted");
}

static void check_collectives(void)
{
	int *in = managed<int>(BLOCKS * TILE), *sorted = managed<int>(BLOCKS * TILE);
	int *sums = managed<int>(BLOCKS), *scans = managed<int>(BLOCKS * THREADS);

	for (int i = 0; i < BLOCKS * TILE; i++)
		in[i] = (int)number(i) >> 10;
	collectives<<<BLOCKS, THREADS>>>(in, sorted, sums, scans);
	finish("collectives");
	for (int b = 0; b < BLOCKS; b++)
		check_block(in + b * TILE, sorted + b * TILE, sums[b], scans + b * THREADS);
}

static void check_thrust(void)
{
	std::vector<int> values(20000), result(values.size());
	thrust::device_vector<float> floats(10000);
	thrust::device_vector<int> ones(10000, 1);
	float sum;

	for (size_t i = 0; i < values.size(); i++)
		values[i] = (int)number(i);
	thrust::device_vector<int> device(values);
	thrust::sort(device.begin(), device.end());
	thrust::copy(device.begin(), device.end(), result.begin());
	std::sort(values.begin(), values.end());
	EXPECT(result == values, "thrust::sort");
	thrust::sequence(floats.begin(), floats.end());
	sum = thrust::reduce(floats.begin(), floats.end());
	EXPECT(sum > 49994000 && sum < 49996000, "thrust::reduce gives %g", sum);
	thrust::inclusive_scan(ones.begin(), ones.end(), ones.begin());
	EXPECT(ones[9999] == 10000, "thrust::inclusive_scan gives %d", (int)ones[9999]);
}

int main()
{
	check_collectives();
	check_thrust();
	return failures != 0;
}
