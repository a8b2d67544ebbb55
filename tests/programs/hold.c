/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hold [ALLOCATIONS]: allocates so many pieces of 256 bytes of device memory (100,000), says
 * "holding", and holds them until its input ends. It frees none.
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
