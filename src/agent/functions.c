/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the driver that the agent takes the place of, and how programs get to them.
 *
 * A program that is linked with libcuda.so.1 finds them here first, since the agent is preloaded.
 * One that opens it by dlopen, as NVIDIA's runtime does, gets libgputap-driver.so: it is empty and
 * needs the agent and libcuda.so.1, in this order, and dlsym on its handle looks into both. What
 * cuGetProcAddress returns is replaced.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/functions.h"
#include "agent/lookup.h"
#include "agent/services.h"
#include "agent/work.h"

#define DRIVER "libcuda.so.1"
#define DRIVER_SHIM "libgputap-driver.so"

enum {
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};

struct gt_agent_functions gt_driver;

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

typedef void *dlopen_function(const char *path, int mode);

static dlopen_function *real_dlopen(void)
{
	static _Atomic(dlopen_function *) found;
	dlopen_function *function = atomic_load_explicit(&found, memory_order_relaxed);

	if (!function) {
		function = (dlopen_function *)dlsym(RTLD_NEXT, "dlopen");
		atomic_store_explicit(&found, function, memory_order_relaxed);
	}
	return function;
}

void *gt_agent_real_dlopen(const char *path, int mode)
{
	return real_dlopen()(path, mode);
}

static bool is_active;

bool gt_agent_is_active(void)
{
	return is_active;
}

static void reset_after_fork(void)
{
	gt_agent_contexts_forked();
	gt_agent_sides_forked();
	gt_agent_numbers_forked();
	gt_agent_work_forked();
	gt_agent_ring_forked();
}

static void find_driver(void)
{
	void *library = real_dlopen()(DRIVER, RTLD_NOW | RTLD_LOCAL);

	is_active = gt_agent_environment()->collector_size > 0;
	if (is_active)
		pthread_atfork(NULL, NULL, reset_after_fork);
	if (!library)
		return;
#define HOOKED(base, since, name, parameters) CALLED(name, parameters)
#define CALLED(name, parameters)                                                                   \
	gt_driver.name = (CUresult(*) parameters)gt_agent_real_dlsym(library, #name);
#define WORK(base, since, name, per_thread, parameters, ...) CALLED(name, parameters)
#include "agent/functions.def"
#include "agent/work.def"
#undef HOOKED
#undef CALLED
#undef WORK
	if (is_active)
		gt_agent_work_open();
}

void gt_agent_find_driver(void)
{
	pthread_once(&driver_once, find_driver);
}

static const struct {
	const char *base; /* as cuGetProcAddress takes it */
	int since;        /* CUDA version */
	void *function;
	size_t offset; /* of the driver's own in gt_driver */
	bool is_work;  /* of work.def */
	bool per_thread;
} hooks[] = {
#define HOOKED(base, since, name, parameters)                                                      \
	{#base, since, (void *)name, offsetof(struct gt_agent_functions, name), false, false},
#define CALLED(name, parameters)
#define WORK(base, since, name, per_thread, parameters, ...)                                       \
	{#base, since, (void *)name, offsetof(struct gt_agent_functions, name), true, per_thread},
#include "agent/functions.def"
#include "agent/work.def"
#undef HOOKED
#undef CALLED
#undef WORK
};

static void *own_function(size_t hook)
{
	return *(void **)((char *)&gt_driver + hooks[hook].offset);
}

/* Whether functions that submit work are hooked. */
static bool hooks_work(void)
{
	return gt_agent_work_is_timed() || gt_agent_environment()->numbers_devices;
}

/*
 * Replace a function that cuGetProcAddress returned by its hook. Versions of one function have
 * different parameters: where the driver returned none that it exports, the version decides, of
 * which newer ones come later in the table, and the flags for per-thread-stream variants.
 */
static void hook_function(const char *symbol, void **function, int version, uint64_t flags)
{
	bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	void *hook = NULL;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (strcmp(hooks[i].base, symbol) != 0 || (hooks[i].is_work && !hooks_work()))
			continue;
		if (own_function(i) == *function) {
			*function = hooks[i].function;
			return;
		}
		if (hooks[i].since <= version && (!hooks[i].per_thread || per_thread))
			hook = hooks[i].function;
	}
	if (hook)
		*function = hook;
}

static void replace_function(const char *symbol, void **function, int version, uint64_t flags)
{
	if (!symbol || !function || !*function)
		return;
	hook_function(symbol, function, version, flags);
	*function = gt_agent_wrap(symbol, *function, NULL);
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	CUresult error;

	NEED(cuGetProcAddress);
	error = gt_driver.cuGetProcAddress(symbol, function, version, flags);
	if (!error)
		replace_function(symbol, function, version, flags);
	return error;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			     int *status)
{
	CUresult error;

	NEED(cuGetProcAddress_v2);
	error = gt_driver.cuGetProcAddress_v2(symbol, function, version, flags, status);
	if (!error)
		replace_function(symbol, function, version, flags);
	return error;
}

/* "libcuda.so.1" and "libcuda.so", with any directory. */
static bool is_driver(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && (!strcmp(name, DRIVER) || !strcmp(name, "libcuda.so"));
}

/*
 * The shim lies beside the agent. It gets the driver by its name, which is the one at `driver_path`
 * once this is loaded.
 */
static void *open_shim(const char *driver_path, int mode)
{
	Dl_info self;
	char path[PATH_MAX];
	const char *slash;

	if (strchr(driver_path, '/') && !real_dlopen()(driver_path, mode))
		return NULL;
	if (!dladdr((void *)open_shim, &self) || !self.dli_fname)
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	if (!slash || (size_t)(slash - self.dli_fname) > sizeof(path) - sizeof("/" DRIVER_SHIM))
		return NULL;
	snprintf(path, sizeof(path), "%.*s/" DRIVER_SHIM, (int)(slash - self.dli_fname),
		 self.dli_fname);
	return real_dlopen()(path, mode);
}

/*
 * The driver's shim in place of the driver. All other calls leave by a jump (-O2), not by a call:
 * the loader uses the return address to find out whose RUNPATH counts.
 */
EXPORT void *dlopen(const char *path, int mode)
{
	if (is_driver(path)) {
		void *shim = open_shim(path, mode);

		if (shim)
			return shim;
	}
	return real_dlopen()(path, mode);
}
