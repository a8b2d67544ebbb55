/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For programs that compare results of kernels with those of the host. */
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

static int failures;

#define EXPECT(condition, ...)                                                                     \
	do {                                                                                       \
		if (!(condition) && failures++ < 20) {                                             \
			printf("%s:%d: ", __FILE__, __LINE__);                                     \
			printf(__VA_ARGS__);                                                       \
			printf("\n");                                                              \
		}                                                                                  \
	} while (0)

/* Memory that both sides see, cleared. */
template <class T> static T *managed(size_t count)
{
	T *memory = nullptr;

	if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess) {
		printf("no memory\n");
		exit(1);
	}
	memset(memory, 0, count * sizeof(T));
	return memory;
}

static inline void finish(const char *what)
{
	cudaError_t error = cudaDeviceSynchronize();

	EXPECT(error == cudaSuccess, "%s: %s", what, cudaGetErrorString(error));
	if (error != cudaSuccess)
		exit(1);
}

/* The same number for the same index, on both sides; edges of bytes and halves among them. */
__host__ __device__ static inline uint32_t number(uint32_t index)
{
	uint32_t x = index * 2654435761u + 12345;

	x = (x ^ x >> 15) * 2246822519u;
	x = (x ^ x >> 13) * 3266489917u;
	x ^= x >> 16;
	switch (x >> 29) {
	case 0:
		return x & 0x80808080u;
	case 1:
		return x | 0x7f7f7f7fu;
	case 2:
		return x & 0x80008000u;
	case 3:
		return (x & 0xff) * 0x01010101u;
	default:
		return x;
	}
}
