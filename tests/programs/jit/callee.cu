/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What caller.cu calls, and a kernel of its own. */
extern "C" __device__ float sum(float a, float b)
{
	return a + b;
}

extern "C" __global__ void twice(float *a)
{
	a[threadIdx.x] *= 2;
}
