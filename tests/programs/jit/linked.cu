/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program for nvcc -rdc=true: the kernel of caller.cu is linked with callee.cu. */
#include <cstdio>

#include "caller.cu"

int main()
{
	const int count = 1000;
	float *a, *b, *c;
	int right = 0;

	if (cudaMallocManaged(&a, count * sizeof(*a)) ||
	    cudaMallocManaged(&b, count * sizeof(*b)) || cudaMallocManaged(&c, count * sizeof(*c)))
		return 1;
	for (int i = 0; i < count; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	add<<<4, 256>>>(a, b, c, count);
	if (cudaDeviceSynchronize())
		return 1;
	for (int i = 0; i < count; i++)
		right += c[i] == 3 * i;
	std::printf("add: %d sums are right\n", right);
	return 0;
}
