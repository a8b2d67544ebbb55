/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies in the default stream by both APIs. With CUDA_API_PER_THREAD_DEFAULT_STREAM, as by nvcc's
 * --default-stream per-thread, the headers make other functions of these: those that end in _ptsz
 * and _ptds, for which the default stream is the thread's own.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
	static char host[4096];
	cudaStream_t stream;
	void *memory;
	int error;

	error = cudaMalloc(&memory, sizeof(host));
	if (!error)
		error = cudaStreamCreate(&stream);
	if (!error)
		error = cudaMemcpyAsync(memory, host, 1000, cudaMemcpyHostToDevice, NULL);
	if (!error)
		error = cudaMemcpyAsync(memory, host, 2000, cudaMemcpyHostToDevice, stream);
	if (!error)
		error = cudaMemcpyAsync(memory, host, 3000, cudaMemcpyHostToDevice,
					cudaStreamLegacy);
	if (!error)
		error = cudaMemcpy(memory, host, 4000, cudaMemcpyHostToDevice);
	if (!error)
		error = cuMemcpyHtoD((CUdeviceptr)memory, host, 500);
	if (!error)
		error = cuMemcpyHtoDAsync((CUdeviceptr)memory, host, 600, NULL);
	if (error)
		fprintf(stderr, "default-stream: error %d\n", error);
	return error;
}
