/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls CUDA's device functions in kernels and compares their results with those of the host:
 * integers, mathematics, warps, atomics, variables, printf, the heap.
 */
#include "../../examples/check.h"

#include <cuda_runtime.h>
#include <stdint.h>

#include <cmath>
#include <cstring>

static int right, wrong;

static void expect(const char *what, bool holds)
{
	if (holds) {
		right++;
	} else {
		wrong++;
		printf("device: wrong: %s\n", what);
	}
}

#define EXPECT(condition) expect(#condition, condition)

/* Memory that host and device share by copies. */
template <typename T, int N> struct array {
	T host[N];
	T *device;

	array()
	{
		memset(host, 0, sizeof(host));
		CHECK(cudaMalloc(&device, sizeof(host)));
		CHECK(cudaMemset(device, 0, sizeof(host)));
	}
	~array()
	{
		CHECK(cudaFree(device));
	}
	void fetch()
	{
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
	}
	void send()
	{
		CHECK(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice));
	}
};

/* Integers */

__global__ void integers(unsigned int *out, unsigned int a, unsigned int b)
{
	int i = 0;

	out[i++] = __popc(a);
	out[i++] = __clz(a);
	out[i++] = __ffs(a);
	out[i++] = __ffs(0) + __clz(0);
	out[i++] = __brev(a);
	out[i++] = __byte_perm(a, b, 0x7531);
	out[i++] = __umulhi(a, b);
	out[i++] = __mulhi((int)a, (int)b);
	out[i++] = __mul24(a & 0xfff, b & 0xfff);
	out[i++] = __sad((int)a, (int)b, 7);
	out[i++] = __uhadd(a, b);
	out[i++] = __funnelshift_l(a, b, 4);
	out[i++] = __funnelshift_r(a, b, 4);
	out[i++] = min((int)a, (int)b);
	out[i++] = max(a, b);
	out[i++] = __float_as_uint(1.0f);
	out[i++] = (unsigned int)__popcll(~0ull) + __clzll(1) + __ffsll(1ll << 40);
	out[i++] = abs(-5);
}

static void test_integers()
{
	const unsigned int a = 0x80f01234, b = 0x0badcafe;
	array<unsigned int, 18> out;
	int i = 0;

	integers<<<1, 1>>>(out.device, a, b);
	out.fetch();
	EXPECT(out.host[i++] == 10);
	EXPECT(out.host[i++] == 0);
	EXPECT(out.host[i++] == 3);
	EXPECT(out.host[i++] == 32);
	EXPECT(out.host[i++] == 0x2c480f01);
	EXPECT(out.host[i++] == 0x0bca8012);
	EXPECT(out.host[i++] == (unsigned int)((uint64_t)a * b >> 32));
	EXPECT(out.host[i++] == (unsigned int)((int64_t)(int)a * (int)b >> 32));
	EXPECT(out.host[i++] == (a & 0xfff) * (b & 0xfff));
	EXPECT(out.host[i++] == b - a + 7);
	EXPECT(out.host[i++] == (unsigned int)(((uint64_t)a + b) >> 1));
	EXPECT(out.host[i++] == (b << 4 | a >> 28));
	EXPECT(out.host[i++] == (a >> 4 | b << 28));
	EXPECT(out.host[i++] == a);
	EXPECT(out.host[i++] == a);
	EXPECT(out.host[i++] == 0x3f800000);
	EXPECT(out.host[i++] == 64 + 63 + 41);
	EXPECT(out.host[i++] == 5);
}

/* Roundings: a sum that no float holds, and conversions of 2.5 and -2.5 */

__global__ void roundings(float *sums, int *whole, float one, float tiny)
{
	sums[0] = __fadd_rn(one, tiny);
	sums[1] = __fadd_rz(one, tiny);
	sums[2] = __fadd_ru(one, tiny);
	sums[3] = __fadd_rd(-one, -tiny);
	sums[4] = __fdividef(one, 4);
	sums[5] = __saturatef(one + one);
	whole[0] = __float2int_rn(one * 2.5f);
	whole[1] = __float2int_rz(one * -2.5f);
	whole[2] = __float2int_ru(one * 2.5f);
	whole[3] = __float2int_rd(one * -2.5f);
	whole[4] = (int)rintf(one * 3.5f);
	whole[5] = (int)roundf(one * -2.5f);
	whole[6] = (int)floorf(one * -2.5f);
	whole[7] = (int)ceil((double)one * -2.5);
}

