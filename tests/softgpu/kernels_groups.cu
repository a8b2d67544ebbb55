/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cooperative groups, and atomics, barriers and pipelines of libcu++. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include "kernels_check.h"

namespace groups = cooperative_groups;

/* ---- groups of lanes ------------------------------------------------------------------- */

enum { ANSWERS = 8 };

__global__ void tiles(int *out)
{
	auto block = groups::this_thread_block();
	auto eight = groups::tiled_partition<8>(block);
	auto warp = groups::tiled_partition<32>(block);
	auto label = groups::labeled_partition(warp, threadIdx.x % 3);
	auto binary = groups::binary_partition(warp, threadIdx.x % 5 == 0);
	auto wide = groups::tiled_partition<64>(block);
	int me = threadIdx.x, *answers = out + ANSWERS * me;

	answers[0] = groups::reduce(eight, me, groups::plus<int>());
	answers[1] = groups::exclusive_scan(eight, me);
	answers[2] = (int)groups::reduce(eight, me * 0.5f, groups::greater<float>());
	answers[3] = label.size() * 100 + label.thread_rank();
	answers[4] = binary.size();
	answers[5] = groups::reduce(label, 1, groups::plus<int>());
	answers[6] = groups::coalesced_threads().size();
	wide.sync();
	answers[7] = wide.meta_group_rank();
}

static void check_tiles(int *out)
{
	tiles<<<1, 128>>>(out);
	finish("tiles");
	for (int t = 0; t < 128; t++) {
		int first = t / 8 * 8, warp = t / 32 * 32, before = 0, same = 0, rank = 0,
		    alike = 0;
		const int *answers = out + ANSWERS * t;

		for (int i = first; i < t; i++)
			before += i;
		for (int i = warp; i < warp + 32; i++) {
			same += i % 3 == t % 3;
			rank += i % 3 == t % 3 && i < t;
			alike += (i % 5 == 0) == (t % 5 == 0);
		}
		EXPECT(answers[0] == first * 8 + 28, "reduce of %d: %d", t, answers[0]);
		EXPECT(answers[1] == before, "scan of %d: %d", t, answers[1]);
		EXPECT(answers[2] == (first + 7) / 2, "greater of %d: %d", t, answers[2]);
		EXPECT(answers[3] == same * 100 + rank, "label of %d: %d", t, answers[3]);
		EXPECT(answers[4] == alike, "binary of %d: %d", t, answers[4]);
		EXPECT(answers[5] == same, "count of %d: %d", t, answers[5]);
		EXPECT(answers[6] == 32, "coalesced of %d: %d", t, answers[6]);
		EXPECT(answers[7] == t / 64, "wide of %d: %d", t, answers[7]);
	}
}

__global__ void lanes(uint32_t *out)
{
	uint32_t me = threadIdx.x, *answers = out + ANSWERS * me;
	int all;

	answers[0] = __match_any_sync(~0u, me % 5);
	answers[1] = __match_all_sync(~0u, me / 100, &all);
	answers[2] = __reduce_add_sync(~0u, me);
	answers[3] = __shfl_xor_sync(~0u, me * 3, 5, 16);
	answers[4] = __shfl_up_sync(~0u, me, 3, 8);
	answers[5] = __ballot_sync(~0u, me % 3 == 0);
	answers[6] = __shfl_down_sync(~0u, (unsigned long long)me << 33, 7) >> 33;
	answers[7] = __reduce_xor_sync(~0u, me * 77);
}

static void check_lanes(int *memory)
{
	const uint32_t *out = (uint32_t *)memory;
	uint32_t all = 0;

	lanes<<<1, 32>>>((uint32_t *)memory);
	finish("lanes");
	for (uint32_t i = 0; i < 32; i++)
		all ^= i * 77;
	for (uint32_t t = 0; t < 32; t++) {
		const uint32_t *answers = out + ANSWERS * t;
		uint32_t match = 0;

		for (uint32_t i = 0; i < 32; i++)
			match |= (uint32_t)(i % 5 == t % 5) << i;
		EXPECT(answers[0] == match, "match_any of %u: %x", t, answers[0]);
		EXPECT(answers[1] == ~0u, "match_all of %u: %x", t, answers[1]);
		EXPECT(answers[2] == 496, "reduce_add of %u: %u", t, answers[2]);
		EXPECT(answers[3] == (t ^ 5) * 3, "shfl_xor of %u: %u", t, answers[3]);
		EXPECT(answers[4] == (t % 8 >= 3 ? t - 3 : t), "shfl_up of %u: %u", t, answers[4]);
		EXPECT(answers[5] == 0x49249249u, "ballot of %u: %x", t, answers[5]);
		EXPECT(answers[6] == (t + 7 < 32 ? t + 7 : t), "shfl_down of %u: %u", t,
		       answers[6]);
		EXPECT(answers[7] == all, "reduce_xor of %u: %u", t, answers[7]);
	}
}

/* ---- grids, barriers, copies ----------------------------------------------------------- */

