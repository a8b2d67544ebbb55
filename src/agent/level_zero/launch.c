/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/level_zero/launch.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
	NUMBER,
	LOCAL_SIZE,
	HIDDEN_ARGUMENTS,
};

static atomic_uint_fast64_t launch_count; /* from 1 */

static bool set_hidden(const struct gt_ze_origin *origin, void *kernel,
		       const uint64_t values[HIDDEN_ARGUMENTS])
{
	for (uint32_t i = 0; i < HIDDEN_ARGUMENTS; i++)
		if (ZE4(zeKernelSetArgumentValue, kernel, origin->argument_count + i,
			sizeof(values[i]), &values[i]))
			return false;
	return true;
}

static const uint64_t unknown[HIDDEN_ARGUMENTS];

bool gt_ze_prepare_launches(void *kernel, struct gt_ze_origin *origin, uint32_t count)
{
	origin->takes_launch = count == origin->argument_count + HIDDEN_ARGUMENTS;
	if (!origin->takes_launch)
		return count == origin->argument_count;
	return gt_ze.zeKernelSetArgumentValue && set_hidden(origin, kernel, unknown);
}

/* The values of the next launch. */
static void count_launch(const struct gt_ze_origin *origin, uint64_t values[HIDDEN_ARGUMENTS])
{
	values[NUMBER] = atomic_fetch_add(&launch_count, 1) + 1;
	values[LOCAL_SIZE] = origin->local_size;
	for (size_t i = 0; i < GT_ZE_MAX_LOCAL; i++)
		values[LOCAL_SIZE] += origin->local_sizes[i];
}

/* The origin of a kernel that has hidden arguments, which are set for a launch; or NULL. */
static struct gt_ze_origin *begin_launch(void *kernel)
{
	struct gt_ze_origin *origin = gt_ze_origin_of(kernel);
	uint64_t values[HIDDEN_ARGUMENTS];

	if (!origin || !origin->takes_launch)
		return NULL;
	count_launch(origin, values);
	pthread_mutex_lock(&origin->lock);
	if (!origin->launching++)
		set_hidden(origin, kernel, values);
	pthread_mutex_unlock(&origin->lock);
	return origin;
}

static void end_launch(struct gt_ze_origin *origin, void *kernel)
{
	if (!origin)
		return;
	pthread_mutex_lock(&origin->lock);
	if (!--origin->launching)
		set_hidden(origin, kernel, unknown);
	pthread_mutex_unlock(&origin->lock);
}

/* The functions that append a launch of one kernel. */
#define LAUNCH(name)                                                                               \
	int name(void *list, void *kernel, const struct gt_ze_groups *groups, void *signal,        \
		 uint32_t count, void **events)                                                    \
	{                                                                                          \
		struct gt_ze_origin *origin;                                                       \
		int error;                                                                         \
                                                                                                   \
		ZE_NEED(name);                                                                     \
		origin = begin_launch(kernel);                                                     \
		error = gt_ze.name(list, kernel, groups, signal, count, events);                   \
		end_launch(origin, kernel);                                                        \
		return gt_ze_count_work(error, 1);                                                 \
	}

LAUNCH(zeCommandListAppendLaunchKernel)
LAUNCH(zeCommandListAppendLaunchCooperativeKernel)
LAUNCH(zeCommandListAppendLaunchKernelIndirect)

/* Those of several kernels, NULL at each that is not begun; one that occurs again has one number.
 */
static struct gt_ze_origin **begin_launches(void **kernels, uint32_t count)
{
	struct gt_ze_origin **begun = calloc(count, sizeof(struct gt_ze_origin *));

	for (uint32_t i = 0; begun && i < count; i++)
		begun[i] = begin_launch(kernels[i]);
	return begun;
}

static void end_launches(struct gt_ze_origin **begun, void **kernels, uint32_t count)
{
	for (uint32_t i = 0; begun && i < count; i++)
		end_launch(begun[i], kernels[i]);
	free(begun);
}

int zeCommandListAppendLaunchMultipleKernelsIndirect(void *list, uint32_t kernel_count,
						     void **kernels, const uint32_t *groups_used,
						     const struct gt_ze_groups *groups,
						     void *signal, uint32_t count, void **events)
{
	struct gt_ze_origin **begun;
	int error;

	ZE_NEED(zeCommandListAppendLaunchMultipleKernelsIndirect);
	begun = kernels && kernel_count ? begin_launches(kernels, kernel_count) : NULL;
	error = gt_ze.zeCommandListAppendLaunchMultipleKernelsIndirect(
		list, kernel_count, kernels, groups_used, groups, signal, count, events);
	end_launches(begun, kernels, kernel_count);
	return gt_ze_count_work(error, kernel_count);
}

/* ---- arguments by the launch ------------------------------------------------------------ */

/* The arguments of a launch and the hidden ones, which the caller frees; NULL: no memory. */
static void **add_hidden(const struct gt_ze_origin *origin, void **arguments, uint64_t *values)
{
	uint32_t own = arguments ? origin->argument_count : 0;
	void **all = calloc((size_t)origin->argument_count + HIDDEN_ARGUMENTS, sizeof(void *));

	if (!all)
		return NULL;
	for (uint32_t i = 0; i < own; i++)
		all[i] = arguments[i];
	for (uint32_t i = 0; i < HIDDEN_ARGUMENTS; i++)
		all[origin->argument_count + i] = &values[i];
	return all;
}

int zeCommandListAppendLaunchKernelWithArguments(void *list, void *kernel,
						 struct gt_ze_groups groups,
						 struct gt_ze_groups group_size, void **arguments,
						 const void *next, void *signal, uint32_t count,
						 void **events)
{
	uint64_t values[HIDDEN_ARGUMENTS];
	const struct gt_ze_origin *origin;
	void **all = NULL;
	int error;

	ZE_NEED(zeCommandListAppendLaunchKernelWithArguments);
	origin = gt_ze_origin_of(kernel);
	if (origin && origin->takes_launch) {
		count_launch(origin, values);
		all = add_hidden(origin, arguments, values);
		if (!all)
			return GT_ZE_ERROR_OUT_OF_HOST_MEMORY;
	}
	error = gt_ze.zeCommandListAppendLaunchKernelWithArguments(list, kernel, groups, group_size,
								   all ? all : arguments, next,
								   signal, count, events);
	free(all);
	return gt_ze_count_work(error, 1);
}
