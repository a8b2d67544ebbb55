/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Three functions of cuBLAS, as its header declares them; the product is all zeros. */
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

enum { STATUS_SUCCESS = 0, STATUS_NOT_INITIALIZED = 1, STATUS_EXECUTION_FAILED = 13 };

EXPORT int cublasCreate_v2(void **handle);
EXPORT int cublasDestroy_v2(void *handle);
EXPORT int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k,
			  const float *alpha, const float *A, int lda, const float *B, int ldb,
			  const float *beta, float *C, int ldc);

static int library;

int cublasCreate_v2(void **handle)
{
	*handle = &library;
	return STATUS_SUCCESS;
}

int cublasDestroy_v2(void *handle)
{
	return handle == &library ? STATUS_SUCCESS : STATUS_NOT_INITIALIZED;
}

int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
		   const float *A, int lda, const float *B, int ldb, const float *beta, float *C,
		   int ldc)
{
	(void)transa, (void)transb, (void)k, (void)alpha, (void)A, (void)lda, (void)B, (void)ldb;
	(void)beta, (void)ldc;
	if (handle != &library)
		return STATUS_NOT_INITIALIZED;
	return cudaMemset(C, 0, (size_t)m * (size_t)n * sizeof(*C)) ? STATUS_EXECUTION_FAILED
								    : STATUS_SUCCESS;
}
