/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stand-in for libamdhip64: its functions succeed and do nothing. */
#include "vendors.h"

static char memory[4096];

int hipMalloc(void **pointer, size_t size)
{
	*pointer = size <= sizeof(memory) ? memory : 0;
	return *pointer ? 0 : 2; /* hipErrorOutOfMemory */
}

int hipFree(void *pointer)
{
	return 0;
}

int hipMemcpy(void *target, const void *source, size_t size, int kind)
{
	return 0;
}

void __hipRegisterFunction(void **modules, const void *function, char *device, const char *name,
			   unsigned limit, void *tid, void *bid, void *block, void *grid, int *size)
{
}

int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, void *stream)
{
	return 0;
}
