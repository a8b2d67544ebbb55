/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory pools: they only account for memory, which comes from the device's share of the arena. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

struct CUmemPoolHandle_st {
	int device;
	CUmemLocationType location;
	bool is_default;
	bool is_shareable; /* its memory can be exported to other processes */
	int imported_fd;   /* of another process's pool: the file with its memory; else -1 */
	uint64_t release_threshold; /* bytes */
	int reuse[4];               /* CU_MEMPOOL_ATTR_REUSE_…, by number */
	atomic_uint_least64_t used; /* bytes */
	atomic_uint_least64_t used_high;
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
