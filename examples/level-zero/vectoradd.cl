/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel of vectoradd.c, in OpenCL C. */
__kernel void add(__global const float *a, __global const float *b, __global float *sum, int count)
{
	int i = get_global_id(0);

	if (i < count)
		sum[i] = a[i] + b[i];
}