static void test_roundings()
{
	array<float, 6> sums;
	array<int, 8> whole;
	const int expected[8] = {2, -2, 3, -3, 4, -3, -3, -2};

	roundings<<<1, 1>>>(sums.device, whole.device, 1, 1e-10f);
	sums.fetch();
	whole.fetch();
	EXPECT(sums.host[0] == 1);
	EXPECT(sums.host[1] == 1);
	EXPECT(sums.host[2] == nextafterf(1, 2));
	EXPECT(sums.host[3] == -nextafterf(1, 2));
	EXPECT(std::fabs(sums.host[4] - 0.25f) < 1e-6f);
	EXPECT(sums.host[5] == 1);
	EXPECT(!memcmp(whole.host, expected, sizeof(expected)));
}

/* Mathematics: the same text for host and device */

static const char *const function_text[] = {
#define FUNCTION(expression, ulps) #expression,
#include "device_functions.def"
#undef FUNCTION
};

static const int function_ulps[] = {
#define FUNCTION(expression, ulps) ulps,
#include "device_functions.def"
#undef FUNCTION
};

const int FUNCTION_COUNT = sizeof(function_ulps) / sizeof(*function_ulps);

/* The arguments' products are rounded before use on both sides. */
__host__ __device__ static void evaluate_all(double *out, double x)
{
	int i = 0;

#define FUNCTION(expression, ulps) out[i++] = expression;
#include "device_functions.def"
#undef FUNCTION
}

__global__ void evaluate(double *out, double x)
{
	evaluate_all(out, x);
}

const int SINGLE_COUNT = 16;

__host__ __device__ static void evaluate_all_single(float *out, float x)
{
	const float values[SINGLE_COUNT] = {
		sinf(x),  expf(x),   logf(x),        powf(x, 1.5f), cosf(x),  sqrtf(x),
		tanhf(x), rintf(x),  fminf(x, 1),    fabsf(-x),     log2f(x), exp2f(x / 10),
		atanf(x), truncf(x), fmodf(x, 0.3f), 1 / sqrtf(x),
	};

	for (int i = 0; i < SINGLE_COUNT; i++)
		out[i] = values[i];
}

__global__ void evaluate_single(float *out, float x)
{
	evaluate_all_single(out, x);
}

/* The distance of two numbers, in units of the last place of the expected one. */
template <typename T> static double distance(T got, T expected, T next)
{
	if (got == expected || (std::isnan(got) && std::isnan(expected)))
		return 0;
	return std::fabs((double)got - (double)expected) /
	       std::fabs((double)next - (double)expected);
}

static void test_mathematics()
{
	array<double, FUNCTION_COUNT> out;
	array<float, SINGLE_COUNT> out_single;
	double expected[FUNCTION_COUNT];
	float expected_single[SINGLE_COUNT];

	for (double x : {0.001, 0.7, 1.0, 3.5, 17.25, 90.0}) {
		evaluate_all(expected, x);
		evaluate<<<1, 1>>>(out.device, x);
		out.fetch();
		for (int i = 0; i < FUNCTION_COUNT; i++) {
			double next = std::nextafter(expected[i], HUGE_VAL);
			double off = distance(out.host[i], expected[i], next);

			expect(function_text[i], off <= function_ulps[i]);
		}
	}
	for (float x : {0.001f, 0.7f, 3.5f, 17.25f}) {
		evaluate_all_single(expected_single, x);
		evaluate_single<<<1, 1>>>(out_single.device, x);
		out_single.fetch();
		for (int i = 0; i < SINGLE_COUNT; i++) {
			float next = nextafterf(expected_single[i], HUGE_VALF);
			double off = distance(out_single.host[i], expected_single[i], next);

			expect("a function in single precision", off <= 2);
		}
	}
}

__global__ void rough(float *out, float x)
{
	out[0] = __expf(x);
	out[1] = __logf(x);
	out[2] = __sinf(x);
	out[3] = __cosf(x);
	out[4] = __powf(x, 2);
	out[5] = std::sin(x);
	out[6] = std::abs(-x);
	out[7] = std::pow(x, 2.0f);
}

static void test_rough_mathematics()
{
	const float x = 0.75f;
	const float expected[] = {expf(x), logf(x), sinf(x), cosf(x), x * x, sinf(x), x, x * x};
	array<float, 8> out;

	rough<<<1, 1>>>(out.device, x);
	out.fetch();
	for (int i = 0; i < 8; i++)
		EXPECT(std::fabs(out.host[i] - expected[i]) < 1e-5f);
}

/* Warps */

