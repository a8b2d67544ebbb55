/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernels and launches of Level Zero in the agent, with functions of a loader in this file: also
 * launches that pass their arguments (API version 1.14), which Debian 12's loader does not have.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "agent/level_zero/private.h"
#include "tap.h"

enum {
	THREADS = 4,
	LAUNCHES = 20000, /* of each thread */
	ARGUMENTS = 3,    /* of the original kernel */
	MAX_ARGUMENTS = ARGUMENTS + 2,
	REJECTED = 0x78000004,
};

struct gt_agent_functions gt_driver;
struct gt_ze_functions gt_ze;

static char module, patched_module, original, patched;

/* What the loader's functions got. */
static struct {
	unsigned hidden; /* arguments that patched kernels have more */
	uint64_t values[MAX_ARGUMENTS], launched[MAX_ARGUMENTS];
	uint32_t indirect;
	unsigned destroyed;               /* kernels */
	atomic_uint appending, disturbed; /* calls that append; that set an argument meanwhile */
} loader;

/* ---- the agent's side -------------------------------------------------------------------- */

void gt_ze_find_loader(void)
{
}

int gt_ze_count_work(int error, uint32_t operations)
{
	return error;
}

const struct gt_ze_replacement *gt_ze_replacement_of(void *handle)
{
	static const struct gt_ze_replacement replacement = {
		.module = &patched_module,
		.access = GT_ZE_HOST_MEMORY,
	};

	return handle == &module ? &replacement : NULL;
}

/* ---- the loader -------------------------------------------------------------------------- */

static int create_kernel(void *handle, const struct gt_ze_kernel_desc *desc, void **ret_kernel)
{
	*ret_kernel = handle == &patched_module ? &patched : &original;
	return 0;
}

static int destroy_kernel(void *kernel)
{
	loader.destroyed++;
	return 0;
}

static int get_properties(void *kernel, struct gt_ze_kernel_properties *properties)
{
	bool is_patched = kernel == &patched;

	properties->argument_count = ARGUMENTS + (is_patched ? loader.hidden : 0);
	properties->local_size = 16;
	properties->private_size = is_patched ? 100 : 10;
	return 0;
}

static int set_argument(void *kernel, uint32_t index, size_t size, const void *value)
{
	if (index >= MAX_ARGUMENTS)
		return REJECTED;
	if (loader.appending)
		loader.disturbed++;
	loader.values[index] = 0;
	if (value)
		memcpy(&loader.values[index], value, size);
	return 0;
}

static int set_indirect(void *kernel, uint32_t flags)
{
	loader.indirect = flags;
	return 0;
}

static int get_indirect(void *kernel, uint32_t *flags)
{
	*flags = loader.indirect;
	return 0;
}

static int append(void *list, void *kernel, const struct gt_ze_groups *groups, void *signal,
		  uint32_t count, void **events)
{
	memcpy(loader.launched, loader.values, sizeof(loader.launched));
	return groups->x == 4 ? 0 : REJECTED;
}

/* Two calls that append at the same time, of which the first one returns first. */
static sem_t first_appends, second_appends, first_returned;

static int append_by_order(void *list, void *kernel, const struct gt_ze_groups *groups,
			   void *signal, uint32_t count, void **events)
{
	bool is_second = list;

	loader.appending++;
	sem_post(is_second ? &second_appends : &first_appends);
	sem_wait(is_second ? &first_returned : &second_appends);
	loader.appending--;
	return 0;
}

static int append_often(void *list, void *kernel, const struct gt_ze_groups *groups, void *signal,
			uint32_t count, void **events)
{
	loader.appending++;
	sched_yield();
	loader.appending--;
	return 0;
}

static int append_with_arguments(void *list, void *kernel, struct gt_ze_groups groups,
				 struct gt_ze_groups group_size, void **arguments, const void *next,
				 void *signal, uint32_t count, void **events)
{
	memset(loader.launched, 0, sizeof(loader.launched));
	for (size_t i = 0; i < ARGUMENTS + loader.hidden; i++)
		memcpy(&loader.launched[i], arguments[i], sizeof(uint64_t));
	return groups.x == 4 && group_size.z == 3 && count == 7 ? 0 : REJECTED;
}

static void open_loader(unsigned hidden)
{
	memset((void *)&loader, 0, sizeof(loader));
	loader.hidden = hidden;
	gt_ze = (struct gt_ze_functions){
		.zeKernelCreate = create_kernel,
		.zeKernelDestroy = destroy_kernel,
		.zeKernelGetProperties = get_properties,
		.zeKernelSetArgumentValue = set_argument,
		.zeKernelSetIndirectAccess = set_indirect,
		.zeKernelGetIndirectAccess = get_indirect,
		.zeCommandListAppendLaunchKernel = append,
		.zeCommandListAppendLaunchKernelWithArguments = append_with_arguments,
	};
}

static void *open_kernel(unsigned hidden)
{
	void *kernel = NULL;

	open_loader(hidden);
	CHECK(!zeKernelCreate(&module, NULL, &kernel) && kernel == &patched);
	return kernel;
}

/* ---- tests ------------------------------------------------------------------------------- */

static const struct gt_ze_groups groups = {4, 2, 1}, group_size = {1, 2, 3};

