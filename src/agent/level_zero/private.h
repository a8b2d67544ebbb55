/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of the agent in programs that use Level Zero. The loader loads layers of fixed names
 * alone, so its functions are hooked. Beside each module of SPIR-V, the agent creates another one,
 * which the collector has patched. The program gets the handle of the original, and kernels,
 * variables and functions of the patched one. Whatever goes wrong, there is the original alone.
 *
 * Unlike the rest of the agent, it allocates by malloc, in processes that create modules.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "agent/functions.h"
#include "agent/level_zero/types.h"
#include "agent/own_call.h"

/* The loader's own; NULL: it does not have the function. */
struct gt_ze_functions {
#define HOOKED(name, parameters) int(*name) parameters;
#define CALLED(name, parameters) int(*name) parameters;
#include "agent/level_zero/functions.def"
#undef HOOKED
#undef CALLED
};
extern struct gt_ze_functions gt_ze;

#define HOOKED(name, parameters) EXPORT int name parameters;
#define CALLED(name, parameters)
#include "agent/level_zero/functions.def"
#undef HOOKED
#undef CALLED

/* Calls that the program does not make; the function exists. */
#define ZE1(name, a) GT_OWN_CALL(gt_ze.name, a)
#define ZE2(name, a, b) GT_OWN_CALL(gt_ze.name, a, b)
#define ZE3(name, a, b, c) GT_OWN_CALL(gt_ze.name, a, b, c)
#define ZE4(name, a, b, c, d) GT_OWN_CALL(gt_ze.name, a, b, c, d)
#define ZE5(name, a, b, c, d, e) GT_OWN_CALL(gt_ze.name, a, b, c, d, e)

/* ---- loader.c ---- */

/* Fill in gt_ze, once. */
void gt_ze_find_loader(void);
/* Whether modules are to be passed to the collector. */
bool gt_ze_is_active(void);

/* Each hook begins with it: a function that the loader does not have fails as one of its own. */
#define ZE_NEED(name)                                                                              \
	gt_ze_find_loader();                                                                       \
	if (!gt_ze.name)                                                                           \
	return GT_ZE_ERROR_UNINITIALIZED

/* ---- memory.c ---- */

/* How kernels of a device access the memory of the maps. */
enum gt_ze_access {
	GT_ZE_NO_ACCESS,
	GT_ZE_SYSTEM_MEMORY,
	GT_ZE_HOST_MEMORY, /* as a host allocation: kernels need GT_ZE_INDIRECT_ACCESS_HOST */
};

enum gt_ze_access gt_ze_access_maps(void *context, void *device);

/* ---- module.c ---- */

/* The patched form of a module. */
struct gt_ze_replacement {
	void *module;
	enum gt_ze_access access;
};

/* NULL: the module is not patched. */
const struct gt_ze_replacement *gt_ze_replacement_of(void *module);

/* ---- kernel.c ---- */

enum {
	GT_ZE_MAX_LOCAL = 16, /* arguments of local memory whose sizes are known */
};

/* What is beside a patched kernel. */
struct gt_ze_origin {
	void *original; /* a kernel of the original module, which is not launched */
	enum gt_ze_access access;
	bool takes_launch;                     /* it has the hidden arguments of launch.c */
	uint32_t argument_count;               /* of the original */
	uint32_t local_size;                   /* bytes, without arguments */
	uint32_t indirect_access;              /* flags, as the program has set them */
	uint32_t local_sizes[GT_ZE_MAX_LOCAL]; /* bytes, by argument; 0: no local memory */
	pthread_mutex_t lock; /* launch.c: of the hidden arguments, and the count */
	uint32_t launching;   /* calls that append a launch of the kernel */
};

/* NULL: the kernel is not patched. */
struct gt_ze_origin *gt_ze_origin_of(void *kernel);

/* ---- work.c ---- */

/* Count operations that were appended to a list, where --gpu-times is in use, unless there was an
 * error. Returns the error. */
int gt_ze_count_work(int error, uint32_t operations);

/* ---- in the child after fork ---- */

void gt_ze_memory_forked(void);
void gt_ze_modules_forked(void);
void gt_ze_kernels_forked(void);
