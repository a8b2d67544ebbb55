/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the loader that the agent takes the place of, and how programs get to them: one
 * that is linked with libze_loader.so.1 finds them here first, since the agent is preloaded; what
 * dlsym returns is replaced.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/environment.h"
#include "agent/level_zero/level_zero.h"
#include "agent/level_zero/private.h"
#include "agent/lookup.h"
#include "agent/services.h"

#define LOADER "libze_loader.so.1"

struct gt_ze_functions gt_ze;

static pthread_once_t loader_once = PTHREAD_ONCE_INIT;
static bool is_active;

bool gt_ze_is_active(void)
{
	return is_active;
}

static void reset_after_fork(void)
{
	gt_ze_memory_forked();
	gt_ze_modules_forked();
	gt_ze_kernels_forked();
}

static void find_loader(void)
{
	const struct gt_agent_environment *environment = gt_agent_environment();
	void *library = gt_agent_real_dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
#define HOOKED(name, parameters) CALLED(name, parameters)
#define CALLED(name, parameters)                                                                   \
	gt_ze.name = (int(*) parameters)gt_agent_real_dlsym(library, #name);
#include "agent/level_zero/functions.def"
#undef HOOKED
#undef CALLED
	is_active = environment->collector_size && environment->passes_images;
	if (is_active)
		pthread_atfork(NULL, NULL, reset_after_fork);
}

void gt_ze_find_loader(void)
{
	pthread_once(&loader_once, find_loader);
}

static const struct {
	const char *name;
	void *function;
	size_t offset; /* of the loader's own in gt_ze */
} hooks[] = {
#define HOOKED(name, parameters) {#name, (void *)name, offsetof(struct gt_ze_functions, name)},
#define CALLED(name, parameters)
#include "agent/level_zero/functions.def"
#undef HOOKED
#undef CALLED
};

/* The number of hooks: there is none of this name. */
static size_t find_hook(const char *name)
{
	size_t number = 0;

	while (number < sizeof(hooks) / sizeof(hooks[0]) && strcmp(hooks[number].name, name) != 0)
		number++;
	return number;
}

bool gt_ze_is_hooked(const void *handle, const char *name)
{
	return find_hook(name) < sizeof(hooks) / sizeof(hooks[0]);
}

/* The hook in place of the loader's own function. */
static void *hook_function(const char *name, void *function)
{
	size_t number = find_hook(name);

	gt_ze_find_loader();
	return *(void **)((char *)&gt_ze + hooks[number].offset) == function
		       ? hooks[number].function
		       : function;
}

void *gt_ze_find(void *handle, const char *name, const void *caller)
{
	void *function = gt_agent_real_dlsym(gt_agent_is_global(handle) ? RTLD_NEXT : handle, name);

	/* The agent's own functions are found first where a handle includes the program. */
	if (function && !gt_agent_is_own(function))
		function = hook_function(name, function);
	return gt_agent_is_global(handle) ? function : gt_agent_wrap(name, function, caller);
}
