/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The types of maps, and the operations that all maps have. */
#include "gpubpf/map/map.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

static const struct gt_bpf_map_kind kinds[] = {
#define MAP(type, name, ...) {(type), name, __VA_ARGS__},
#include "gpubpf/map/types.def"
#undef MAP
};

static const struct gt_bpf_map_operations *const operations[GT_BPF_MAP_SHAPES] = {
	[GT_BPF_MAP_ARRAY] = &gt_bpf_array_operations, [GT_BPF_MAP_HASH] = &gt_bpf_hash_operations,
	[GT_BPF_MAP_RING] = &gt_bpf_ring_operations,   [GT_BPF_MAP_LRU] = &gt_bpf_lru_operations,
	[GT_BPF_MAP_TRIE] = &gt_bpf_trie_operations,
};

const struct gt_bpf_map_kind *gt_bpf_map_kind(uint32_t type)
{
	for (size_t i = 0; i < gt_countof(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

const struct gt_bpf_map_operations *gt_bpf_map_operations(const struct gt_bpf_map *map)
{
	return operations[gt_bpf_map_kind(map->type)->shape];
}

enum gt_bpf_map_place gt_bpf_map_place(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	if (kind->shape == GT_BPF_MAP_ARRAY && (map->flags & BPF_F_MMAPABLE) &&
	    (map->with_host || !strchr(map->name, '.')))
		return GT_BPF_MAP_SHARED;
	/* Hashes of the kernel. */
	if (map->with_host && gt_bpf_map_is_hashed(kind->shape))
		return GT_BPF_MAP_HOST;
	return kind->place;
}

bool gt_bpf_map_is_on_host(const struct gt_bpf_map *map)
{
	return gt_bpf_map_kind(map->type) && gt_bpf_map_place(map) == GT_BPF_MAP_HOST;
}

bool gt_bpf_map_is_common(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	return kind->shape == GT_BPF_MAP_ARRAY && kind->copies == GT_COPY_ONE &&
	       gt_bpf_map_place(map) == GT_BPF_MAP_SHARED;
}

/* The reason why a declaration is invalid, or NULL. */
static const char *check_declaration(const struct gt_bpf_map *map,
				     const struct gt_bpf_map_kind *kind)
{
	if (kind->shape == GT_BPF_MAP_RING && map->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return NULL;
	if (!map->max_entries)
		return "max_entries is 0";
	if (map->read_only && map->write_only)
		return "BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG exclude each other";
	if (gt_bpf_map_is_thread_ring(map))
		return map->value_size > 1u << 24 || gt_bpf_map_thread_ring_bytes(map) > 1u << 30
			       ? "the records of one thread need more than 2^30 bytes"
			       : NULL;
	if (kind->shape == GT_BPF_MAP_RING)
		return map->max_entries & (map->max_entries - 1)
			       ? "max_entries of a ring is not a power of two"
		       : map->max_entries < 64 || map->max_entries > 1u << 30
			       ? "max_entries of a ring is not 64 to 2^30 bytes"
			       : NULL;
	if (!map->value_size || map->value_size > GT_BPF_MAX_VALUE)
		return "value_size is not 1 to 2^29 bytes";
	if (gt_bpf_map_is_on_host(map) && map->value_size > GT_BPF_MAX_HOST_VALUE)
		return "value_size is above 4096 bytes, and the map is on the host";
	if (kind->shape == GT_BPF_MAP_ARRAY)
		return map->key_size != 4 ? "key_size of an array is not 4" : NULL;
	if (map->max_entries > 1u << 26)
		return "max_entries of a hash is above 2^26";
	if (kind->shape == GT_BPF_MAP_TRIE && (map->key_size < 5 || map->key_size > 260))
		return "key_size is not 5 to 260 bytes: a u32 and the bits";
	return !map->key_size || map->key_size > 512 ? "key_size is not 1 to 512 bytes" : NULL;
}

static int reject_type(const struct gt_bpf_map *map, struct gt_diag *diag)
{
	return gt_diag(diag, -EOPNOTSUPP, "map", map->name,
		       "GPUs have no maps of type %u; they have"
#define MAP(type, ...) " " #type
#include "gpubpf/map/types.def"
#undef MAP
		       " (enum gputap_map_type)",
		       map->type);
}

int gt_bpf_map_check(const struct gt_bpf_map *map, struct gt_diag *diag)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	const char *reason;

	if (!kind)
		return reject_type(map, diag);
	reason = check_declaration(map, kind);
	if (!reason && !gt_bpf_map_bytes(map, 1))
		reason = "the map is too large";
	return reason ? gt_diag(diag, -EINVAL, "map", map->name, "%s", reason) : 0;
}

static bool multiply(const uint32_t size[3], uint64_t *product)
{
	for (int i = 0; i < 3; i++)
		if (__builtin_mul_overflow(*product, size[i], product))
			return false;
	return true;
}

uint32_t gt_bpf_map_copies_for(const struct gt_bpf_map *map, const struct gt_bpf_map_grid *grid)
{
	uint64_t blocks = 1, threads = 1, copies;

	if (!multiply(grid->grid, &blocks) || !multiply(grid->block, &threads))
		return 0;
	switch (gt_bpf_map_kind(map->type)->copies) {
	case GT_COPY_SM:
		return grid->multiprocessors;
	case GT_COPY_WARP:
		threads = threads / 32 + (threads % 32 != 0);
		break;
	case GT_COPY_THREAD:
		break;
	case GT_COPY_ONE:
		return 1;
	}
	if (__builtin_mul_overflow(blocks, threads, &copies) || copies > UINT32_MAX)
		return 0;
	return (uint32_t)copies;
}

size_t gt_bpf_map_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	return kind ? operations[kind->shape]->bytes(map, copies) : 0;
}

void gt_bpf_map_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	gt_bpf_map_operations(map)->initialise(map, copies, memory);
	gt_bpf_map_set_presets(map, copies, memory);
}

void gt_bpf_map_set_presets(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	size_t each = (size_t)map->key_size + map->value_size;

	if (gt_bpf_map_kind(map->type)->copies == GT_COPY_ONE)
		copies = 1;
	for (uint64_t i = 0; i < map->preset_count; i++)
		for (uint32_t copy = 0; copy < copies; copy++)
			gt_bpf_map_update(map, memory, copy, map->presets + i * each,
					  map->presets + i * each + map->key_size, BPF_ANY);
}

int64_t gt_bpf_map_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			  const void *key)
{
	return gt_bpf_map_operations(map)->lookup(map, memory, copy, key);
}

