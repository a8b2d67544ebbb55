/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps on the host: layout and operations. */
#include "gpubpf/maps.h"

#include <errno.h>
#include <string.h>

static const struct gt_map_kind kinds[] = {
#define MAP(type, name, shape, copies, place) {(type), name, shape, copies, place},
#include "gpubpf/maps.def"
#undef MAP
};

const struct gt_map_kind *gt_map_kind(uint32_t type)
{
	for (size_t i = 0; i < gt_countof(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

/* What a declaration must look like. */
static const char *check_shape(const struct gt_bpf_map *map, const struct gt_map_kind *kind)
{
	if (kind->shape == GT_MAP_RING && map->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return NULL;
	if (!map->max_entries)
		return "max_entries is 0";
	if (kind->shape == GT_MAP_RING)
		return map->max_entries & (map->max_entries - 1)
			       ? "max_entries of a ring is not a power of two"
		       : map->max_entries < 64 || map->max_entries > 1u << 30
			       ? "max_entries of a ring is not 64 to 2^30 bytes"
			       : NULL;
	if (!map->value_size || map->value_size > 1u << 24)
		return "value_size is not 1 to 2^24 bytes";
	if (kind->shape == GT_MAP_ARRAY)
		return map->key_size != 4 ? "key_size of an array is not 4" : NULL;
	if (map->max_entries > 1u << 26)
		return "max_entries of a hash is above 2^26";
	return !map->key_size || map->key_size > 512 ? "key_size is not 1 to 512 bytes" : NULL;
}

int gt_map_check(const struct gt_bpf_map *map, struct gt_diag *diag)
{
	const struct gt_map_kind *kind = gt_map_kind(map->type);
	const char *reason;

	if (!kind)
		return gt_diag(diag, -EOPNOTSUPP, "map", map->name,
			       "maps of type %u are not for the GPU", map->type);
	reason = check_shape(map, kind);
	if (!reason && !gt_map_bytes(map, 1))
		reason = "it is too big";
	return reason ? gt_diag(diag, -EINVAL, "map", map->name, "%s", reason) : 0;
}

/* The ring behind a PERF_EVENT_ARRAY, whose max_entries count CPUs. */
static uint32_t ring_size(const struct gt_bpf_map *map)
{
	return map->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY ? 1u << 20 : map->max_entries;
}

uint32_t gt_map_hash_capacity(const struct gt_bpf_map *map)
{
	uint32_t capacity = 2;

	while (capacity < 2 * (uint64_t)map->max_entries)
		capacity *= 2;
	return capacity;
}

size_t gt_map_hash_keys(const struct gt_bpf_map *map)
{
	return (size_t)gt_map_hash_capacity(map) * sizeof(uint32_t);
}

size_t gt_map_hash_values(const struct gt_bpf_map *map)
{
	return gt_map_hash_keys(map) + gt_map_hash_capacity(map) * gt_map_stride(map->key_size);
}

size_t gt_map_hash_counters(const struct gt_bpf_map *map)
{
	return gt_map_hash_values(map) + gt_map_hash_capacity(map) * gt_map_stride(map->value_size);
}

size_t gt_map_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	const struct gt_map_kind *kind = gt_map_kind(map->type);
	size_t bytes;

	if (!kind)
		return 0;
	switch (kind->shape) {
	case GT_MAP_RING:
		return sizeof(struct gt_ring_header) + 2 * (size_t)ring_size(map);
	case GT_MAP_HASH:
		return gt_map_hash_counters(map) + 2 * sizeof(uint64_t);
	case GT_MAP_ARRAY:
		break;
	}
	if (__builtin_mul_overflow(gt_map_stride(map->value_size), map->max_entries, &bytes) ||
	    (kind->copies != GT_COPY_ONE && __builtin_mul_overflow(bytes, copies, &bytes)))
		return 0;
	return bytes;
}

uint32_t gt_map_hash(const void *key, uint32_t size)
{
	const uint8_t *bytes = key;
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

void gt_map_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	const struct gt_map_kind *kind = gt_map_kind(map->type);

	if (kind->shape == GT_MAP_RING) {
		((struct gt_ring_header *)memory)->credit = ring_size(map);
	} else if (kind->shape == GT_MAP_ARRAY && map->initial) {
		size_t one = gt_map_bytes(map, 1);

		for (uint32_t i = 0; i < (kind->copies == GT_COPY_ONE ? 1 : copies); i++)
			memcpy((uint8_t *)memory + i * one, map->initial, map->value_size);
	}
}

/* The bucket that holds a key, or -ENOENT; *ret_free is the first that could take it, or -1. */
static int64_t find_bucket(const struct gt_bpf_map *map, const uint8_t *memory, const void *key,
			   int64_t *ret_free)
{
	const uint32_t *states = (const uint32_t *)memory;
	const uint8_t *keys = memory + gt_map_hash_keys(map);
	uint32_t capacity = gt_map_hash_capacity(map);
	uint32_t first = gt_map_hash(key, map->key_size);

	*ret_free = -1;
	for (uint32_t i = 0; i < capacity; i++) {
		uint32_t bucket = (first + i) & (capacity - 1);

		if (states[bucket] == GT_HASH_FULL) {
			if (!memcmp(keys + bucket * gt_map_stride(map->key_size), key,
				    map->key_size))
				return bucket;
			continue;
		}
		if (*ret_free < 0)
			*ret_free = bucket;
		if (states[bucket] == GT_HASH_EMPTY)
			break;
	}
	return -ENOENT;
}

static int64_t array_offset(const struct gt_bpf_map *map, uint32_t copy, const void *key)
{
	const struct gt_map_kind *kind = gt_map_kind(map->type);
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	if (index >= map->max_entries)
		return -ENOENT;
	if (kind->copies == GT_COPY_ONE)
		copy = 0;
	return (int64_t)(copy * gt_map_bytes(map, 1) + index * gt_map_stride(map->value_size));
}

int64_t gt_map_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
		      const void *key)
{
	int64_t bucket, unused;

	switch (gt_map_kind(map->type)->shape) {
	case GT_MAP_ARRAY:
		return array_offset(map, copy, key);
	case GT_MAP_HASH:
		bucket = find_bucket(map, memory, key, &unused);
		return bucket < 0 ? bucket
				  : (int64_t)(gt_map_hash_values(map) +
					      (size_t)bucket * gt_map_stride(map->value_size));
	case GT_MAP_RING:
		break;
	}
	return -ENOENT;
}

static int update_hash(const struct gt_bpf_map *map, uint8_t *memory, const void *key,
		       const void *value, uint64_t flags)
{
	uint64_t *counters = (uint64_t *)(memory + gt_map_hash_counters(map));
	int64_t target, bucket = find_bucket(map, memory, key, &target);

	if (bucket >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (bucket < 0) {
		if (flags == BPF_EXIST)
			return -ENOENT;
		if (target < 0 || counters[0] >= map->max_entries) {
			counters[1]++;
			return -E2BIG;
		}
		bucket = target;
		counters[0]++;
		memcpy(memory + gt_map_hash_keys(map) +
			       (size_t)bucket * gt_map_stride(map->key_size),
		       key, map->key_size);
	}
	memcpy(memory + gt_map_hash_values(map) + (size_t)bucket * gt_map_stride(map->value_size),
	       value, map->value_size);
	((uint32_t *)memory)[bucket] = GT_HASH_FULL;
	return 0;
}

int gt_map_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		  const void *value, uint64_t flags)
{
	int64_t offset;

	if (flags > BPF_EXIST)
		return -EINVAL;
	switch (gt_map_kind(map->type)->shape) {
	case GT_MAP_HASH:
		return update_hash(map, memory, key, value, flags);
	case GT_MAP_ARRAY:
		offset = array_offset(map, copy, key);
		if (offset < 0)
			return -E2BIG;
		if (flags == BPF_NOEXIST)
			return -EEXIST;
		memcpy((uint8_t *)memory + offset, value, map->value_size);
		return 0;
	case GT_MAP_RING:
		break;
	}
	return -EINVAL;
}

int gt_map_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	int64_t bucket, unused;

	if (gt_map_kind(map->type)->shape != GT_MAP_HASH)
		return -EINVAL;
	bucket = find_bucket(map, memory, key, &unused);
	if (bucket < 0)
		return (int)bucket;
	((uint32_t *)memory)[bucket] = GT_HASH_DELETED;
	((uint64_t *)((uint8_t *)memory + gt_map_hash_counters(map)))[0]--;
	return 0;
}

int64_t gt_ring_reserve(const struct gt_bpf_map *map, void *memory, uint64_t size)
{
	struct gt_ring_header *header = memory;
	struct gt_ring_record *record;
	uint64_t position, total;

	if (size > ring_size(map))
		return -E2BIG;
	total = (size + sizeof(*record) + 7) & ~(uint64_t)7;
	if (header->credit < (int64_t)total) {
		header->lost++;
		return -EAGAIN;
	}
	header->credit -= (int64_t)total;
	position = sizeof(*header) + header->head % ring_size(map);
	header->head += total;
	record = (struct gt_ring_record *)((uint8_t *)memory + position);
	*record = (struct gt_ring_record){(uint32_t)size, GT_RING_BUSY};
	return (int64_t)(position + sizeof(*record));
}

void gt_ring_finish(void *memory, uint64_t offset, enum gt_ring_state state)
{
	((struct gt_ring_record *)((uint8_t *)memory + offset))[-1].state = state;
}
