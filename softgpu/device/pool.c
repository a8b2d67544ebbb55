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
	pthread_mutex_init(&pool->lock, NULL);
	for (int i = 0; i < 4; i++)
		pool->reuse[i] = 1;
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

static void free_pool(CUmemoryPool pool)
{
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void sg_pool_destroy(CUmemoryPool pool)
{
	struct sg_device *device = sg_device_find(pool->device);
	bool is_unused;

	pthread_mutex_lock(&sg_state.lock);
	if (device->current_pool == pool)
		device->current_pool = NULL;
	pthread_mutex_unlock(&sg_state.lock);
	sg_handle_remove(pool);
	if (pool->imported_fd >= 0)
		close(pool->imported_fd);
	/* Allocations refer to it. */
	pthread_mutex_lock(&pool->lock);
	pool->is_destroyed = true;
	is_unused = !pool->account.used;
	pthread_mutex_unlock(&pool->lock);
	if (is_unused)
		free_pool(pool);
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

static uint64_t max_of(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static void release(CUmemoryPool pool, uint64_t kept)
{
	if (pool->account.reserved > kept)
		pool->account.reserved = max_of(pool->account.used, kept);
}

/* Lock a pool, and release what was due at a synchronization since the last time. */
static void lock_pool(CUmemoryPool pool)
{
	uint64_t now = atomic_load(&sg_device_find(pool->device)->synchronizations);

	pthread_mutex_lock(&pool->lock);
	if (now != pool->synchronizations)
		release(pool, pool->release_threshold);
	pool->synchronizations = now;
}

void sg_pool_add(CUmemoryPool pool, uint64_t bytes)
{
	struct sg_pool_account *account = &pool->account;

	lock_pool(pool);
	account->used += bytes;
	account->used_high = max_of(account->used, account->used_high);
	account->reserved = max_of(account->used, account->reserved);
	account->reserved_high = max_of(account->reserved, account->reserved_high);
	pthread_mutex_unlock(&pool->lock);
}

void sg_pool_subtract(CUmemoryPool pool, uint64_t bytes)
{
	bool is_last;

	lock_pool(pool);
	pool->account.used -= bytes;
	is_last = pool->is_destroyed && !pool->account.used;
	pthread_mutex_unlock(&pool->lock);
	if (is_last)
		free_pool(pool);
}

struct sg_pool_account sg_pool_account(CUmemoryPool pool)
{
	struct sg_pool_account account;

	lock_pool(pool);
	account = pool->account;
	pthread_mutex_unlock(&pool->lock);
	return account;
}

void sg_pool_trim(CUmemoryPool pool, uint64_t bytes)
{
	lock_pool(pool);
	release(pool, bytes);
	pthread_mutex_unlock(&pool->lock);
}

void sg_pool_reset_high(CUmemoryPool pool, bool reserved)
{
	lock_pool(pool);
	if (reserved)
		pool->account.reserved_high = pool->account.reserved;
	else
		pool->account.used_high = pool->account.used;
	pthread_mutex_unlock(&pool->lock);
}

void sg_pool_set_release_threshold(CUmemoryPool pool, uint64_t bytes)
{
	lock_pool(pool);
	pool->release_threshold = bytes;
	pthread_mutex_unlock(&pool->lock);
}

void sg_pools_synchronized(int device)
{
	atomic_fetch_add(&sg_device_find(device)->synchronizations, 1);
}
