/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stand-in for an OpenCL library whose driver crashes, or hangs where HANG is defined. */
#include "vendors.h"

#include <stdlib.h>
#include <unistd.h>

int clGetPlatformIDs(unsigned count, void **platforms, unsigned *ret_count)
{
#ifdef HANG
	for (;;)
		pause();
#endif
	abort();
}

int clGetPlatformInfo(void *platform, unsigned name, size_t size, void *value, size_t *ret_size)
{
	return 0;
}

int clGetDeviceIDs(void *platform, unsigned long type, unsigned count, void **devices,
		   unsigned *ret_count)
{
	return 0;
}

int clGetDeviceInfo(void *device, unsigned name, size_t size, void *value, size_t *ret_size)
{
	return 0;
}
