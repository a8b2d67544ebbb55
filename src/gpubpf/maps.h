/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps: one row a type (maps.def) with its operations. The layout of a map's memory is the same on
 * the host and on a device, so that translators, the interpreter and readers agree on it.
 *
 * array (GT_MAP_ARRAY): value k at k * stride, stride = round_up(value_size, 8). Of per-CPU,
 *   per-warp and per-thread arrays there are `copies` one behind the other.
 * hash (GT_MAP_HASH): open addressing with linear probing over `capacity` buckets, a power of two
 *   of at least 2 * max_entries. First capacity × u32 states (gt_hash_state), then, aligned to 8,
 *   capacity keys of stride round_up(key_size, 8), then capacity values of stride
 *   round_up(value_size, 8), then u64 number of entries, u64 refused inserts.
 *   The first bucket is gt_map_hash(key) & (capacity - 1).
 * ring (GT_MAP_RING): struct gt_ring_header, then 2 * max_entries bytes: a record begins at
 *   position % max_entries and runs on past max_entries where need be. Each is a
 *   struct gt_ring_record and its bytes, rounded up to 8.
 */
#pragma once

#include "gpubpf/program.h"

enum gt_map_shape {
	GT_MAP_ARRAY,
	GT_MAP_HASH,
	GT_MAP_RING,
};

/* What an array has one of. */
enum gt_map_copies {
	GT_COPY_ONE,
	GT_COPY_SM,
	GT_COPY_WARP,
	GT_COPY_THREAD,
};

enum gt_map_place {
	GT_MAP_DEVICE, /* device memory: atomics of scope .gpu */
	GT_MAP_SHARED, /* memory shared with the host: atomics of scope .sys */
};

struct gt_map_kind {
	uint32_t type;
	const char *name;
	enum gt_map_shape shape;
	enum gt_map_copies copies;
	enum gt_map_place place;
};

enum gt_hash_state {
	GT_HASH_EMPTY,
	GT_HASH_BUSY, /* being written */
	GT_HASH_FULL,
	GT_HASH_DELETED,
};

/* Credits first: who takes n bytes subtracts them from credit and gives them back if there were
 * fewer; the reader adds what it has read. */
struct gt_ring_header {
	int64_t credit; /* bytes free */
	uint64_t head;  /* bytes ever reserved */
	uint64_t tail;  /* bytes ever read: the reader's */
	uint64_t lost;  /* records refused */
};

enum gt_ring_state {
	GT_RING_BUSY,
	GT_RING_READY,
	GT_RING_DISCARDED,
};

struct gt_ring_record {
	uint32_t size;  /* of the bytes that follow */
	uint32_t state; /* gt_ring_state; written last */
};

/* The row of a type, or NULL. */
const struct gt_map_kind *gt_map_kind(uint32_t type);

/* Whether the declaration makes sense for its type. 0, -EINVAL with the reason, -EOPNOTSUPP. */
int gt_map_check(const struct gt_bpf_map *map, struct gt_diag *diag);

/* The bytes of one value and of the whole memory with so many copies; 0 if it would overflow. */
static inline size_t gt_map_stride(uint32_t size)
{
	return ((size_t)size + 7) & ~(size_t)7;
}
size_t gt_map_bytes(const struct gt_bpf_map *map, uint32_t copies);
uint32_t gt_map_hash_capacity(const struct gt_bpf_map *map);
/* Offsets of the keys, of the values and of the counters in a hash map's memory. */
size_t gt_map_hash_keys(const struct gt_bpf_map *map);
size_t gt_map_hash_values(const struct gt_bpf_map *map);
size_t gt_map_hash_counters(const struct gt_bpf_map *map);
/* FNV-1a of 32 bits over the key's bytes. */
uint32_t gt_map_hash(const void *key, uint32_t size);

/* Writes what the memory of a fresh map holds (gt_map_bytes of it, all zeros on entry). */
void gt_map_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory);

/*
 * The operations, on a map's memory, for copy number `copy` of arrays. Results are those of the
 * kernel's helpers: offsets into the memory or -ENOENT, -EEXIST, -E2BIG, -EINVAL.
 */
int64_t gt_map_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
		      const void *key);
int gt_map_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		  const void *value, uint64_t flags);
int gt_map_delete(const struct gt_bpf_map *map, void *memory, const void *key);
/* Reserves a record: the offset of its bytes (the record's head stands before), or -EAGAIN. */
int64_t gt_ring_reserve(const struct gt_bpf_map *map, void *memory, uint64_t size);
void gt_ring_finish(void *memory, uint64_t offset, enum gt_ring_state state);
