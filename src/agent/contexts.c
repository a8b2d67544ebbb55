/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the maps in the contexts of the process: every context that executes patched code
 * must reach it. It is registered in one context, portably, so that all reach it. A context that
 * ends takes its registrations with it, while libraries and the modules of other contexts live on:
 * then it is registered again in another context that lives. So contexts are known from the moment
 * that the program creates or selects them.
 */
#include <stdatomic.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/work.h"

enum {
	CU_REGISTER_PORTABLE = 1,
	CU_REGISTER_DEVICEMAP = 2,
	MAX_CONTEXTS = 256, /* of others, maps are registered when patched code is loaded there */
};

struct known_context {
	void *handle;
	bool reaches_maps;
};

static struct {
	pthread_mutex_t lock;
	struct known_context items[MAX_CONTEXTS];
	unsigned count;
	atomic_bool maps_are_used; /* patched code was loaded */
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void gt_agent_contexts_forked(void)
{
	gt_agent_device_maps_forked();
	pthread_mutex_init(&contexts.lock, NULL);
}

/* ---- the memory of the maps ------------------------------------------------------------ */

/* Whether the current context reaches the maps, at the address where the process has them. */
static bool is_registered(void *memory)
{
	uint64_t address = 0;

	return !OWN3(cuMemHostGetDevicePointer_v2, &address, memory, 0) &&
	       address == (uint64_t)(uintptr_t)memory;
}

/* Let all contexts reach the maps, by the current one. */
static bool register_memory(void *memory, size_t size)
{
	/* Another thread may be first: only the outcome counts. */
	if (!is_registered(memory))
		OWN3(cuMemHostRegister_v2, memory, size,
		     CU_REGISTER_PORTABLE | CU_REGISTER_DEVICEMAP);
	return is_registered(memory);
}

/* Let the current context reach all maps. */
static bool reach_maps(void *memory, size_t size)
{
	return register_memory(memory, size) && gt_agent_device_maps_ready(register_memory);
}

/* ---- known contexts -------------------------------------------------------------------- */

/* The caller holds the lock. */
static struct known_context *find_context_locked(const void *handle)
{
	for (unsigned i = 0; i < contexts.count; i++)
		if (contexts.items[i].handle == handle)
			return &contexts.items[i];
	return NULL;
}

/* Whether the context may not reach the maps. */
static bool add_context(void *handle)
{
	struct known_context *known;
	bool is_new;

	pthread_mutex_lock(&contexts.lock);
	known = find_context_locked(handle);
	is_new = !known || !known->reaches_maps;
	if (!known && contexts.count < MAX_CONTEXTS)
		contexts.items[contexts.count++] = (struct known_context){.handle = handle};
	pthread_mutex_unlock(&contexts.lock);
	return is_new;
}

static void remove_context(const void *handle)
{
	struct known_context *known;

	pthread_mutex_lock(&contexts.lock);
	known = find_context_locked(handle);
	if (known)
		*known = contexts.items[--contexts.count];
	pthread_mutex_unlock(&contexts.lock);
}

/* A registration has ended with its context: nothing is known of the others. */
static void doubt_contexts(void)
{
	pthread_mutex_lock(&contexts.lock);
	for (unsigned i = 0; i < contexts.count; i++)
		contexts.items[i].reaches_maps = false;
	pthread_mutex_unlock(&contexts.lock);
}

static void confirm_context(const void *handle)
{
	struct known_context *known;

	pthread_mutex_lock(&contexts.lock);
	known = find_context_locked(handle);
	if (known)
		known->reaches_maps = true;
	pthread_mutex_unlock(&contexts.lock);
}

static bool can_select(void)
{
	return gt_driver.cuCtxPushCurrent_v2 && gt_driver.cuCtxPopCurrent_v2;
}

/* Let a context reach the maps. */
static void connect_context(void *handle, void *memory, size_t size)
{
	void *popped;

	if (OWN1(cuCtxPushCurrent_v2, handle))
		return;
	if (reach_maps(memory, size))
		confirm_context(handle);
	OWN1(cuCtxPopCurrent_v2, &popped);
}

/* Let all known contexts reach the maps. No lock is held while the driver is called. */
static void connect_contexts(void)
{
	void *handles[MAX_CONTEXTS], *memory;
	unsigned count = 0;
	size_t size;

	if (!atomic_load(&contexts.maps_are_used) || !can_select() ||
	    !gt_agent_map_memory(&memory, &size))
		return;
	pthread_mutex_lock(&contexts.lock);
	for (unsigned i = 0; i < contexts.count; i++)
		if (!contexts.items[i].reaches_maps)
			handles[count++] = contexts.items[i].handle;
	pthread_mutex_unlock(&contexts.lock);
	for (unsigned i = 0; i < count; i++)
		connect_context(handles[i], memory, size);
}

/* The program has this context, and may execute patched code there. */
static void see_context(void *handle)
{
	struct gt_agent_caller caller;

	if (!handle || !gt_agent_is_active() || !add_context(handle) ||
	    !atomic_load(&contexts.maps_are_used))
		return;
	caller = gt_agent_save_caller();
	connect_contexts();
	gt_agent_restore_caller(&caller);
}

/* ---- before code is loaded ------------------------------------------------------------- */

/*
 * Without a context: register in the primary context of the first device, which stays retained. The
 * program will use this one, or another one, which is then connected.
 */
static bool register_in_primary_context(void *memory, size_t size)
{
	bool before = false, after = false;
	void *context = NULL, *popped;

	if (!gt_driver.cuDevicePrimaryCtxRetain || !gt_driver.cuDevicePrimaryCtxRelease_v2 ||
	    !can_select() || OWN2(cuDevicePrimaryCtxRetain, &context, 0))
		return false;
	if (!OWN1(cuCtxPushCurrent_v2, context)) {
		before = is_registered(memory);
		after = reach_maps(memory, size);
		OWN1(cuCtxPopCurrent_v2, &popped);
	}
	if (before || !after) {
		OWN1(cuDevicePrimaryCtxRelease_v2, 0);
	} else {
		add_context(context);
		confirm_context(context);
	}
	return after;
}

bool gt_agent_maps_ready(void)
{
	void *memory, *context = NULL;
	size_t size;

	if (!gt_driver.cuMemHostRegister_v2 || !gt_driver.cuMemHostGetDevicePointer_v2 ||
	    !gt_driver.cuCtxGetCurrent || !gt_agent_map_memory(&memory, &size))
		return false;
	if (OWN1(cuCtxGetCurrent, &context) || !context) {
		if (!register_in_primary_context(memory, size))
			return false;
	} else {
		add_context(context);
		if (!reach_maps(memory, size))
			return false;
		confirm_context(context);
	}
	if (!atomic_exchange(&contexts.maps_are_used, true))
		connect_contexts();
	return true;
}

/* ---- contexts that end ----------------------------------------------------------------- */

/* The primary context of a device while it is active, or NULL. */
static void *find_primary_context(int device)
{
	void *context = NULL;
	unsigned flags;
	int active = 0;

	if (!gt_agent_is_active() || !gt_driver.cuDevicePrimaryCtxGetState ||
	    !gt_driver.cuDevicePrimaryCtxRetain || !gt_driver.cuDevicePrimaryCtxRelease_v2 ||
	    OWN3(cuDevicePrimaryCtxGetState, device, &flags, &active) || !active ||
	    OWN2(cuDevicePrimaryCtxRetain, &context, device))
		return NULL;
	OWN1(cuDevicePrimaryCtxRelease_v2, device);
	return context;
}

static bool is_primary_active(int device)
{
	unsigned flags;
	int active = 0;

	return !OWN3(cuDevicePrimaryCtxGetState, device, &flags, &active) && active;
}

/* A call that may end a context, from which nobody selects it any more. */
struct context_end {
	void *context;
	uint64_t time;
};

static struct context_end begin_end(void *context)
{
	struct context_end end = {.context = context, .time = gt_agent_side_time()};

