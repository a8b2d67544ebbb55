/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that the device knows: allocations in the devices' arena, pinned and registered host
 * memory, mappings of other processes' memory. Kernels may access what is registered here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

enum sg_memory_kind {
	SG_MEMORY_DEVICE,     /* cudaMalloc, cudaMallocPitch and the like */
	SG_MEMORY_MANAGED,    /* cudaMallocManaged */
	SG_MEMORY_POOL,       /* cudaMallocAsync: `pool` is set */
	SG_MEMORY_GRAPH,      /* of a graph's node: only kernels after it may access it */
	SG_MEMORY_MODULE,     /* a module's variables: freed with the module only */
	SG_MEMORY_VARIABLES,  /* managed variables: freed with their library only */
	SG_MEMORY_PHYSICAL,   /* arrays: kernels have no address of it */
	SG_MEMORY_MAPPED,     /* cuMemMap: at an address that the program chooses */
	SG_MEMORY_IMPORTED,   /* cuIpcOpenMemHandle */
	SG_MEMORY_HOST,       /* cudaHostAlloc */
	SG_MEMORY_REGISTERED, /* cudaHostRegister */
};

/* Hints about managed memory; they have no effect. */
struct sg_advice {
	bool read_mostly;
	unsigned int accessed_by; /* bit n: device n; bit SG_ADVICE_HOST: the host */
	CUmemLocation preferred;  /* type INVALID: none given */
	CUmemLocation prefetched; /* where it was last moved to */
};

enum { SG_ADVICE_HOST = 31 };

struct sg_allocation {
	uint64_t address;
	uint64_t size; /* bytes, as asked for */
	enum sg_memory_kind kind;
	int device;
	struct CUctx_st *context;        /* in which it was made; NULL: none */
	unsigned int flags;              /* of cuMemHostAlloc, cuMemHostRegister, managed memory */
	struct CUmemPoolHandle_st *pool; /* SG_MEMORY_POOL */
	uint64_t id;                     /* counts allocations from 1 */
	uint64_t mapping, mapping_size;  /* what munmap is to be called on; 0: nothing */
	bool going;                      /* its end is submitted to a stream */
	bool is_live;                    /* SG_MEMORY_GRAPH: between its node and its end */
	struct sg_advice advice;         /* of managed memory */
};

static inline bool sg_memory_is_host(const struct sg_allocation *allocation)
{
	return allocation->kind == SG_MEMORY_HOST || allocation->kind == SG_MEMORY_REGISTERED;
}

static inline bool sg_memory_is_managed(const struct sg_allocation *allocation)
{
	return allocation->kind == SG_MEMORY_MANAGED || allocation->kind == SG_MEMORY_VARIABLES;
}

/* Managed memory is both host and device memory for copies. */
static inline bool sg_memory_is_device(const struct sg_allocation *allocation)
{
	return !sg_memory_is_host(allocation);
}

/*
 * Allocate memory in a device's share of the arena, aligned to at least what textures need. Of
 * `wanted` the kind, device, context, flags, pool and size count. 0 or CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult sg_memory_allocate(const struct sg_allocation *wanted, uint64_t alignment,
			    uint64_t *ret_address);
/* Allocate pinned host memory: `wanted` as above. 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_memory_allocate_host(const struct sg_allocation *wanted, uint64_t *ret_address);
/*
 * Register existing memory (all of `allocation` but its id counts).
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED if it overlaps registered memory.
 */
CUresult sg_memory_adopt(const struct sg_allocation *allocation);
/*
 * Free the allocation that begins at `address`, if its kind is one of the bits (1 << kind);
 * ret_freed may be NULL. CUDA_ERROR_INVALID_VALUE if there is none.
 */
CUresult sg_memory_free(uint64_t address, unsigned int kinds, struct sg_allocation *ret_freed);
/*
 * Mark an allocation that is freed in a stream. CUDA_ERROR_INVALID_VALUE if there is none of these
 * kinds, or if it is marked already.
 */
CUresult sg_memory_begin_free(uint64_t address, unsigned int kinds);
/*
 * Begin or end the lifetime of a graph's memory, whose address stays reserved in between. To begin
 * it twice has no effect. CUDA_ERROR_INVALID_VALUE: no graph's memory begins there, or its lifetime
 * has not begun.
 */
CUresult sg_memory_set_live(uint64_t address, bool live, struct sg_allocation *ret_allocation);
/* Replace the hints about the managed memory at an address. */
void sg_memory_advise(uint64_t address, const struct sg_advice *advice);
/* Free everything that was allocated in a context. */
void sg_memory_free_context(struct CUctx_st *context);

/* Find the allocation at an address. False: none. */
bool sg_memory_find(uint64_t address, struct sg_allocation *ret_allocation);
/*
 * Return whether [address, address + size) lies in one allocation, which is returned, or in
 * adjacent mappings (cuMemMap), the first of which is returned.
 */
bool sg_memory_find_range(uint64_t address, uint64_t size, struct sg_allocation *ret_allocation);

/* Return the allocated bytes of a device. */
uint64_t sg_memory_used(int device);
/* Memory of a device's graphs, in bytes. */
struct sg_graph_account {
	uint64_t used, used_high;         /* in use */
	uint64_t reserved, reserved_high; /* of all reserved addresses */
};

void sg_memory_graph_account(int device, struct sg_graph_account *ret_account);
/* Reset the high-water marks. */
void sg_memory_reset_used_high(int device);
void sg_memory_reset_reserved_high(int device);

/* Reserve bytes of a device for memory outside of the arena. False: it has not enough. */
bool sg_memory_charge(int device, uint64_t bytes);
void sg_memory_uncharge(int device, uint64_t bytes);

/* The callbacks of the machine for the memory of modules (struct sg_host). */
int sg_memory_host_allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address);
int sg_memory_host_allocate_managed(void *user, uint64_t size, uint64_t alignment,
				    uint64_t *ret_address);
void sg_memory_host_release(void *user, uint64_t address, uint64_t size);
