/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For nvcc -rdc=true, as two units: -DUNIT=1 defines device functions and a variable, which the
 * kernel of -DUNIT=2 uses. They are linked when the program is.
 */
#include <stdio.h>

#include <cuda_runtime.h>

#if UNIT == 1
__device__ int calls;

__device__ int triple(int value)
{
	atomicAdd(&calls, 1);
	return 3 * value;
}
#else
extern __device__ int calls;
extern __device__ int triple(int value);

__global__ void triple_all(int *values)
{
	values[threadIdx.x] = triple(values[threadIdx.x]);
}

int main()
{
	int values[64], *device, right = 0, called = 0;

	for (int i = 0; i < 64; i++)
		values[i] = i;
	cudaMalloc(&device, sizeof(values));
	cudaMemcpy(device, values, sizeof(values), cudaMemcpyHostToDevice);
	triple_all<<<1, 64>>>(device);
	cudaMemcpy(values, device, sizeof(values), cudaMemcpyDeviceToHost);
	cudaMemcpyFromSymbol(&called, calls, sizeof(called));
	for (int i = 0; i < 64; i++)
		right += values[i] == 3 * i;
	printf("rdc: %d of 64 products are right, %d calls: %s\n", right, called,
	       cudaGetErrorName(cudaGetLastError()));
	return right != 64 || called != 64;
}
#endif
