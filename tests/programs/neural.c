/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * neural: a convolution and two products, the last one wrong. It finds the functions of cuDNN and
 * cuBLASLt by dlsym, as frameworks do.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int create_function(void **handle);
typedef int destroy_function(void *handle);
typedef int convolution_function(void *handle, const void *alpha, void *xDesc, const void *x,
				 void *wDesc, const void *w, void *convDesc, int algo,
				 void *workSpace, size_t workSpaceSizeInBytes, const void *beta,
				 void *yDesc, void *y);
typedef int product_function(void *lightHandle, void *computeDesc, const void *alpha, const void *A,
			     void *Adesc, const void *B, void *Bdesc, const void *beta,
			     const void *C, void *Cdesc, void *D, void *Ddesc, const void *algo,
			     void *workspace, size_t workspaceSizeInBytes, cudaStream_t stream);

enum { BYTES = 4096, IMPLICIT_PRECOMP_GEMM = 1 };

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "neural: %s\n", dlerror());
		exit(1);
	}
	return library;
}

static int convolve(void *data, void *result)
{
	void *library = open_library("libcudnn.so.9"), *handle;
	create_function *create = (create_function *)dlsym(library, "cudnnCreate");
	destroy_function *destroy = (destroy_function *)dlsym(library, "cudnnDestroy");
	convolution_function *run =
		(convolution_function *)dlsym(library, "cudnnConvolutionForward");
	const float one = 1, zero = 0;
	int failed = !!create(&handle);

	failed += !!run(handle, &one, NULL, data, NULL, data, NULL, IMPLICIT_PRECOMP_GEMM, NULL,
			BYTES, &zero, NULL, result);
	return failed + !!destroy(handle);
}

static int multiply(void *data, void *result)
{
	void *library = open_library("libcublasLt.so.13"), *handle;
	create_function *create = (create_function *)dlsym(library, "cublasLtCreate");
	destroy_function *destroy = (destroy_function *)dlsym(library, "cublasLtDestroy");
	product_function *run = (product_function *)dlsym(library, "cublasLtMatmul");
	const float one = 1, zero = 0;
	int failed = !!create(&handle);

	for (int i = 0; i < 2; i++)
		failed += !!run(i ? NULL : handle, NULL, &one, data, NULL, data, NULL, &zero, data,
				NULL, result, NULL, NULL, NULL, BYTES, NULL);
	return failed + !!destroy(handle);
}

int main(void)
{
	void *data, *result;

	if (cudaMalloc(&data, BYTES) || cudaMalloc(&result, BYTES))
		return 1;
	printf("neural: %d calls failed\n", convolve(data, result) + multiply(data, result));
	return 0;
}
