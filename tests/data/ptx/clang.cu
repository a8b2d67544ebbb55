// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// CUDA C++ for clang alone, with no file of the toolkit.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#include <__clang_cuda_builtin_vars.h>

struct Parameters {
	int a;
	double b;
	char c[13];
};

__constant__ float factors[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ int table[3] = {1, 2, 3};
__device__ int *pointers[2] = {&table[1], table};

static __device__ inline void barrier(void)
{
	asm volatile("bar.sync 0;" ::: "memory");
}

__device__ __attribute__((noinline)) float sum(float a, int n)
{
	float s = 0;
	for (int i = 0; i < n; i++)
		s += a * i / (n + 1);
	return s;
}

__global__ void kernel(float *out, Parameters p, int n)
{
	__shared__ float tile[64];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	tile[threadIdx.x] = out[i];
	barrier();
	out[i] = tile[63 - threadIdx.x] + factors[n & 3] + sum(p.b, n) + p.c[n] + *pointers[n & 1];
	__nvvm_atom_add_gen_i(&counter, 1);
	switch (n) {
	case 1:
		out[1] = 2;
		break;
	case 2:
		out[3] = 4;
		break;
	case 3:
		out[0] = 3;
		break;
	case 7:
		out[9] = 1;
	}
}
