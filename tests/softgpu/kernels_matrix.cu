/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Matrices by CUDA's wmma classes, of every type, shape and order. */
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "kernels_check.h"

using namespace nvcuda;
using by_row = wmma::row_major;
using by_column = wmma::col_major;

template <class T, class F, class S, int M, int N, int K, class A, class B>
__global__ void multiply(const T *a, const T *b, const S *c, S *d, int stride_a, int stride_b)
{
	wmma::fragment<wmma::matrix_a, M, N, K, F, A> left;
	wmma::fragment<wmma::matrix_b, M, N, K, F, B> right;
	wmma::fragment<wmma::accumulator, M, N, K, S> sum, result;

	wmma::load_matrix_sync(left, a, stride_a);
	wmma::load_matrix_sync(right, b, stride_b);
	wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
	for (int i = 0; i < sum.num_elements; i++)
		sum.x[i] = sum.x[i] + sum.x[i];
	wmma::mma_sync(result, left, right, sum);
	wmma::store_matrix_sync(d, result, M, wmma::mem_col_major);
}

/* T: in memory; F: as the fragments call it; S: of the sums. */
template <class T, class F, class S, int M, int N, int K, class A, class B>
static void check(const char *what)
{
	const bool rows_a = std::is_same<A, by_row>::value, rows_b = std::is_same<B, by_row>::value;
	T *a = managed<T>(M * K), *b = managed<T>(K * N);
	S *c = managed<S>(M * N), *d = managed<S>(M * N);

	for (int i = 0; i < M * K; i++)
		a[i] = T((float)((i * 37 + 11) % 17 - 8));
	for (int i = 0; i < K * N; i++)
		b[i] = T((float)((i * 41 + 5) % 17 - 8));
	for (int i = 0; i < M * N; i++)
		c[i] = S((float)(i % 7));
	multiply<T, F, S, M, N, K, A, B><<<1, 32>>>(a, b, c, d, rows_a ? K : M, rows_b ? N : K);
	finish(what);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			double sum = 2 * (double)(float)c[i * N + j];

			for (int k = 0; k < K; k++)
				sum += (double)(float)a[rows_a ? i * K + k : k * M + i] *
				       (double)(float)b[rows_b ? k * N + j : j * K + k];
			EXPECT((double)(float)d[j * M + i] == sum, "%s (%d,%d) is %g, not %g", what,
			       i, j, (double)(float)d[j * M + i], sum);
		}
}

int main()
{
	check<half, half, float, 16, 16, 16, by_row, by_column>("f16");
	check<half, half, float, 16, 16, 16, by_column, by_row>("f16 turned");
	check<half, half, half, 16, 16, 16, by_row, by_row>("f16 sums");
	check<half, half, float, 32, 8, 16, by_row, by_column>("f16 32x8");
	check<half, half, float, 8, 32, 16, by_column, by_column>("f16 8x32");
	check<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, by_row, by_column>("bf16");
	check<__nv_bfloat16, __nv_bfloat16, float, 8, 32, 16, by_row, by_row>("bf16 8x32");
	check<signed char, signed char, int, 16, 16, 16, by_row, by_column>("s8");
	check<signed char, signed char, int, 32, 8, 16, by_row, by_column>("s8 32x8");
	check<float, wmma::precision::tf32, float, 16, 16, 8, by_row, by_column>("tf32");
	check<double, double, double, 8, 8, 4, by_row, by_column>("f64");
	return failures != 0;
}
