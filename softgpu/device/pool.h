/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory pools: here only accounts; the memory comes from the device's share of the arena. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

struct CUmemPoolHandle_st {
	int device;
	CUmemLocationType location;
	bool is_default;
	bool is_shareable; /* other processes may be shown its memory */
	int imported_fd;   /* of another process's pool: the file with its memory; else -1 */
	uint64_t release_threshold; /* bytes */
	int reuse[4];               /* CU_MEMPOOL_ATTR_REUSE_…, by number */
	atomic_uint_least64_t used; /* bytes */
	atomic_uint_least64_t used_high;
};

/* 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_pool_new(int device, CUmemLocationType location, CUmemoryPool *ret_pool);
/* What is allocated from it stays; its handle is gone. */
void sg_pool_destroy(CUmemoryPool pool);
/* A device's default pool, made at the first use; the one that is current. */
CUresult sg_pool_default(int device, CUmemoryPool *ret_pool);
CUresult sg_pool_current(int device, CUmemoryPool *ret_pool);
void sg_pool_add(CUmemoryPool pool, uint64_t bytes);
void sg_pool_subtract(CUmemoryPool pool, uint64_t bytes);
