/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A kernel that calls a function of another module: callee.cu. */
extern "C" __device__ float sum(float a, float b);

extern "C" __global__ void add(const float *a, const float *b, float *c, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		c[i] = sum(a[i], b[i]);
}
