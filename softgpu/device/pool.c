/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "device/handles.h"

CUresult sg_pool_new(int device, CUmemLocationType location, CUmemoryPool *ret_pool)
{
	CUmemoryPool pool = calloc(1, sizeof(*pool));

	if (!pool || !sg_handle_add(pool, SG_HANDLE_POOL)) {
		free(pool);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pool->device = device;
	pool->location = location;
	pool->imported_fd = -1;
	for (int i = 0; i < 4; i++)
		pool->reuse[i] = 1;
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

void sg_pool_destroy(CUmemoryPool pool)
{
	struct sg_device *device = sg_device_find(pool->device);

	pthread_mutex_lock(&sg_state.lock);
	if (device->current_pool == pool)
		device->current_pool = NULL;
	pthread_mutex_unlock(&sg_state.lock);
	/* Allocations still refer to it, so it is kept; it is small. */
	sg_handle_remove(pool);
	if (pool->imported_fd >= 0)
		close(pool->imported_fd);
}

CUresult sg_pool_default(int device, CUmemoryPool *ret_pool)
{
	struct sg_device *owner = sg_device_find(device);
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&sg_state.lock);
	if (!owner->default_pool) {
		result = sg_pool_new(device, CU_MEM_LOCATION_TYPE_DEVICE, &owner->default_pool);
		if (!result)
			owner->default_pool->is_default = true;
	}
	if (!result)
		*ret_pool = owner->default_pool;
	pthread_mutex_unlock(&sg_state.lock);
	return result;
}

CUresult sg_pool_current(int device, CUmemoryPool *ret_pool)
{
	struct sg_device *owner = sg_device_find(device);
	CUmemoryPool pool;

	pthread_mutex_lock(&sg_state.lock);
	pool = owner->current_pool;
	pthread_mutex_unlock(&sg_state.lock);
	if (!pool)
		return sg_pool_default(device, ret_pool);
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

void sg_pool_add(CUmemoryPool pool, uint64_t bytes)
{
	uint64_t used = atomic_fetch_add(&pool->used, bytes) + bytes;
	uint64_t high = atomic_load(&pool->used_high);

	while (used > high && !atomic_compare_exchange_weak(&pool->used_high, &high, used))
		;
}

void sg_pool_subtract(CUmemoryPool pool, uint64_t bytes)
{
	atomic_fetch_sub(&pool->used, bytes);
}
