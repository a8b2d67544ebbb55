/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every stretch of memory that the device knows: allocations in the devices' arena, pinned and
 * registered host memory, mappings of other processes' memory. What is here, kernels may touch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

enum sg_memory_kind {
	SG_MEMORY_DEVICE,     /* cudaMalloc and its kin */
	SG_MEMORY_MANAGED,    /* cudaMallocManaged */
	SG_MEMORY_POOL,       /* cudaMallocAsync: `pool` is set */
	SG_MEMORY_GRAPH,      /* of a graph's node: only kernels after it may touch it */
	SG_MEMORY_MODULE,     /* a module's variables: freed with the module only */
	SG_MEMORY_PHYSICAL,   /* arrays: kernels have no address of it */
	SG_MEMORY_MAPPED,     /* cuMemMap: at an address of the program's choice */
	SG_MEMORY_IMPORTED,   /* cuIpcOpenMemHandle */
	SG_MEMORY_HOST,       /* cudaHostAlloc */
	SG_MEMORY_REGISTERED, /* cudaHostRegister */
};

/* What a program has said of managed memory; nothing here depends on it. */
struct sg_advice {
	bool read_mostly;
	unsigned int accessed_by; /* bit n: device n; bit SG_ADVICE_HOST: the host */
	CUmemLocation preferred;  /* type INVALID: not said */
	CUmemLocation prefetched; /* to where it was last moved */
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
	struct sg_advice advice;         /* SG_MEMORY_MANAGED */
};

static inline bool sg_memory_is_host(const struct sg_allocation *allocation)
{
	return allocation->kind == SG_MEMORY_HOST || allocation->kind == SG_MEMORY_REGISTERED;
}

/* What managed memory is for copies depends on neither side: it is both. */
static inline bool sg_memory_is_device(const struct sg_allocation *allocation)
{
	return !sg_memory_is_host(allocation);
}

/*
 * Memory of a device's share of the arena, aligned to at least SG_GRANULE. Of `wanted` the
 * kind, device, context, flags, pool and size count. 0 or CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult sg_memory_allocate(const struct sg_allocation *wanted, uint64_t alignment,
			    uint64_t *ret_address);
/* Pinned host memory: `wanted` as above. 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_memory_allocate_host(const struct sg_allocation *wanted, uint64_t *ret_address);
/*
 * Makes memory known that is there already (all of `allocation` but its id counts).
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED if it overlaps what is known.
 */
CUresult sg_memory_adopt(const struct sg_allocation *allocation);
/*
 * Forgets the allocation that begins at address, if its kind is one of the bits (1 << kind),
 * and gives its memory back; ret_gone may be NULL. CUDA_ERROR_INVALID_VALUE if there is none.
 */
CUresult sg_memory_free(uint64_t address, unsigned int kinds, struct sg_allocation *ret_gone);
/*
 * Marks an allocation whose end is put into a stream. CUDA_ERROR_INVALID_VALUE if there is none
 * of these kinds, or if it was marked before.
 */
CUresult sg_memory_begin_free(uint64_t address, unsigned int kinds);
/*
 * Begins or ends the life of a graph's memory: its address stays taken in between. A beginning
 * of what lives changes nothing. CUDA_ERROR_INVALID_VALUE: no graph's memory begins there, or
 * what is to end does not live.
 */
CUresult sg_memory_set_live(uint64_t address, bool live, struct sg_allocation *ret_allocation);
/* Replaces what is said of the managed memory that holds the address. */
void sg_memory_advise(uint64_t address, const struct sg_advice *advice);
/* Frees everything that was made in a context. */
void sg_memory_free_context(struct CUctx_st *context);

/* The allocation that holds the address. False: none does. */
bool sg_memory_find(uint64_t address, struct sg_allocation *ret_allocation);
/*
 * Whether [address, address + size) lies within one allocation, which is returned, or within
 * mappings (cuMemMap) that follow each other, the first of which is.
 */
bool sg_memory_find_range(uint64_t address, uint64_t size, struct sg_allocation *ret_allocation);

/* Bytes of a device that are allocated. */
uint64_t sg_memory_used(int device);
/* Memory of a device's graphs, in bytes. */
struct sg_graph_account {
	uint64_t used, used_high;         /* of what lives */
	uint64_t reserved, reserved_high; /* of all that has an address */
};

void sg_memory_graph_account(int device, struct sg_graph_account *ret_account);
/* The high marks become what is now. */
void sg_memory_reset_used_high(int device);
void sg_memory_reset_reserved_high(int device);

/* Takes bytes of a device for memory outside of the arena. False: it has not that much. */
bool sg_memory_charge(int device, uint64_t bytes);
void sg_memory_uncharge(int device, uint64_t bytes);

/* For the machine: memory of modules (struct sg_host). */
int sg_memory_host_allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address);
void sg_memory_host_release(void *user, uint64_t address, uint64_t size);
