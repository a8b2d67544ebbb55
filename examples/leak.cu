/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that leaks device memory, for tools that look for leaks. Of 10 cudaMalloc calls
 *
 *	6 are freed again,
 *	3 never are:	1000, 20000 and 300000 bytes, each on a line marked "leaked",
 *	1 fails:	too large; there is nothing to free, so it is no leak.
 *
 * What leaks is 321000 bytes. The driver releases the memory when the process ends.
 */
#include "check.h"

#include <cuda_runtime.h>

static void *table;
static void *cache;

/* Pairs up: no leak. */
static void use_scratch_memory(size_t size)
{
	void *scratch;

	CHECK(cudaMalloc(&scratch, size));
	CHECK(cudaMemset(scratch, 0, size));
	CHECK(cudaFree(scratch));
}

/* Kept in a global variable for ever. */
static void fill_table(void)
{
	CHECK(cudaMalloc(&table, 1000)); /* leaked */
	CHECK(cudaMemset(table, 1, 1000));
}

/* The way out after an error forgets the buffer. */
static bool load(bool broken)
{
	void *buffer;

	CHECK(cudaMalloc(&buffer, 20000)); /* leaked, the second time */
	if (broken)
		return false;
	CHECK(cudaFree(buffer));
	return true;
}

/* The old memory is lost when the pointer is overwritten. */
static void grow_cache(void)
{
	CHECK(cudaMalloc(&cache, 300000)); /* leaked */
	CHECK(cudaMalloc(&cache, 600000));
	CHECK(cudaFree(cache));
}

/* Returns whether this much memory can be had. */
static bool fits(size_t size)
{
	void *memory;

	if (cudaMalloc(&memory, size) != cudaSuccess) {
		cudaGetLastError(); /* forget the error */
		return false;
	}
	CHECK(cudaFree(memory));
	return true;
}

int main()
{
	use_scratch_memory(4096);
	use_scratch_memory(8192);
	use_scratch_memory(4096);
	fill_table();
	if (!load(false) || load(true)) {
		printf("leak: wrong: load\n");
		return 1;
	}
	grow_cache();
	if (!fits(1 << 20) || fits((size_t)1 << 50)) {
		printf("leak: wrong: 1 MiB must fit and 1 PiB must not\n");
		return 1;
	}
	CHECK(cudaDeviceSynchronize());
	printf("leak: 10 allocations: 6 freed, 3 leaked (321000 bytes), 1 failed\n");
	return 0;
}
