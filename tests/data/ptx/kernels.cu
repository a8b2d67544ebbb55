// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What nvcc makes of C++: templates, virtual functions, printf, cooperative groups, halves,
// textures, matrix fragments, inline assembly, tables of jumps and functions.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;

template <typename T, int N> struct Vector {
	T values[N];
	__device__ T sum() const
	{
		T total = 0;
		for (int i = 0; i < N; i++)
			total += values[i];
		return total;
	}
};

template <typename T, int N> __global__ void sums(const Vector<T, N> *in, T *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i].sum();
}
template __global__ void sums<float, 4>(const Vector<float, 4> *, float *, int);
template __global__ void sums<double, 7>(const Vector<double, 7> *, double *, int);
template __global__ void sums<long long, 3>(const Vector<long long, 3> *, long long *, int);

__constant__ float coefficients[16] = {1, 2, 3, 4};
__device__ int table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
__device__ const char *names[] = {"alpha", "beta"};
__managed__ int managed = 5;

struct Base {
	int x;
	__device__ virtual int f(int)
	{
		return 1;
	}
	__device__ virtual ~Base()
	{
	}
};

struct Derived : Base {
	__device__ int f(int a) override
	{
		return a + x;
	}
};

struct Other : Base {
	double d;
	__device__ int f(int a) override
	{
		return a * (int)d;
	}
};

__device__ int (*pointers[2])(int);
__device__ __noinline__ int increment(int a)
{
	return a + 1;
}
__device__ __noinline__ int triple(int a)
{
	return a * 3;
}
__device__ int (*const fixed_pointers[2])(int) = {increment, triple};

__global__ void indirect(int *out, int n)
{
	Base *base = n & 1 ? (Base *)new Derived : (Base *)new Other;
	base->x = n;
	out[threadIdx.x] = base->f(n);
	delete base;
	out[threadIdx.x] += fixed_pointers[n & 1](n);
	if (n == 5)
		pointers[0] = increment;
	out[1] += pointers[0](3);
}

__global__ void print(int n)
{
	printf("%d %s %f\n", n, names[n & 1], 1.5 * n);
	assert(n > 0);
}

__global__ void cooperate(int *p)
{
	auto grid = cg::this_grid();
	auto block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);
	p[grid.thread_rank()] = tile.shfl_down(p[0], 1);
	grid.sync();
	block.sync();
	atomicAdd(p, tile.size());
	cg::coalesced_group together = cg::coalesced_threads();
	p[1] = together.any(p[2]) + managed;
}

__global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b)
{
	int i = threadIdx.x;
	h[i] = __hfma(h[i], h[i + 1], h[i + 2]);
	h2[i] = __hadd2(h2[i], h2[i + 1]);
	b[i] = b[i] * b[i + 1];
	atomicAdd(&h2[0], h2[1]);
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *out)
{
	float x = threadIdx.x;
	float4 read;
	out[threadIdx.x] = tex2D<float4>(t, x, x + 1);
	out[1] = tex3D<float4>(t, x, x, x);
	out[2].x = tex1Dfetch<float>(t, 3);
	out[3] = tex2DLod<float4>(t, x, x, 1.f);
	out[4] = tex2DGrad<float4>(t, x, x, make_float2(1, 2), make_float2(3, 4));
	surf2Dwrite<float4>(out[0], s, 16, 3);
	surf2Dread(&read, s, 16, 3);
	out[5] = read;
	out[6] = tex2Dgather<float4>(t, x, x, 1);
}

__global__ void fragments(half *a, half *b, float *c)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> first;
	fragment<matrix_b, 16, 16, 16, half, col_major> second;
	fragment<accumulator, 16, 16, 16, float> sum;
	fill_fragment(sum, 0.f);
	load_matrix_sync(first, a, 16);
	load_matrix_sync(second, b, 16);
	mma_sync(sum, first, second, sum);
	store_matrix_sync(c, sum, 16, mem_row_major);
}

extern __shared__ float dynamic[];
__global__ void __launch_bounds__(256, 2) memories(float *p)
{
	__shared__ float tile[256];
	__shared__ int4 quad;
	unsigned r;
	tile[threadIdx.x] = p[threadIdx.x];
	dynamic[threadIdx.x] = tile[threadIdx.x ^ 1];
	__syncthreads();
	p[threadIdx.x] = dynamic[threadIdx.x] + sinf(tile[0]) + powf(tile[1], p[1]) +
			 coefficients[threadIdx.x & 15] + table[threadIdx.x % 3][1];
	if (threadIdx.x == 0)
		quad = make_int4(1, 2, 3, 4);
	__syncthreads();
	p[2] += quad.x;
	asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 3; selp.u32 %0, 1, 2, p; }"
		     : "=r"(r)
		     : "r"(threadIdx.x));
	p[3] = r;
	asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(r), "r"(5), "r"(7));
	p[4] = r;
}

__global__ void choose(int *p, int n)
{
	switch (n) {
	case 0:
		p[0] = 3;
		break;
	case 1:
		p[1] = 4;
		break;
	case 2:
		p[2] = 5;
		break;
	case 3:
		p[5] = 1;
		break;
	case 4:
		p[1] = 6;
		break;
	case 5:
		p[8] *= 2;
		break;
	default:
		p[99] = 0;
	}
	unsigned mask = __ballot_sync(~0u, n);
	p[3] = __shfl_xor_sync(mask, n, 1) + __popc(mask) + __match_any_sync(mask, n);
}
