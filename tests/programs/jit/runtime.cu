/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compiled by the tests: a kernel that calls a function of the device runtime, libcudadevrt. */

extern "C" __global__ void add(const float *a, const float *b, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count && cudaGetLastError() == cudaSuccess)
		sum[i] = a[i] + b[i];
}
