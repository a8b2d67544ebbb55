/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names that dlsym hooks in libgputap-agent.so. */
#include "agent/compilers.h"
#include "agent/level_zero/level_zero.h"
#include "agent/lookup.h"
#include "agent/services.h"

/* RTLD_NEXT and RTLD_DEFAULT have their meaning for the caller alone, which the loader examines. */
static bool is_in_library(const void *handle, const char *name)
{
	return !gt_agent_is_global(handle);
}

/* "clFinish", not "close". */
static bool is_opencl(const void *handle, const char *name)
{
	return !gt_agent_is_global(handle) && name[2] >= 'A' && name[2] <= 'Z';
}

/* Functions of libraries whose calls are traced may have such a name. */
static void *find_traced(void *handle, const char *name, const void *caller)
{
	return gt_agent_wrap(name, gt_agent_real_dlsym(handle, name), caller);
}

const struct gt_agent_hooked gt_agent_hooked[] = {
	{"nvrtc", gt_compiler_is_hooked, gt_compiler_find},
	{"nvJitLink", gt_compiler_is_hooked, gt_compiler_find},
	{"__nvJitLink", gt_compiler_is_hooked, gt_compiler_find},
	{"ze", gt_ze_is_hooked, gt_ze_find},
	{"ze", is_in_library, find_traced},
	{"cl", is_opencl, find_traced},
	{"hip", is_in_library, find_traced},
	{"__hip", is_in_library, find_traced},
	{"rocblas_", is_in_library, find_traced},
	{"miopen", is_in_library, find_traced},
	{"cu", is_in_library, find_traced},
	{"__cu", is_in_library, find_traced},
	{"nccl", is_in_library, find_traced},
	{NULL, NULL, NULL},
};
