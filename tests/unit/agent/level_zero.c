/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernels and launches of Level Zero in the agent, with functions of a loader in this file: also
 * launches that pass their arguments (API version 1.14), which Debian 12's loader does not have.
 */
#include "agent/level_zero/private.h"
#include "tap.h"

enum {
	ARGUMENTS = 3, /* of the original kernel */
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
	unsigned destroyed; /* kernels */
} loader;

/* ---- the agent's side -------------------------------------------------------------------- */

void gt_ze_find_loader(void)
{
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
	memset(&loader, 0, sizeof(loader));
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