	if (context) {
		gt_agent_work_suspend(context);
		remove_context(context);
		gt_agent_forget_context_number(context);
	}
	return end;
}

static void finish_end(const struct context_end *end, bool has_ended)
{
	struct gt_agent_caller caller;

	if (!end->context)
		return;
	gt_agent_work_resume(end->context, has_ended);
	if (!has_ended) {
		see_context(end->context);
		return;
	}
	gt_agent_end_sides(end->context, end->time);
	doubt_contexts();
	caller = gt_agent_save_caller();
	connect_contexts();
	gt_agent_restore_caller(&caller);
}

#define END_CONTEXT(function, context)                                                             \
	struct context_end end;                                                                    \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	end = begin_end(context);                                                                  \
	error = gt_driver.function(context);                                                       \
	finish_end(&end, !error);                                                                  \
	return error

CUresult cuCtxDestroy(void *context)
{
	END_CONTEXT(cuCtxDestroy, context);
}

CUresult cuCtxDestroy_v2(void *context)
{
	END_CONTEXT(cuCtxDestroy_v2, context);
}

/* Of its uses by cuCtxAttach others may be left: then it becomes known again when it is selected.
 */
CUresult cuCtxDetach(void *context)
{
	END_CONTEXT(cuCtxDetach, context);
}

/* The context of a green context ends with it. */
CUresult cuGreenCtxDestroy(void *green)
{
	struct context_end end;
	void *context = NULL;
	CUresult error;

	NEED(cuGreenCtxDestroy);
	if (gt_agent_is_active() && gt_driver.cuCtxFromGreenCtx &&
	    OWN2(cuCtxFromGreenCtx, &context, green))
		context = NULL;
	end = begin_end(context);
	error = gt_driver.cuGreenCtxDestroy(green);
	finish_end(&end, !error);
	return error;
}

#define END_PRIMARY_CONTEXT(function, device, has_ended)                                           \
	struct context_end end;                                                                    \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	end = begin_end(find_primary_context(device));                                             \
	error = gt_driver.function(device);                                                        \
	finish_end(&end, !error && (has_ended));                                                   \
	return error

CUresult cuDevicePrimaryCtxReset(int device)
{
	END_PRIMARY_CONTEXT(cuDevicePrimaryCtxReset, device, true);
}

CUresult cuDevicePrimaryCtxReset_v2(int device)
{
	END_PRIMARY_CONTEXT(cuDevicePrimaryCtxReset_v2, device, true);
}

CUresult cuDevicePrimaryCtxRelease(int device)
{
	END_PRIMARY_CONTEXT(cuDevicePrimaryCtxRelease, device, !is_primary_active(device));
}

CUresult cuDevicePrimaryCtxRelease_v2(int device)
{
	END_PRIMARY_CONTEXT(cuDevicePrimaryCtxRelease_v2, device, !is_primary_active(device));
}

/* ---- contexts that begin or are selected ----------------------------------------------- */

/* After a call that succeeded, where *context may be new. */
#define BEGIN_CONTEXT(function, ...)                                                               \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	error = gt_driver.function(context, __VA_ARGS__);                                          \
	if (!error && context)                                                                     \
		see_context(*context);                                                             \
	return error

CUresult cuCtxCreate(void **context, unsigned flags, int device)
{
	BEGIN_CONTEXT(cuCtxCreate, flags, device);
}

CUresult cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	BEGIN_CONTEXT(cuCtxCreate_v2, flags, device);
}

CUresult cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device)
{
	BEGIN_CONTEXT(cuCtxCreate_v3, affinity, count, flags, device);
}

CUresult cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)
{
	BEGIN_CONTEXT(cuCtxCreate_v4, parameters, flags, device);
}

/* The runtime does so after a reset, and may not make the context current by name. */
CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
	BEGIN_CONTEXT(cuDevicePrimaryCtxRetain, device);
}

#define SELECT_CONTEXT(function, context)                                                          \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	error = gt_driver.function(context);                                                       \
	if (!error)                                                                                \
		see_context(context);                                                              \
	return error

CUresult cuCtxSetCurrent(void *context)
{
	SELECT_CONTEXT(cuCtxSetCurrent, context);
}

CUresult cuCtxPushCurrent(void *context)
{
	SELECT_CONTEXT(cuCtxPushCurrent, context);
}

CUresult cuCtxPushCurrent_v2(void *context)
{
	SELECT_CONTEXT(cuCtxPushCurrent_v2, context);
}