__global__ void warps(unsigned int *out)
{
	unsigned int lane = threadIdx.x, all = 0xffffffff;
	int every;
	long long wide = (long long)lane << 33;

	out[lane] = __shfl_sync(all, lane * 10, 5);
	out[32 + lane] = __shfl_up_sync(all, lane, 1);
	out[64 + lane] = __shfl_down_sync(all, lane, 2);
	out[96 + lane] = __shfl_xor_sync(all, lane, 1);
	out[128 + lane] = (unsigned int)(__shfl_sync(all, wide, 31) >> 33);
	out[160 + lane] = __ballot_sync(all, lane & 1);
	out[192 + lane] = (__any_sync(all, lane == 31) ? 1 : 0) | (__all_sync(all, 1) ? 2 : 0) |
			  (__all_sync(all, lane) ? 4 : 0);
	out[224 + lane] = __match_any_sync(all, lane / 8);
	out[256 + lane] = __match_all_sync(all, 7, &every) == all && every;
	__syncwarp();
	if (lane < 8)
		out[288 + lane] = __activemask();
	out[320 + lane] = __syncthreads_count(lane < 5);
}

static void test_warps()
{
	array<unsigned int, 352> out;
	bool same = true;

	warps<<<1, 32>>>(out.device);
	out.fetch();
	for (unsigned int lane = 0; lane < 32; lane++) {
		const unsigned int expected[] = {
			50,
			lane ? lane - 1 : 0,
			lane < 30 ? lane + 2 : lane,
			lane ^ 1,
			31,
			0xaaaaaaaa,
			3,
			0xffu << lane / 8 * 8,
			1,
			lane < 8 ? 0xffu : 0u,
			5,
		};

		for (int i = 0; i < 11; i++) {
			if (out.host[i * 32 + lane] != expected[i]) {
				printf("device: lane %u, row %d: %#x, not %#x\n", lane, i,
				       out.host[i * 32 + lane], expected[i]);
				same = false;
			}
		}
	}
	expect("the functions of warps", same);
}

/* Atomics: every thread of 4 blocks of 64 takes part */

struct counters {
	int i_add, i_min, i_max, i_sub;
	unsigned int u_and, u_or, u_xor, u_inc, u_cas;
	unsigned long long ull_add, ull_max, ull_cas;
	float f_add, f_exchanged;
	double d_add;
	int block_add, system_add;
};

__global__ void atomics(counters *c)
{
	unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int seen;

	atomicAdd(&c->i_add, 1);
	atomicMin(&c->i_min, -(int)thread);
	atomicMax(&c->i_max, (int)thread);
	atomicSub(&c->i_sub, 2);
	atomicAnd(&c->u_and, ~(1u << thread % 32));
	atomicOr(&c->u_or, 1u << thread % 32);
	atomicXor(&c->u_xor, thread);
	atomicInc(&c->u_inc, 99);
	/* A counter by compare and swap. */
	do {
		seen = *(volatile unsigned int *)&c->u_cas;
	} while (atomicCAS(&c->u_cas, seen, seen + 1) != seen);
	atomicAdd(&c->ull_add, 1ull << 32);
	atomicMax(&c->ull_max, (unsigned long long)thread << 40);
	atomicCAS(&c->ull_cas, 0ull, 1ull + thread);
	atomicAdd(&c->f_add, 0.5f);
	atomicExch(&c->f_exchanged, 7.0f);
	atomicAdd(&c->d_add, 0.25);
	if (blockIdx.x == 0)
		atomicAdd_block(&c->block_add, 1);
	atomicAdd_system(&c->system_add, 1);
	__threadfence();
}

static void test_atomics()
{
	array<counters, 1> memory;
	counters &c = memory.host[0];

	c.u_and = 0xffffffff;
	memory.send();
	atomics<<<4, 64>>>(memory.device);
	memory.fetch();
	EXPECT(c.i_add == 256);
	EXPECT(c.i_min == -255);
	EXPECT(c.i_max == 255);
	EXPECT(c.i_sub == -512);
	EXPECT(c.u_and == 0);
	EXPECT(c.u_or == 0xffffffff);
	EXPECT(c.u_xor == 0);
	EXPECT(c.u_inc == 56);
	EXPECT(c.u_cas == 256);
	EXPECT(c.ull_add == 256ull << 32);
	EXPECT(c.ull_max == 255ull << 40);
	EXPECT(c.ull_cas >= 1 && c.ull_cas <= 256);
	EXPECT(c.f_add == 128);
	EXPECT(c.f_exchanged == 7);
	EXPECT(c.d_add == 64);
	EXPECT(c.block_add == 64);
	EXPECT(c.system_add == 256);
}

