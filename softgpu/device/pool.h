/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory pools: they only account for memory, which comes from the device's share of the arena. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/*
 * Bytes. Memory that is freed stays reserved. What exceeds the release threshold is released by the
 * next synchronization of a stream, event or context (cuMemPoolSetAttribute).
 */
struct sg_pool_account {
	uint64_t used, used_high, reserved, reserved_high;
};

struct CUmemPoolHandle_st {
	int device;
	CUmemLocationType location;
	bool is_default;
	bool is_shareable; /* its memory can be exported to other processes */
	int imported_fd;   /* of another process's pool: the file with its memory; else -1 */
	uint64_t release_threshold; /* bytes */
	int reuse[4];               /* CU_MEMPOOL_ATTR_REUSE_…, by number */
	pthread_mutex_t lock;       /* of what follows */
	bool is_destroyed;          /* it is freed with the last allocation from it */
	struct sg_pool_account account;
	uint64_t synchronizations; /* of its device that `account` takes into account */
};

/* 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_pool_new(int device, CUmemLocationType location, CUmemoryPool *ret_pool);
/* Invalidate its handle; allocations from it stay valid. */
void sg_pool_destroy(CUmemoryPool pool);
/* Return a device's default pool, created at the first use, or its current pool. */
CUresult sg_pool_default(int device, CUmemoryPool *ret_pool);
CUresult sg_pool_current(int device, CUmemoryPool *ret_pool);
void sg_pool_add(CUmemoryPool pool, uint64_t bytes);
void sg_pool_subtract(CUmemoryPool pool, uint64_t bytes);
struct sg_pool_account sg_pool_account(CUmemoryPool pool);
/* Release reserved memory that is not used, but for so many bytes. */
void sg_pool_trim(CUmemoryPool pool, uint64_t bytes);
/* Lower the high-water mark of used or of reserved memory to what there is now. */
void sg_pool_reset_high(CUmemoryPool pool, bool reserved);
void sg_pool_set_release_threshold(CUmemoryPool pool, uint64_t bytes);
/* Note that a call has waited for work of a device. */
void sg_pools_synchronized(int device);
