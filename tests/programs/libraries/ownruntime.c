/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A library with a CUDA runtime of its own, linked statically. */
#include <cuda_runtime_api.h>

__attribute__((visibility("default"))) int use_gpu(void);

int use_gpu(void)
{
	void *data;

	return cudaMalloc(&data, 4096) || cudaFree(data);
}
