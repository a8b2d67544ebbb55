/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of kernels: those of a patched module answer as the originals. */
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/caller.h"
#include "agent/level_zero/launch.h"
#include "agent/level_zero/private.h"
#include "agent/pairs.h"

static struct gt_agent_pairs origins = GT_AGENT_PAIRS_INIT; /* by patched kernel */
static atomic_bool has_origins;                             /* there was one */

void gt_ze_kernels_forked(void)
{
	gt_agent_pairs_forked(&origins);
}

struct gt_ze_origin *gt_ze_origin_of(void *kernel)
{
	return atomic_load_explicit(&has_origins, memory_order_relaxed)
		       ? gt_agent_pairs_find(&origins, kernel)
		       : NULL;
}

static void free_origin(struct gt_ze_origin *origin)
{
	if (origin && origin->original)
		ZE1(zeKernelDestroy, origin->original);
	free(origin);
}

/* ---- creating kernels ---- */

static bool get_properties(void *kernel, struct gt_ze_kernel_properties *properties)
{
	*properties = (struct gt_ze_kernel_properties){
		.head = {.type = GT_ZE_TYPE_KERNEL_PROPERTIES},
	};
	return gt_ze.zeKernelGetProperties && !ZE2(zeKernelGetProperties, kernel, properties);
}

/* Compare a kernel of the patched module with the original. False: it cannot be used. */
static bool examine(void *kernel, struct gt_ze_origin *origin)
{
	struct gt_ze_kernel_properties patched, original;

	if (!get_properties(kernel, &patched) || !get_properties(origin->original, &original))
		return false;
	origin->argument_count = original.argument_count;
	origin->local_size = original.local_size;
	if (origin->access == GT_ZE_HOST_MEMORY &&
	    (!gt_ze.zeKernelSetIndirectAccess ||
	     ZE2(zeKernelSetIndirectAccess, kernel, GT_ZE_INDIRECT_ACCESS_HOST)))
		return false;
	return gt_ze_prepare_launches(kernel, origin, patched.argument_count);
}

/* The origin of a kernel of the patched module, or NULL: the kernel cannot be used. */
static struct gt_ze_origin *create_origin(void *module, const struct gt_ze_kernel_desc *desc,
					  enum gt_ze_access access, void *kernel)
{
	struct gt_ze_origin *origin = calloc(1, sizeof(*origin));

	if (!origin)
		return NULL;
	origin->access = access;
	pthread_mutex_init(&origin->lock, NULL);
	if (!ZE3(zeKernelCreate, module, desc, &origin->original) && examine(kernel, origin))
		return origin;
	free_origin(origin);
	return NULL;
}

static bool keep_origin(void *kernel, struct gt_ze_origin *origin)
{
	void *earlier = NULL;

	atomic_store_explicit(&has_origins, true, memory_order_relaxed);
	if (!gt_agent_pairs_put(&origins, kernel, origin, 1, &earlier)) {
		free_origin(origin);
		return false;
	}
	free_origin(earlier);
	return true;
}

/* False: the kernel is not to be used. */
static bool accept_kernel(void *module, const struct gt_ze_kernel_desc *desc,
			  enum gt_ze_access access, void *kernel)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	struct gt_ze_origin *origin = create_origin(module, desc, access, kernel);
	bool accepted = origin && keep_origin(kernel, origin);

	if (!accepted)
		ZE1(zeKernelDestroy, kernel);
	gt_agent_restore_caller(&caller);
	return accepted;
}

int zeKernelCreate(void *module, const struct gt_ze_kernel_desc *desc, void **ret_kernel)
{
	const struct gt_ze_replacement *replacement;
	void *kernel;
	int error;

	ZE_NEED(zeKernelCreate);
	replacement = gt_ze_replacement_of(module);
	if (replacement && ret_kernel &&
	    !gt_ze.zeKernelCreate(replacement->module, desc, &kernel) &&
	    accept_kernel(module, desc, replacement->access, kernel)) {
		*ret_kernel = kernel;
		return 0;
	}
	error = gt_ze.zeKernelCreate(module, desc, ret_kernel);
	/* Whatever was known of an earlier kernel is over. */
	if (!error && gt_ze_origin_of(*ret_kernel))
		free(gt_agent_pairs_release(&origins, *ret_kernel));
	return error;
}

int zeKernelDestroy(void *kernel)
{
	struct gt_ze_origin *origin = NULL;
	int error;

	ZE_NEED(zeKernelDestroy);
	if (gt_ze_origin_of(kernel))
		origin = gt_agent_pairs_release(&origins, kernel);
	error = gt_ze.zeKernelDestroy(kernel);
	free_origin(origin);
	return error;
}

/* ---- what the program sees of them ---- */

int zeKernelGetProperties(void *kernel, struct gt_ze_kernel_properties *properties)
{
	const struct gt_ze_origin *origin;
	int error;

	ZE_NEED(zeKernelGetProperties);
	origin = gt_ze_origin_of(kernel);
	error = gt_ze.zeKernelGetProperties(kernel, properties);
	return error || !origin ? error : ZE2(zeKernelGetProperties, origin->original, properties);
}

int zeKernelSetArgumentValue(void *kernel, uint32_t index, size_t size, const void *value)
{
	struct gt_ze_origin *origin;

	ZE_NEED(zeKernelSetArgumentValue);
	origin = gt_ze_origin_of(kernel);
	if (origin && origin->takes_launch && index >= origin->argument_count)
		return GT_ZE_ERROR_INVALID_ARGUMENT_INDEX;
	if (origin && index < GT_ZE_MAX_LOCAL)
		origin->local_sizes[index] = value ? 0 : (uint32_t)size;
	return gt_ze.zeKernelSetArgumentValue(kernel, index, size, value);
}

int zeKernelSetIndirectAccess(void *kernel, uint32_t flags)
{
	struct gt_ze_origin *origin;

	ZE_NEED(zeKernelSetIndirectAccess);
	origin = gt_ze_origin_of(kernel);
	if (!origin)
		return gt_ze.zeKernelSetIndirectAccess(kernel, flags);
	origin->indirect_access = flags;
	if (origin->access == GT_ZE_HOST_MEMORY)
		flags |= GT_ZE_INDIRECT_ACCESS_HOST;
	return gt_ze.zeKernelSetIndirectAccess(kernel, flags);
}

int zeKernelGetIndirectAccess(void *kernel, uint32_t *flags)
{
	const struct gt_ze_origin *origin;
	int error;

	ZE_NEED(zeKernelGetIndirectAccess);
	origin = gt_ze_origin_of(kernel);
	error = gt_ze.zeKernelGetIndirectAccess(kernel, flags);
	if (!error && origin && origin->access == GT_ZE_HOST_MEMORY)
		*flags = origin->indirect_access;
	return error;
}