int gt_bpf_map_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		      const void *value, uint64_t flags)
{
	return flags > BPF_EXIST
		       ? -EINVAL
		       : gt_bpf_map_operations(map)->update(map, memory, copy, key, value, flags);
}

int gt_bpf_map_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	return gt_bpf_map_operations(map)->delete (map, memory, key);
}

/* Atomically: host programs may add to a shared map meanwhile. */
static void add_number(const struct gt_bpf_map *map, void *value, uint64_t number)
{
	if (map->value_size == 4)
		__atomic_fetch_add((uint32_t *)value, (uint32_t)number, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add((uint64_t *)value, number, __ATOMIC_RELAXED);
}

int gt_bpf_map_add(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		   uint64_t number)
{
	enum gt_bpf_map_shape shape = gt_bpf_map_kind(map->type)->shape;
	int64_t offset;

	if (!gt_bpf_map_has_numbers(map) || shape == GT_BPF_MAP_RING)
		return -EINVAL;
	offset = gt_bpf_map_lookup(map, memory, copy, key);
	if (offset < 0 && gt_bpf_map_is_hashed(shape)) {
		gt_autofree void *zeros = calloc(1, map->value_size);
		int error = zeros ? gt_bpf_map_update(map, memory, copy, key, zeros, BPF_NOEXIST)
				  : -ENOMEM;

		if (error)
			return error;
		offset = gt_bpf_map_lookup(map, memory, copy, key);
	}
	if (offset < 0)
		return -E2BIG;
	add_number(map, (uint8_t *)memory + offset, number);
	return 0;
}

int gt_bpf_map_count_power(const struct gt_bpf_map *map, void *memory, uint32_t copy,
			   uint64_t number)
{
	uint32_t power = (uint32_t)(63 - __builtin_clzll(number | 1));

	if (gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_ARRAY)
		return -EINVAL;
	if (power >= map->max_entries)
		power = map->max_entries - 1;
	return gt_bpf_map_add(map, memory, copy, &power, 1);
}

bool gt_bpf_map_holds(const struct gt_bpf_map *map, uint32_t copies, uint64_t offset, uint64_t size)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint64_t stride = gt_bpf_map_stride(map->value_size), end;

	if (kind->shape == GT_BPF_MAP_RING)
		return false;
	if (gt_bpf_map_is_hashed(kind->shape)) {
		uint64_t values = gt_bpf_map_hash_values(map);

		if (offset < values)
			return false;
		offset -= values;
		end = map->max_entries * stride;
	} else {
		end = (kind->copies == GT_COPY_ONE ? 1 : copies) *
		      (uint64_t)gt_bpf_map_copy_bytes(map);
	}
	return offset < end && size <= map->value_size && offset % stride <= map->value_size - size;
}

/* ---- reading back ---------------------------------------------------------------------- */

bool gt_bpf_map_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry)
{
	return gt_bpf_map_operations(view->map)->read(view, entry);
}

const void *gt_bpf_map_read_copy(const struct gt_bpf_map_view *view,
				 const struct gt_bpf_map_entry *entry, uint32_t copy)
{
	if (gt_bpf_map_kind(view->map->type)->copies == GT_COPY_ONE)
		return entry->value;
	return (const uint8_t *)entry->value + copy * gt_bpf_map_copy_bytes(view->map);
}

uint64_t gt_bpf_map_number(const struct gt_bpf_map *map, const void *value)
{
	uint64_t number = 0;

	memcpy(&number, value, map->value_size < 8 ? map->value_size : 8);
	return number;
}

uint64_t gt_bpf_map_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry)
{
	bool one = gt_bpf_map_kind(view->map->type)->copies == GT_COPY_ONE;
	uint64_t sum = 0;

	for (uint32_t copy = 0; copy < (one ? 1 : view->copies); copy++)
		sum += gt_bpf_map_number(view->map, gt_bpf_map_read_copy(view, entry, copy));
	return sum;
}

struct gt_bpf_map_losses gt_bpf_map_losses(const struct gt_bpf_map_view *view)
{
	return gt_bpf_map_operations(view->map)->losses(view);
}
