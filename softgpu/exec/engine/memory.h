/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses of device memory that kernels may access: in an arena by granules of SG_GRANULE
 * bytes, outside of it by ranges. Grids read it while the host changes it (sg_memory_allow,
 * sg_memory_deny).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"

/* A range of memory outside of the arena. */
struct sg_range {
	uint64_t address, end;
};

struct sg_ranges {
	struct sg_ranges *next; /* retired */
	size_t count;
	struct sg_range items[];
};

struct sg_memory {
	uint64_t arena_address, arena_size;
	uint8_t *granules; /* of the arena; 1: allowed */
	size_t granules_size;
	struct sg_ranges *ranges; /* sorted; replaced as a whole */
	struct sg_ranges *retired;
	uint32_t readers; /* grids that run */
	pthread_mutex_t lock;
};

/* Returns whether all of `size` bytes may be accessed. */
bool sg_memory_check(const struct sg_memory *memory, uint64_t address, uint64_t size);
/* Returns the range outside of the arena that contains the address; end 0: none. */
struct sg_range sg_memory_range(const struct sg_memory *memory, uint64_t address);
/* Nothing is allowed yet. -EINVAL: the arena is not aligned or wraps; -ENOMEM. */
int sg_memory_open(struct sg_memory *memory, uint64_t arena_address, uint64_t arena_size);
void sg_memory_close(struct sg_memory *memory);
/* Begin and end a reader: ranges that it may read are not freed in between. */
void sg_memory_enter(struct sg_memory *memory);
void sg_memory_leave(struct sg_memory *memory);

static inline bool sg_memory_in_arena(const struct sg_memory *memory, uint64_t address)
{
	uint64_t offset = address - memory->arena_address;

	return offset < memory->arena_size &&
	       __atomic_load_n(&memory->granules[offset / SG_GRANULE], __ATOMIC_RELAXED);
}
