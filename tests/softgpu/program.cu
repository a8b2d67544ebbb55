// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program for nvcc that uses what compiled code needs of the runtime: registered kernels,
// variables in constant, global and managed memory, launches in streams. Exit status 0: all well.
#include <cstdio>
#include <cstdlib>

__constant__ int factor;
__device__ int total;
__managed__ int managed = 40;

#ifdef TWO_UNITS
extern __device__ int twice(int value);
#else
__device__ int twice(int value)
{
	return 2 * value;
}
#endif

__global__ void scale(int *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] = twice(values[i]) * factor;
	atomicAdd(&total, 1);
	if (i == 0)
		managed += 2;
}

static void check(bool good, const char *what)
{
	if (!good) {
		printf("%s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
		exit(1);
	}
}

int main()
{
	const int count = 1000;
	int host[count], three = 3, threads = 0;
	int *device;
	void *place;
	cudaStream_t stream;

	for (int i = 0; i < count; i++)
		host[i] = i;
	check(!cudaMalloc(&device, sizeof(host)), "cudaMalloc");
#ifdef NO_PTX
	scale<<<4, 256>>>(device, count);
	check(cudaGetLastError() == cudaErrorNoKernelImageForDevice, "no kernel image expected");
	return 0;
#endif
	check(!cudaStreamCreate(&stream), "cudaStreamCreate");
	check(!cudaMemcpyToSymbol(factor, &three, sizeof(three)), "cudaMemcpyToSymbol");
	check(!cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream), "copy");
	scale<<<4, 256, 0, stream>>>(device, count);
	check(!cudaGetLastError(), "launch");
	check(!cudaMemcpyAsync(host, device, sizeof(host), cudaMemcpyDeviceToHost, stream), "copy");
	check(!cudaStreamSynchronize(stream), "cudaStreamSynchronize");
	for (int i = 0; i < count; i++)
		check(host[i] == 6 * i, "a value is wrong");
	check(!cudaMemcpyFromSymbol(&threads, total, sizeof(threads)), "cudaMemcpyFromSymbol");
	check(threads == 1024, "the number of threads is wrong");
	check(managed == 42, "the managed variable is wrong");
	check(!cudaGetSymbolAddress(&place, managed), "cudaGetSymbolAddress");
	check(place == &managed, "the managed variable is elsewhere");
	check(!cudaMemcpyFromSymbol(&threads, managed, sizeof(threads)), "cudaMemcpyFromSymbol");
	check(threads == 42, "the managed variable as a symbol is wrong");
	check(!cudaFree(device), "cudaFree");
	return 0;
}
