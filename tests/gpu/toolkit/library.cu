/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Thrust's reduce_by_key, CUB's radix sort of pairs, scan and select; results are those of the
 * host. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include "kernels_check.h"

static const int COUNT = 10000, KEYS = 64;

struct is_odd {
	__host__ __device__ bool operator()(int value) const
	{
		return value & 1;
	}
};

/* Call a function of CUB twice: for the size of its memory, and with that. */
template <class F> static void with_memory(const char *what, F call)
{
	size_t bytes = 0;
	void *memory = nullptr;

	call(nullptr, bytes);
	EXPECT(cudaMalloc(&memory, bytes) == cudaSuccess, "%s: no memory", what);
	call(memory, bytes);
	finish(what);
	cudaFree(memory);
}

static void check_sort(void)
{
	uint32_t *keys = managed<uint32_t>(COUNT), *sorted = managed<uint32_t>(COUNT);
	int *values = managed<int>(COUNT), *order = managed<int>(COUNT);
	std::vector<int> expected(COUNT);

	for (int i = 0; i < COUNT; i++) {
		keys[i] = number(i);
		values[i] = expected[i] = i;
	}
	std::stable_sort(expected.begin(), expected.end(),
			 [keys](int a, int b) { return keys[a] < keys[b]; });
	with_memory("sort", [&](void *memory, size_t &bytes) {
		cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted, values, order, COUNT);
	});
	EXPECT(std::equal(expected.begin(), expected.end(), order), "the pairs are not sorted");
}

static void check_scan(void)
{
	int *in = managed<int>(COUNT), *out = managed<int>(COUNT), *count = managed<int>(1);
	std::vector<int> expected(COUNT), odd;

	for (int i = 0; i < COUNT; i++)
		in[i] = (int)(number(i) & 0xff);
	std::exclusive_scan(in, in + COUNT, expected.begin(), 0);
	with_memory("scan", [&](void *memory, size_t &bytes) {
		cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, COUNT);
	});
	EXPECT(std::equal(expected.begin(), expected.end(), out), "the scan is wrong");
	std::copy_if(in, in + COUNT, std::back_inserter(odd), is_odd());
	with_memory("select", [&](void *memory, size_t &bytes) {
		cub::DeviceSelect::If(memory, bytes, in, out, count, COUNT, is_odd());
	});
	EXPECT(*count == (int)odd.size() && std::equal(odd.begin(), odd.end(), out),
	       "%d values were selected, not %zu", *count, odd.size());
}

static void check_keys(void)
{
	std::vector<int> keys(COUNT), values(COUNT), sums(KEYS);
	thrust::device_vector<int> found_keys(KEYS), found_sums(KEYS);

	for (int i = 0; i < COUNT; i++) {
		keys[i] = i * KEYS / COUNT;
		values[i] = (int)(number(i) & 0xff);
		sums[keys[i]] += values[i];
	}
	thrust::device_vector<int> device_keys(keys), device_values(values);
	thrust::reduce_by_key(device_keys.begin(), device_keys.end(), device_values.begin(),
			      found_keys.begin(), found_sums.begin());
	for (int i = 0; i < KEYS; i++)
		EXPECT(found_keys[i] == i && found_sums[i] == sums[i], "key %d has %d, not %d", i,
		       (int)found_sums[i], sums[i]);
}

int main()
{
	check_sort();
	check_scan();
	check_keys();
	printf("library: %d failures\n", failures);
	return failures != 0;
}
