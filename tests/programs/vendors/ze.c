/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stand-in for Level Zero's loader: its functions succeed and do nothing. */
#include "vendors.h"

static char kernel, list;

/* Of no memory: each allocation has an address of its own. */
static void *next_address(void)
{
	static char addresses[64];
	static size_t next;

	return &addresses[next++ % sizeof(addresses)];
}

int zeMemAllocDevice(void *context, const void *description, size_t size, size_t alignment,
		     void *device, void **pointer)
{
	*pointer = next_address();
	return 0;
}

int zeMemAllocHost(void *context, const void *description, size_t size, size_t alignment,
		   void **pointer)
{
	*pointer = next_address();
	return 0;
}

int zeMemAllocShared(void *context, const void *of_device, const void *of_host, size_t size,
		     size_t alignment, void *device, void **pointer)
{
	*pointer = next_address();
	return 0;
}

int zeMemFree(void *context, void *pointer)
{
	return 0;
}

int zeCommandListCreate(void *context, void *device, const void *description, void **ret_list)
{
	*ret_list = &list;
	return 0;
}

int zeKernelCreate(void *module, const struct ze_kernel_desc *description, void **ret_kernel)
{
	*ret_kernel = &kernel;
	return 0;
}

int zeKernelSetGroupSize(void *of, unsigned x, unsigned y, unsigned z)
{
	return 0;
}

int zeKernelSetArgumentValue(void *of, unsigned index, size_t size, const void *value)
{
	return 0;
}

int zeCommandListAppendMemoryCopy(void *of, void *target, const void *source, size_t size,
				  void *signal, unsigned count, void **waits)
{
	return 0;
}

int zeCommandListAppendLaunchKernel(void *of, void *launched, const unsigned groups[3],
				    void *signal, unsigned count, void **waits)
{
	return 0;
}

int zeInit(unsigned flags)
{
	return 0x78000001; /* ZE_RESULT_ERROR_UNINITIALIZED */
}
