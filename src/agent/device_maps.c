/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device area of the maps: memory of the GPU that first executes patched code, which the
 * collector owns and other GPUs reach as peers; else a part of the collector's file. It is mapped
 * once per process, at the collector's address.
 */
#include <pthread.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/protocol.h"

enum {
	CU_LOCATION_DEVICE = 1,
	CU_HANDLE_POSIX_FD = 1,
	CU_ACCESS_READ_WRITE = 3,
};

/*
 * NVIDIA's driver (580) chooses the address of a smaller reservation itself if it has room for it
 * in a range that it has reserved already.
 */
#define RESERVED_UNIT ((size_t)4 << 30)

enum area_state {
	AREA_UNMAPPED,
	AREA_ON_GPU,
	AREA_ON_HOST,
	AREA_FAILED, /* do not ask again */
};

static struct {
	pthread_mutex_t lock;
	enum area_state state;
	struct gt_agent_area mapped;
} area = {.lock = PTHREAD_MUTEX_INITIALIZER};

void gt_agent_device_maps_forked(void)
{
	pthread_mutex_init(&area.lock, NULL);
}

/* Let a GPU reach the memory at the area's address. It fails where nothing is mapped any more. */
static bool grant(const struct gt_agent_area *mapped, int device)
{
	const struct {
		struct {
			int type, id;
		} location;
		int flags;
	} access = {{CU_LOCATION_DEVICE, device}, CU_ACCESS_READ_WRITE};

	return !OWN4(cuMemSetAccess, mapped->address, mapped->size, &access, 1);
}

static bool map_handle(const struct gt_agent_area *wanted, int device)
{
	size_t reserved = (wanted->size + RESERVED_UNIT - 1) & ~(RESERVED_UNIT - 1);
	uint64_t handle = 0, address = 0;
	bool is_mapped = false;

	if (OWN3(cuMemImportFromShareableHandle, &handle, wanted->fd, CU_HANDLE_POSIX_FD))
		return false;
	if (OWN5(cuMemAddressReserve, &address, reserved, 0, wanted->address, 0))
		address = 0;
	if (address == wanted->address)
		is_mapped = !OWN5(cuMemMap, address, wanted->size, 0, handle, 0);
	/* The mapping keeps the memory. */
	OWN1(cuMemRelease, handle);
	if (is_mapped && grant(wanted, device))
		return true;
	if (is_mapped)
		OWN2(cuMemUnmap, address, wanted->size);
	if (address)
		OWN2(cuMemAddressFree, address, reserved);
	return false;
}

static bool can_map_handles(void)
{
	return gt_driver.cuDeviceGetUuid_v2 && gt_driver.cuMemImportFromShareableHandle &&
	       gt_driver.cuMemAddressReserve && gt_driver.cuMemAddressFree && gt_driver.cuMemMap &&
	       gt_driver.cuMemUnmap && gt_driver.cuMemSetAccess && gt_driver.cuMemRelease;
}

static enum area_state map_on_host(void)
{
	return gt_agent_ask_area(NULL, &area.mapped) ? AREA_ON_HOST : AREA_FAILED;
}

/* device: that of the current context; -1: unknown. */
static enum area_state map_on_gpu(int device)
{
	struct gt_agent_area offered;
	uint8_t uuid[16] = {0};
	bool is_mapped;

	if (device < 0 || !can_map_handles() || OWN2(cuDeviceGetUuid_v2, uuid, device))
		return map_on_host();
	if (!gt_agent_ask_area(uuid, &offered))
		return AREA_FAILED;
	area.mapped = offered;
	if (offered.fd < 0)
		return AREA_ON_HOST;
	is_mapped = map_handle(&offered, device);
	close(offered.fd);
	return is_mapped ? AREA_ON_GPU : map_on_host();
}

bool gt_agent_device_maps_ready(bool (*register_memory)(void *memory, size_t size))
{
	bool is_reached = false;
	int device = -1;

	if (gt_driver.cuCtxGetDevice && OWN1(cuCtxGetDevice, &device))
		device = -1;
	pthread_mutex_lock(&area.lock);
	if (area.state == AREA_UNMAPPED)
		area.state = map_on_gpu(device);
	if (area.state == AREA_ON_GPU)
		is_reached = device >= 0 && grant(&area.mapped, device);
	else if (area.state == AREA_ON_HOST)
		is_reached =
			register_memory((void *)(uintptr_t)area.mapped.address, area.mapped.size);
	pthread_mutex_unlock(&area.lock);
	return is_reached;
}

bool gt_agent_map_on_host(int *ret_error)
{
	static const int errors[] = {
		[AREA_ON_GPU] = GT_AGENT_MAPS_ON_GPU,
		[AREA_ON_HOST] = 0,
		[AREA_FAILED] = GT_AGENT_NO_MAPS,
	};
	void *memory;
	size_t size;

	if (!gt_agent_map_memory(&memory, &size))
		return false;
	pthread_mutex_lock(&area.lock);
	if (area.state == AREA_UNMAPPED)
		area.state = map_on_host();
	*ret_error = errors[area.state];
	pthread_mutex_unlock(&area.lock);
	return true;
}

size_t gt_agent_host_areas(struct gt_agent_area ret_areas[GT_AGENT_AREAS])
{
	size_t count = 0, size;
	void *memory;

	if (gt_agent_map_memory(&memory, &size) && size)
		ret_areas[count++] = (struct gt_agent_area){(uintptr_t)memory, size, -1};
	pthread_mutex_lock(&area.lock);
	if (area.state == AREA_ON_HOST && area.mapped.size)
		ret_areas[count++] = area.mapped;
	pthread_mutex_unlock(&area.lock);
	return count;
}
