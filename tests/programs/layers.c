/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* layers: calls libraries above CUDA. Two products, three reductions, the last one wrong. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
		   const float *A, int lda, const float *B, int ldb, const float *beta, float *C,
		   int ldc);
int ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, int datatype, int op,
		  void *comm, cudaStream_t stream);

enum { M = 16, N = 8, K = 4, FLOAT32 = 7, SUM = 0 };

int main(void)
{
	const float one = 1, zero = 0;
	void *handle, *data, *result;
	int failed = 0;

	if (cudaMalloc(&data, 4096) || cudaMalloc(&result, 4096) || cublasCreate_v2(&handle))
		return 1;
	for (int i = 0; i < 2; i++)
		failed += !!cublasSgemm_v2(handle, 0, 1, M, N, K, &one, data, M, data, N, &zero,
					   result, M);
	for (int i = 0; i < 3; i++)
		failed += !!ncclAllReduce(data, result, 100, i < 2 ? FLOAT32 : -1, SUM, NULL, NULL);
	failed += !!cublasDestroy_v2(handle);
	printf("layers: %d calls failed\n", failed);
	return 0;
}
