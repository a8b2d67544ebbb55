/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hold [ALLOCATIONS]: makes so many allocations of 256 bytes of device memory (default: 100,000),
 * prints "holding", and keeps them until its input ends. It frees none.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100000;
	void *pointer;

	for (long i = 0; i < count; i++)
		if (cudaMalloc(&pointer, 256) != cudaSuccess)
			return 1;
	printf("holding\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