TEST("a launch has its number and local memory in arguments that are zeros outside of it")
{
	void *kernel = open_kernel(2);
	uint64_t first;

	CHECK(!zeKernelSetArgumentValue(kernel, 1, 32, NULL));
	CHECK(!zeCommandListAppendLaunchKernel(NULL, kernel, &groups, NULL, 0, NULL));
	first = loader.launched[3];
	CHECK(first > 0 && loader.launched[4] == 16 + 32);
	CHECK(loader.values[3] == 0 && loader.values[4] == 0);
	CHECK(!zeCommandListAppendLaunchKernel(NULL, kernel, &groups, NULL, 0, NULL));
	CHECK(loader.launched[3] == first + 1);
	CHECK(!zeKernelDestroy(kernel));
	CHECK(loader.destroyed == 2);
}

static void *append_once(void *kernel)
{
	static char list;

	zeCommandListAppendLaunchKernel(&list, kernel, &groups, NULL, 0, NULL);
	return NULL;
}

static void *append_first_of_two(void *kernel)
{
	zeCommandListAppendLaunchKernel(NULL, kernel, &groups, NULL, 0, NULL);
	sem_post(&first_returned);
	return NULL;
}

TEST("two threads append launches of a kernel at once, and no argument is set while one does")
{
	void *kernel = open_kernel(2);
	pthread_t first, second;

	gt_ze.zeCommandListAppendLaunchKernel = append_by_order;
	sem_init(&first_appends, 0, 0);
	sem_init(&second_appends, 0, 0);
	sem_init(&first_returned, 0, 0);
	CHECK(!pthread_create(&first, NULL, append_first_of_two, kernel));
	sem_wait(&first_appends);
	CHECK(!pthread_create(&second, NULL, append_once, kernel));
	CHECK(!pthread_join(first, NULL) && !pthread_join(second, NULL));
	CHECK_INT(loader.disturbed, 0);
	CHECK(loader.values[3] == 0 && loader.values[4] == 0);
	CHECK(!zeKernelDestroy(kernel));
}

static void *append_many(void *kernel)
{
	for (unsigned i = 0; i < LAUNCHES; i++)
		zeCommandListAppendLaunchKernel(NULL, kernel, &groups, NULL, 0, NULL);
	return NULL;
}

TEST("threads append many launches of a kernel, and no argument is set while one does")
{
	void *kernel = open_kernel(2);
	pthread_t threads[THREADS];

	gt_ze.zeCommandListAppendLaunchKernel = append_often;
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, append_many, kernel));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK_INT(loader.disturbed, 0);
	CHECK(loader.values[3] == 0 && loader.values[4] == 0);
	CHECK(!zeKernelDestroy(kernel));
}

TEST("a launch that passes its arguments passes the hidden ones after them")
{
	uint64_t values[] = {11, 12, 13};
	void *arguments[] = {&values[0], &values[1], &values[2]}, *kernel = open_kernel(2);

	CHECK(!zeCommandListAppendLaunchKernelWithArguments(NULL, kernel, groups, group_size,
							    arguments, NULL, NULL, 7, NULL));
	CHECK(loader.launched[0] == 11 && loader.launched[1] == 12 && loader.launched[2] == 13);
	CHECK(loader.launched[3] > 0 && loader.launched[4] == 16);
	CHECK(!zeKernelDestroy(kernel));
}

TEST("kernels without hidden arguments are launched as they are")
{
	uint64_t values[] = {11, 12, 13};
	void *arguments[] = {&values[0], &values[1], &values[2]}, *kernel = open_kernel(0);

	CHECK(!zeCommandListAppendLaunchKernelWithArguments(NULL, kernel, groups, group_size,
							    arguments, NULL, NULL, 7, NULL));
	CHECK(loader.launched[2] == 13 && loader.launched[3] == 0);
	CHECK(!zeCommandListAppendLaunchKernel(NULL, kernel, &groups, NULL, 0, NULL));
	CHECK(loader.launched[3] == 0);
	CHECK(!zeKernelDestroy(kernel));
}

TEST("a patched kernel has the properties of the original, and keeps the flag that it needs")
{
	void *kernel = open_kernel(2);
	struct gt_ze_kernel_properties properties = {0};
	const uint64_t value = 1;
	uint32_t flags = 7;

	CHECK(!zeKernelGetProperties(kernel, &properties));
	CHECK(properties.argument_count == ARGUMENTS && properties.private_size == 10);
	CHECK(zeKernelSetArgumentValue(kernel, ARGUMENTS, sizeof(value), &value) ==
	      GT_ZE_ERROR_INVALID_ARGUMENT_INDEX);
	CHECK(loader.indirect == GT_ZE_INDIRECT_ACCESS_HOST);
	CHECK(!zeKernelGetIndirectAccess(kernel, &flags) && flags == 0);
	CHECK(!zeKernelSetIndirectAccess(kernel, 2) && loader.indirect == 3);
	CHECK(!zeKernelGetIndirectAccess(kernel, &flags) && flags == 2);
	CHECK(!zeKernelDestroy(kernel));
}

TEST("a kernel whose patched form has other arguments is the original")
{
	void *kernel = NULL;

	open_loader(1);
	CHECK(!zeKernelCreate(&module, NULL, &kernel) && kernel == &original);
	/* The patched one, and the original to compare with. */
	CHECK(loader.destroyed == 2);
}

TEST("a function that the loader does not have fails as an uninitialized one")
{
	memset(&gt_ze, 0, sizeof(gt_ze));
	CHECK(zeKernelDestroy(&original) == GT_ZE_ERROR_UNINITIALIZED);
	CHECK(zeCommandListAppendLaunchKernelWithArguments(NULL, &original, groups, group_size,
							   NULL, NULL, NULL, 0,
							   NULL) == GT_ZE_ERROR_UNINITIALIZED);
}

TEST_MAIN
