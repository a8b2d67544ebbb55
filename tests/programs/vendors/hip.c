/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stand-in for libamdhip64: its functions succeed and do nothing; with LAYERED they call Level
 * Zero.
 */
#include "vendors.h"

static char memory[4096];

#ifdef LAYERED
#define CALL_BELOW(call) (void)(call)
#else
#define CALL_BELOW(call) (void)0
#endif

int hipGetDeviceCount(int *count)
{
	*count = 2;
	return 0;
}

int hipRuntimeGetVersion(int *version)
{
	*version = 50221153; /* 5.2 */
	return 0;
}

int hipMalloc(void **pointer, size_t size)
{
	CALL_BELOW(zeMemAllocDevice(NULL, NULL, size, 64, NULL, pointer));
	*pointer = size <= sizeof(memory) ? memory : 0;
	return *pointer ? 0 : 2; /* hipErrorOutOfMemory */
}

int hipFree(void *pointer)
{
	CALL_BELOW(zeMemFree(NULL, pointer));
	return 0;
}

int hipMemcpy(void *target, const void *source, size_t size, int kind)
{
	CALL_BELOW(zeCommandListAppendMemoryCopy(NULL, target, source, size, NULL, 0, NULL));
	return 0;
}

void __hipRegisterFunction(void **modules, const void *function, char *device, const char *name,
			   unsigned limit, void *tid, void *bid, void *block, void *grid, int *size)
{
}

int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, void *stream)
{
	CALL_BELOW(zeCommandListAppendLaunchKernel(
		stream, NULL, (const unsigned[3]){grid.x, grid.y, grid.z}, NULL, 0, NULL));
	return 0;
}

int hipMemcpyAsync(void *target, const void *source, size_t size, int kind, void *stream)
{
	return 0;
}

/* Handles of graphs and what they are made of. */
static void *new_handle(void)
{
	static char handles[16];
	static int count;

	return &handles[count++];
}

int hipStreamCreate(void **stream)
{
	*stream = new_handle();
	return 0;
}

int hipStreamBeginCapture(void *stream, int mode)
{
	return 0;
}

int hipStreamEndCapture(void *stream, void **graph)
{
	*graph = new_handle();
	return 0;
}

int hipGraphCreate(void **graph, unsigned flags)
{
	*graph = new_handle();
	return 0;
}

int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after, size_t count,
			    void *target, const void *source, size_t size, int kind)
{
	*node = new_handle();
	return 0;
}

int hipGraphAddKernelNode(void **node, void *graph, void *const *after, size_t count,
			  const struct hip_kernel_node *kernel)
{
	*node = new_handle();
	return 0;
}

int hipGraphInstantiate(void **executable, void *graph, void **node, char *log, size_t size)
{
	*executable = new_handle();
	return 0;
}

int hipGraphLaunch(void *executable, void *stream)
{
	return 0;
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
	*function = new_handle();
	return 0;
}

int hip_ext_launch(void *function, unsigned threads_x, unsigned threads_y, unsigned threads_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, size_t shared,
		   void *stream, void **arguments, void **extra, void *start, void *stop,
		   unsigned flags)
{
	return 0;
}

int hipExtLaunchMultiKernelMultiDevice(struct hip_launch *launches, int devices, unsigned flags)
{
	return 0;
}
