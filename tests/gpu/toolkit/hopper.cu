/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions of sm_90a: a product by wgmma, a tile that TMA copies by a tensor map, a bulk copy,
 * and cp.async. Prints sums of what the kernels stored.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			printf("hopper: %s: %s\n", #call, cudaGetErrorName(error_));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	WARP_GROUP = 128,
	M = 64,
	N = 8,
	K = 16,
	COUNT = 256,
	TILE = 16, /* rows and columns */
	WIDTH = 64,
};

__device__ static uint32_t shared_address(const void *pointer)
{
	return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* ---- barriers in shared memory -------------------------------------------------------------- */

__device__ static void expect_bytes(uint64_t *barrier, int bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
			     shared_address(barrier)),
		     "r"(bytes)
		     : "memory");
}

__device__ static void start_barrier(uint64_t *barrier)
{
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
			     "fence.proxy.async.shared::cta;" ::"r"(shared_address(barrier))
			     : "memory");
	__syncthreads();
}

__device__ static void wait_for_barrier(uint64_t *barrier)
{
	asm volatile("{\n.reg .pred done;\n"
		     "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
		     "@!done bra again;\n}" ::"r"(shared_address(barrier))
		     : "memory");
}

/* ---- kernels -------------------------------------------------------------------------------- */

__global__ void copy_bulk(const int *in, int *out)
{
	__shared__ alignas(128) int own[COUNT];
	__shared__ alignas(8) uint64_t barrier;

	start_barrier(&barrier);
	if (threadIdx.x == 0) {
		expect_bytes(&barrier, sizeof(own));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			     "[%0], [%1], %2, [%3];" ::"r"(shared_address(own)),
			     "l"(in), "r"((int)sizeof(own)), "r"(shared_address(&barrier))
			     : "memory");
	}
	wait_for_barrier(&barrier);
	for (int i = threadIdx.x; i < COUNT; i += blockDim.x)
		out[i] = own[COUNT - 1 - i];
}

__global__ void copy_tile(const __grid_constant__ CUtensorMap map, int *out)
{
	__shared__ alignas(128) int tile[TILE * TILE];
	__shared__ alignas(8) uint64_t barrier;

	start_barrier(&barrier);
	if (threadIdx.x == 0) {
		expect_bytes(&barrier, sizeof(tile));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
			     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
				     shared_address(tile)),
			     "l"(&map), "r"(TILE * (int)blockIdx.x), "r"(TILE * (int)blockIdx.y),
			     "r"(shared_address(&barrier))
			     : "memory");
	}
	wait_for_barrier(&barrier);
	for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
		out[(blockIdx.y * gridDim.x + blockIdx.x) * TILE * TILE + i] = 3 * tile[i];
}

__global__ void copy_async(const int *in, int *out)
{
	__shared__ alignas(16) int own[COUNT];
	int first = 4 * threadIdx.x;

	if (first < COUNT)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
				     shared_address(own + first)),
			     "l"(in + first)
			     : "memory");
	asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
	__syncthreads();
	for (int i = threadIdx.x; i < COUNT; i += blockDim.x)
		out[i] = own[i] ^ own[(i + 1) % COUNT];
}

/* A matrix in shared memory without swizzle: core matrices of 8 rows of 16 bytes. */
__device__ static uint64_t describe(const void *matrix, uint64_t leading, uint64_t stride)
{
	return (shared_address(matrix) & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32;
}

__device__ static int core_index(int row, int column, int rows)
{
	return column / 8 * rows * 8 + row * 8 + column % 8;
}

__global__ void multiply(const __half *a, const __half *b, float *out)
{
	__shared__ alignas(128) __half own_a[M * K], own_b[N * K];
	float sums[4] = {};

	for (int i = threadIdx.x; i < M * K; i += WARP_GROUP)
		own_a[core_index(i / K, i % K, M)] = a[i];
	for (int i = threadIdx.x; i < N * K; i += WARP_GROUP)
		own_b[core_index(i / K, i % K, N)] = b[i];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	asm volatile("wgmma.fence.sync.aligned;\n"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, "
		     "1, 1, 1, 0, 0;\n"
		     "wgmma.commit_group.sync.aligned;\n"
		     "wgmma.wait_group.sync.aligned 0;"
		     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
		     : "l"(describe(own_a, M * 16, 128)), "l"(describe(own_b, N * 16, 128))
		     : "memory");
	for (int i = 0; i < 4; i++)
		out[threadIdx.x * 4 + i] = sums[i];
}

/* ---- the host ------------------------------------------------------------------------------- */

template <class T> static T *allocate(int count)
{
	T *memory;

	CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
	for (int i = 0; i < count; i++)
		memory[i] = T((float)(i * 7 % 31));
	return memory;
}

template <class T> static void print_sum(const char *what, const T *values, int count)
{
	double sum = 0;

	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < count; i++)
		sum += (double)values[i] * (i % 97 + 1);
	printf("%s %.0f\n", what, sum);
}

static CUtensorMap make_map(int *memory)
{
	cuuint64_t sizes[] = {WIDTH, WIDTH}, strides[] = {WIDTH * sizeof(int)};
	cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
	cudaDriverEntryPointQueryResult found;
	decltype(&cuTensorMapEncodeTiled) encode;
	CUtensorMap map;

	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
					       cudaEnableDefault, &found));
	if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, sizes, strides, box, steps,
		   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
		printf("hopper: there is no tensor map\n");
		exit(1);
	}
	return map;
}

int main()
{
	int *in = allocate<int>(WIDTH * WIDTH), *out = allocate<int>(WIDTH * WIDTH);
	__half *a = allocate<__half>(M * K), *b = allocate<__half>(N * K);
	float *product = allocate<float>(M * N);

	copy_bulk<<<1, WARP_GROUP>>>(in, out);
	print_sum("bulk", out, COUNT);
	copy_async<<<1, WARP_GROUP>>>(in, out);
	print_sum("async", out, COUNT);
	copy_tile<<<dim3(WIDTH / TILE, WIDTH / TILE), WARP_GROUP>>>(make_map(in), out);
	print_sum("tiles", out, WIDTH * WIDTH);
	multiply<<<1, WARP_GROUP>>>(a, b, product);
	print_sum("product", product, M * N);
	return 0;
}
