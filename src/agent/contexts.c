/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the maps in the contexts of the process: every context that executes patched code
 * must reach it.
 */
#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/functions.h"

enum {
	CU_REGISTER_PORTABLE = 1,
	CU_REGISTER_DEVICEMAP = 2,
};

/* Patched code was loaded, so the maps must be reachable from every context from now on. */
static atomic_bool maps_are_used;
/* A context has ended since the maps were last seen to be reachable. */
static atomic_bool maps_may_be_lost;

/* Whether the GPUs reach the maps, at the address where the process has them. */
static bool is_registered(void *memory)
{
	uint64_t address = 0;

	return !gt_driver.cuMemHostGetDevicePointer_v2(&address, memory, 0) &&
	       address == (uint64_t)(uintptr_t)memory;
}

/* Let the GPUs reach the maps, in all contexts. */
static bool register_memory(void *memory, size_t size)
{
	/* Another thread may be first: only the outcome counts. */
	if (!is_registered(memory))
		gt_driver.cuMemHostRegister_v2(memory, size,
					       CU_REGISTER_PORTABLE | CU_REGISTER_DEVICEMAP);
	return is_registered(memory);
}

/*
 * The same in the primary context of the first device, which stays retained: a library may be
 * loaded before there is a context, and the runtime will use this one.
 */
static bool register_in_primary_context(void *memory, size_t size)
{
	bool before = false, after = false;
	void *context;

	if (!gt_driver.cuDevicePrimaryCtxRetain || !gt_driver.cuDevicePrimaryCtxRelease_v2 ||
	    !gt_driver.cuCtxPushCurrent_v2 || !gt_driver.cuCtxPopCurrent_v2 ||
	    gt_driver.cuDevicePrimaryCtxRetain(&context, 0))
		return false;
	if (!gt_driver.cuCtxPushCurrent_v2(context)) {
		before = is_registered(memory);
		after = before || register_memory(memory, size);
		gt_driver.cuCtxPopCurrent_v2(&context);
	}
	if (before || !after)
		gt_driver.cuDevicePrimaryCtxRelease_v2(0);
	return after;
}

static bool has_context(void)
{
	void *context = NULL;

	return !gt_driver.cuCtxGetCurrent(&context) && context;
}

bool gt_agent_maps_ready(void)
{
	void *memory;
	size_t size;

	if (!gt_driver.cuMemHostRegister_v2 || !gt_driver.cuMemHostGetDevicePointer_v2 ||
	    !gt_driver.cuCtxGetCurrent || !gt_agent_map_memory(&memory, &size))
		return false;
	return has_context() ? register_memory(memory, size)
			     : register_in_primary_context(memory, size);
}

/*
 * A context that ends takes its registrations with it, while libraries and the modules of other
 * contexts live on. The maps are registered again in the next context that becomes current.
 */
static void restore_maps(void)
{
	void *memory;
	size_t size;

	if (!atomic_load(&maps_may_be_lost) || !has_context() ||
	    !gt_agent_map_memory(&memory, &size))
		return;
	if (register_memory(memory, size))
		atomic_store(&maps_may_be_lost, false);
}

static void lose_maps(void)
{
	if (!atomic_load(&maps_are_used))
		return;
	atomic_store(&maps_may_be_lost, true);
	restore_maps();
}

CUresult cuCtxDestroy_v2(void *context)
{
	CUresult error;

	NEED(cuCtxDestroy_v2);
	error = gt_driver.cuCtxDestroy_v2(context);
	if (!error)
		lose_maps();
	return error;
}

CUresult cuDevicePrimaryCtxReset_v2(int device)
{
	CUresult error;

	NEED(cuDevicePrimaryCtxReset_v2);
	error = gt_driver.cuDevicePrimaryCtxReset_v2(device);
	if (!error)
		lose_maps();
	return error;
}

CUresult cuDevicePrimaryCtxRelease_v2(int device)
{
	CUresult error;

	NEED(cuDevicePrimaryCtxRelease_v2);
	error = gt_driver.cuDevicePrimaryCtxRelease_v2(device);
	if (!error)
		lose_maps();
	return error;
}

CUresult cuCtxSetCurrent(void *context)
{
	CUresult error;

	NEED(cuCtxSetCurrent);
	error = gt_driver.cuCtxSetCurrent(context);
	restore_maps();
	return error;
}

CUresult cuCtxPushCurrent_v2(void *context)
{
	CUresult error;

	NEED(cuCtxPushCurrent_v2);
	error = gt_driver.cuCtxPushCurrent_v2(context);
	restore_maps();
	return error;
}

/* The runtime does so after a reset, and may not make the context current by name. */
CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
	CUresult error;
	void *popped;

	NEED(cuDevicePrimaryCtxRetain);
	error = gt_driver.cuDevicePrimaryCtxRetain(context, device);
	if (!error && atomic_load(&maps_may_be_lost) && gt_driver.cuCtxPushCurrent_v2 &&
	    gt_driver.cuCtxPopCurrent_v2 && !gt_driver.cuCtxPushCurrent_v2(*context)) {
		restore_maps();
		gt_driver.cuCtxPopCurrent_v2(&popped);
	}
	return error;
}

void gt_agent_use_maps(void)
{
	atomic_store(&maps_are_used, true);
}
