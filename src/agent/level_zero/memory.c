/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether kernels access the memory of the maps by its addresses in this process: on a device that
 * accesses all memory (ze_device_memory_access_properties_t), or in a context in which it is mapped
 * as a host allocation (the extension ZE_extension_external_memmap_sysmem).
 */
#include <pthread.h>

#include "agent/agent.h"
#include "agent/level_zero/private.h"
#include "agent/pairs.h"

enum {
	PAGE = 4096,
};

/* Contexts in which the memory is mapped; what is beside them means nothing. */
static struct gt_agent_pairs contexts = GT_AGENT_PAIRS_INIT;
/* A context has each area once: held while the driver maps one, which waits for no other thread. */
static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;

void gt_ze_memory_forked(void)
{
	pthread_mutex_init(&mapping, NULL);
	gt_agent_pairs_forked(&contexts);
}

static bool has_access(uint32_t flags)
{
	return (flags & GT_ZE_ACCESS) == GT_ZE_ACCESS;
}

/* Map an area as a host allocation of a context; it has the same address. */
static bool map_area(void *context, const struct gt_agent_area *area)
{
	const struct gt_ze_system_memory memory = {
		.head = {.type = GT_ZE_TYPE_SYSTEM_MEMORY},
		.memory = (void *)(uintptr_t)area->address,
		.size = area->size,
	};
	const struct gt_ze_host_alloc desc = {
		.head = {.type = GT_ZE_TYPE_HOST_ALLOC, .next = &memory},
	};
	void *mapped = NULL;

	if (ZE5(zeMemAllocHost, context, &desc, area->size, PAGE, &mapped))
		return false;
	if (mapped == memory.memory)
		return true;
	/* A driver that ignores the extension allocates other memory. */
	ZE2(zeMemFree, context, mapped);
	return false;
}

static void unmap_areas(void *context, const struct gt_agent_area *areas, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ZE2(zeMemFree, context, areas[i].address);
}

static bool map_areas(void *context)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_agent_host_areas(areas), mapped = 0;

	while (mapped < count && map_area(context, &areas[mapped]))
		mapped++;
	if (count && mapped == count)
		return true;
	unmap_areas(context, areas, mapped);
	return false;
}

static bool map_in_context(void *context)
{
	void *earlier;
	bool is_mapped;

	if (!gt_ze.zeMemAllocHost || !gt_ze.zeMemFree)
		return false;
	pthread_mutex_lock(&mapping);
	is_mapped = gt_agent_pairs_find(&contexts, context);
	if (!is_mapped && map_areas(context))
		is_mapped = gt_agent_pairs_put(&contexts, context, &mapping, 1, &earlier);
	pthread_mutex_unlock(&mapping);
	return is_mapped;
}

enum gt_ze_access gt_ze_access_maps(void *context, void *device)
{
	struct gt_ze_memory_access access = {.head = {.type = GT_ZE_TYPE_MEMORY_ACCESS}};

	if (!gt_ze.zeDeviceGetMemoryAccessProperties ||
	    ZE2(zeDeviceGetMemoryAccessProperties, device, &access))
		return GT_ZE_NO_ACCESS;
	if (has_access(access.system))
		return GT_ZE_SYSTEM_MEMORY;
	if (has_access(access.host) && map_in_context(context))
		return GT_ZE_HOST_MEMORY;
	return GT_ZE_NO_ACCESS;
}

int zeContextDestroy(void *context)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];

	ZE_NEED(zeContextDestroy);
	if (gt_agent_pairs_release(&contexts, context))
		unmap_areas(context, areas, gt_agent_host_areas(areas));
	return gt_ze.zeContextDestroy(context);
}