__global__ void neighbours(int *out)
{
	auto grid = groups::this_grid();
	int me = grid.thread_rank(), value;

	out[me] = me;
	grid.sync();
	value = out[(me + 1) % grid.size()];
	grid.sync();
	out[me] = value;
}

#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void phases(int *out)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
	__shared__ int values[256];
	int value = 0;

	if (threadIdx.x == 0)
		init(&barrier, blockDim.x);
	__syncthreads();
	for (int i = 0; i < 4; i++) {
		values[threadIdx.x] = threadIdx.x + i;
		barrier.arrive_and_wait();
		value = values[(threadIdx.x + 1) % 256];
		barrier.wait(barrier.arrive());
	}
	out[threadIdx.x] = value;
}

__global__ void pipeline(const int *in, int *out)
{
	__shared__ int stage[2][256];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	auto block = groups::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	int sum = 0;

	for (int i = 0; i <= 8; i++) {
		if (i < 8) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, stage[i & 1], in + i * 256, sizeof(stage[0]),
					   pipe);
			pipe.producer_commit();
		}
		if (!i)
			continue;
		pipe.consumer_wait();
		sum += stage[(i - 1) & 1][255 - threadIdx.x];
		block.sync();
		pipe.consumer_release();
	}
	out[threadIdx.x] = sum;
}

__global__ void copied(const int *in, int *out)
{
	__shared__ int values[256];
	auto block = groups::this_thread_block();

	groups::memcpy_async(block, values, in, sizeof(values));
	groups::wait(block);
	out[threadIdx.x] = values[threadIdx.x] + values[255 - threadIdx.x];
}

static void check_barriers(int *in, int *out)
{
	void *arguments[] = {&out};

	cudaLaunchCooperativeKernel((void *)neighbours, dim3(6), dim3(64), arguments, 0, nullptr);
	finish("neighbours");
	for (int i = 0; i < 384; i++)
		EXPECT(out[i] == (i + 1) % 384, "neighbour of %d: %d", i, out[i]);
	phases<<<1, 256>>>(out);
	finish("phases");
	for (int i = 0; i < 256; i++)
		EXPECT(out[i] == (i + 1) % 256 + 3, "phase of %d: %d", i, out[i]);
	for (int i = 0; i < 2048; i++)
		in[i] = i * i;
	pipeline<<<1, 256>>>(in, out);
	finish("pipeline");
	for (int i = 0; i < 256; i++) {
		int sum = 0;

		for (int k = 0; k < 8; k++)
			sum += in[k * 256 + 255 - i];
		EXPECT(out[i] == sum, "pipeline of %d: %d", i, out[i]);
	}
	copied<<<1, 256>>>(in, out);
	finish("copied");
	for (int i = 0; i < 256; i++)
		EXPECT(out[i] == in[i] + in[255 - i], "copy of %d: %d", i, out[i]);
}

/* ---- atomics --------------------------------------------------------------------------- */

struct counters {
	cuda::atomic<int, cuda::thread_scope_device> count;
	cuda::atomic<long long> sum;
	cuda::atomic<float> floats;
	cuda::binary_semaphore<cuda::thread_scope_device> semaphore;
	int guarded, most[4], bytes;
};

__global__ void atomics(counters *all)
{
	__shared__ cuda::std::atomic<unsigned char> bytes;
	cuda::atomic_ref<int, cuda::thread_scope_device> most(all->most[threadIdx.x % 4]);
	float expected = all->floats.load();

	all->count.fetch_add(1, cuda::memory_order_relaxed);
	all->sum.fetch_add(threadIdx.x, cuda::memory_order_acq_rel);
	most.fetch_max(threadIdx.x);
	while (!all->floats.compare_exchange_weak(expected, expected + 1))
		;
	if (threadIdx.x % 32 == 0) {
		all->semaphore.acquire();
		all->guarded = all->guarded + 1;
		all->semaphore.release();
	}
	if (threadIdx.x == 0)
		bytes = 0;
	__syncthreads();
	bytes.fetch_add(1);
	__syncthreads();
	all->bytes = bytes.load();
}

static void check_atomics(void)
{
	counters *all = managed<counters>(1);

	new (&all->semaphore) cuda::binary_semaphore<cuda::thread_scope_device>(1);
	atomics<<<4, 128>>>(all);
	finish("atomics");
	EXPECT(all->count.load() == 512, "count %d", all->count.load());
	EXPECT(all->sum.load() == 4 * 127 * 64, "sum %lld", all->sum.load());
	EXPECT(all->floats.load() == 512, "floats %g", all->floats.load());
	EXPECT(all->guarded == 16, "guarded %d", all->guarded);
	EXPECT(all->most[0] == 124 && all->most[3] == 127, "most %d %d", all->most[0],
	       all->most[3]);
	EXPECT(all->bytes == 128, "bytes %d", all->bytes);
}

int main()
{
	int *in = managed<int>(4096), *out = managed<int>(4096);

	check_tiles(out);
	check_lanes(out);
	check_barriers(in, out);
	check_atomics();
	return failures != 0;
}