/* Variables and memory */

__constant__ int table[4];
__device__ int total = 5;
__device__ int3 *const nowhere = nullptr;

__global__ void __launch_bounds__(128, 2) use_memory(const float4 *in, float4 *out)
{
	extern __shared__ float dynamic[];
	float4 value = __ldg(&in[threadIdx.x]);
	uint3 index = threadIdx;
	int *heap = (int *)malloc(4 * sizeof(int));

	dynamic[threadIdx.x] = value.x;
	__syncthreads();
	value = make_float4(dynamic[blockDim.x - 1 - index.x], value.y + table[index.x % 4],
			    value.z, value.w);
	if (heap) {
		heap[3] = 9;
		value.w = heap[3];
	}
	free(heap);
	if (nowhere)
		value.x = -1;
	out[threadIdx.x] = value;
	atomicAdd(&total, 1);
}

static void test_memory()
{
	array<float4, 64> in, out;
	const int values[4] = {1, 2, 3, 4};
	int count = 0;
	void *address;
	size_t size = 0;
	bool same = true;

	for (int i = 0; i < 64; i++)
		in.host[i] = make_float4(i, 10 * i, 20 * i, 0);
	in.send();
	CHECK(cudaMemcpyToSymbol(table, values, sizeof(values)));
	use_memory<<<1, 64, 64 * sizeof(float)>>>(in.device, out.device);
	out.fetch();
	for (int i = 0; i < 64; i++) {
		float4 v = out.host[i];

		same &= v.x == 63 - i && v.y == 10 * i + values[i % 4] && v.z == 20 * i && v.w == 9;
	}
	expect("vectors, shared and constant memory, the heap", same);
	CHECK(cudaMemcpyFromSymbol(&count, total, sizeof(count)));
	EXPECT(count == 5 + 64);
	CHECK(cudaGetSymbolSize(&size, table));
	EXPECT(size == sizeof(values));
	CHECK(cudaGetSymbolAddress(&address, total));
	CHECK(cudaMemcpy(&count, address, sizeof(count), cudaMemcpyDeviceToHost));
	EXPECT(count == 5 + 64);
}

/* Time, and calls of functions through pointers */

typedef int (*function)(int);

__device__ __noinline__ int twice(int value)
{
	return 2 * value;
}

__device__ __noinline__ int factorial(int value)
{
	return value < 2 ? 1 : value * factorial(value - 1);
}

__global__ void times_and_calls(long long *out, int which)
{
	function functions[] = {twice, factorial};
	long long start = clock64(), ns, later;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	out[0] = functions[which](5);
	out[1] = functions[1 - which](5);
	__nanosleep(1000);
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
	out[2] = clock64() > start;
	out[3] = later >= ns;
}

static void test_times_and_calls()
{
	array<long long, 4> out;

	times_and_calls<<<1, 1>>>(out.device, 0);
	out.fetch();
	EXPECT(out.host[0] == 10);
	EXPECT(out.host[1] == 120);
	EXPECT(out.host[2] == 1);
	EXPECT(out.host[3] == 1);
}

/* Templates of the runtime API */

template <typename T> __global__ void fill(T *out, T value)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static void test_templates()
{
	int blocks = 0, size = 0, grid = 0;
	array<int, 64> out;
	int *pointer = out.device, value = 77;
	void *arguments[] = {&pointer, &value};
	struct cudaFuncAttributes attributes;

	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill<int>, 64, 0));
	EXPECT(blocks > 0);
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, fill<int>));
	EXPECT(grid > 0 && size % 32 == 0);
	CHECK(cudaFuncGetAttributes(&attributes, fill<int>));
	EXPECT(attributes.maxThreadsPerBlock > 0);
	CHECK(cudaLaunchKernel(fill<int>, dim3(2), dim3(32), arguments, 0, 0));
	out.fetch();
	EXPECT(out.host[0] == 77 && out.host[63] == 77);
}

__global__ void print(int value)
{
	if (threadIdx.x == 1)
		printf("device: printed by thread %d: %d %s %.2f %c %lld\n", threadIdx.x, value,
		       "text", 2.5, 'x', 1ll << 40);
}

int main()
{
	test_integers();
	test_roundings();
	test_mathematics();
	test_rough_mathematics();
	test_warps();
	test_atomics();
	test_memory();
	test_times_and_calls();
	test_templates();
	print<<<1, 2>>>(42);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	printf("device: %d checks are right, %d wrong\n", right, wrong);
	return wrong ? 1 : 0;
}
