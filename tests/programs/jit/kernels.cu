/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the programs of this folder compile while they run. */
extern "C" __global__ void add(const float *a, const float *b, float *c, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void __launch_bounds__(256) twice(float *a)
{
	a[threadIdx.x] *= 2;
}
