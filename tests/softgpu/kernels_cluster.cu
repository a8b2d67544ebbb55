/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clusters of blocks: their barrier, their shared memory, how they are requested. */
#include <cooperative_groups.h>
#include <cuda/atomic>

#include "kernels_check.h"

namespace groups = cooperative_groups;

enum {
	BINS = 512,
	COUNT = 1 << 15,
	THREADS = 128,
};

/* A histogram whose bins are spread over the blocks of a cluster, added up in the grid's. */
__global__ void histogram(const int *in, int *bins)
{
	extern __shared__ int own[];
	auto cluster = groups::this_cluster();
	int share = BINS / cluster.num_blocks();

	for (int i = threadIdx.x; i < share; i += blockDim.x)
		own[i] = 0;
	cluster.sync();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNT;
	     i += gridDim.x * blockDim.x) {
		int bin = in[i] & (BINS - 1);

		atomicAdd(cluster.map_shared_rank(own, bin / share) + bin % share, 1);
	}
	cluster.sync();
	for (int i = threadIdx.x; i < share; i += blockDim.x)
		atomicAdd(&bins[cluster.block_rank() * share + i], own[i]);
}

/* A cluster size that the kernel declares. */
__global__ void __cluster_dims__(2, 2, 1) where(int *out)
{
	__shared__ int rank;
	auto cluster = groups::this_cluster();
	unsigned int other = cluster.block_rank() ^ 3;
	int block = blockIdx.y * gridDim.x + blockIdx.x, *theirs;

	if (threadIdx.x == 0)
		rank = cluster.block_rank();
	auto token = cluster.barrier_arrive();
	cluster.barrier_wait(std::move(token));
	theirs = cluster.map_shared_rank(&rank, other);
	if (threadIdx.x == 0)
		out[block] = *theirs + 10 * cluster.query_shared_rank(theirs) +
			     100 * cluster.num_threads() + 100000 * cluster.dim_blocks().y;
	cluster.sync();
}

static cudaLaunchConfig_t configuration(unsigned int blocks, cudaLaunchAttribute *attribute,
					unsigned int cluster)
{
	cudaLaunchConfig_t config = {};

	attribute->id = cudaLaunchAttributeClusterDimension;
	attribute->val.clusterDim.x = cluster;
	attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
	config.gridDim = blocks;
	config.blockDim = THREADS;
	config.dynamicSmemBytes = BINS / cluster * sizeof(int);
	config.attrs = attribute;
	config.numAttrs = 1;
	return config;
}

static void check_histogram(const int *in, unsigned int cluster)
{
	cudaLaunchAttribute attribute;
	cudaLaunchConfig_t config = configuration(16, &attribute, cluster);
	int *bins = managed<int>(BINS), expected[BINS] = {}, clusters = 0;

	EXPECT(!cudaOccupancyMaxActiveClusters(&clusters, histogram, &config) && clusters > 0,
	       "%d clusters of %u", clusters, cluster);
	EXPECT(!cudaLaunchKernelEx(&config, histogram, in, bins), "launch of %u", cluster);
	finish("histogram");
	for (int i = 0; i < COUNT; i++)
		expected[in[i] & (BINS - 1)]++;
	for (int i = 0; i < BINS; i++)
		EXPECT(bins[i] == expected[i], "bin %d with %u: %d", i, cluster, bins[i]);
}

static void check_sizes(const int *in)
{
	cudaLaunchAttribute attribute;
	cudaLaunchConfig_t config = configuration(16, &attribute, 16);
	int *bins = managed<int>(BINS), size = 0;
	cudaError_t error = cudaLaunchKernelEx(&config, histogram, in, bins);

	EXPECT(error == cudaErrorInvalidClusterSize, "16 blocks: %d", error);
	EXPECT(!cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config) && size == 8,
	       "at most %d", size);
	EXPECT(!cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
	       "more than is portable");
	EXPECT(!cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config) && size == 16,
	       "at most %d", size);
	check_histogram(in, 16);
	config = configuration(15, &attribute, 2);
	error = cudaLaunchKernelEx(&config, histogram, in, bins);
	EXPECT(error == cudaErrorInvalidClusterSize, "2 into 15 blocks: %d", error);
	error = cudaGetLastError();
	EXPECT(error == cudaErrorInvalidClusterSize, "last error %d", error);
}

static void check_where(void)
{
	int *out = managed<int>(24);

	where<<<dim3(6, 4), 32>>>(out);
	finish("where");
	for (int i = 0; i < 24; i++) {
		int x = i % 6, y = i / 6, other = 3 ^ (x % 2 + y % 2 * 2);

		EXPECT(out[i] == 11 * other + 12800 + 200000, "block %d: %d", i, out[i]);
	}
	where<<<dim3(5, 4), 32>>>(out);
	EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize, "2 into 5 blocks");
}

int main()
{
	int *in = managed<int>(COUNT);

	for (int i = 0; i < COUNT; i++)
		in[i] = (int)number(i);
	for (unsigned int cluster = 1; cluster <= 8; cluster *= 2)
		check_histogram(in, cluster);
	check_sizes(in);
	check_where();
	return failures != 0;
}
