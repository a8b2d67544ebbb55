/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Three functions of cuBLASLt, as its header declares them; the product is the third matrix. */
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

enum { STATUS_SUCCESS = 0, STATUS_NOT_INITIALIZED = 1, STATUS_EXECUTION_FAILED = 13 };

EXPORT int cublasLtCreate(void **lightHandle);
EXPORT int cublasLtDestroy(void *lightHandle);
EXPORT int cublasLtMatmul(void *lightHandle, void *computeDesc, const void *alpha, const void *A,
			  void *Adesc, const void *B, void *Bdesc, const void *beta, const void *C,
			  void *Cdesc, void *D, void *Ddesc, const void *algo, void *workspace,
			  size_t workspaceSizeInBytes, cudaStream_t stream);

static int library;

int cublasLtCreate(void **lightHandle)
{
	*lightHandle = &library;
	return STATUS_SUCCESS;
}

int cublasLtDestroy(void *lightHandle)
{
	return lightHandle == &library ? STATUS_SUCCESS : STATUS_NOT_INITIALIZED;
}

int cublasLtMatmul(void *lightHandle, void *computeDesc, const void *alpha, const void *A,
		   void *Adesc, const void *B, void *Bdesc, const void *beta, const void *C,
		   void *Cdesc, void *D, void *Ddesc, const void *algo, void *workspace,
		   size_t workspaceSizeInBytes, cudaStream_t stream)
{
	(void)computeDesc, (void)alpha, (void)A, (void)Adesc, (void)B, (void)Bdesc, (void)beta;
	(void)Cdesc, (void)Ddesc, (void)algo, (void)workspace;
	if (lightHandle != &library)
		return STATUS_NOT_INITIALIZED;
	return cudaMemcpyAsync(D, C, workspaceSizeInBytes, cudaMemcpyDeviceToDevice, stream)
		       ? STATUS_EXECUTION_FAILED
		       : STATUS_SUCCESS;
}
