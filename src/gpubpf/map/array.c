/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays of one or several copies. */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

static bool is_single(const struct gt_bpf_map *map)
{
	return gt_bpf_map_kind(map->type)->copies == GT_COPY_ONE;
}

size_t gt_bpf_map_copy_bytes(const struct gt_bpf_map *map)
{
	size_t bytes;

	return __builtin_mul_overflow(gt_bpf_map_stride(map->value_size), map->max_entries, &bytes)
		       ? 0
		       : bytes;
}

enum { STRIPE_UNIT = 128 }; /* a line of the cache of GPUs */

size_t gt_bpf_map_stripe_bytes(const struct gt_bpf_map *map)
{
	return (gt_bpf_map_copy_bytes(map) + STRIPE_UNIT - 1) & ~(size_t)(STRIPE_UNIT - 1);
}

size_t gt_bpf_map_striped_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	size_t bytes;

	if (!map->stripes)
		return gt_bpf_map_bytes(map, copies);
	return __builtin_mul_overflow(gt_bpf_map_stripe_bytes(map), map->stripes, &bytes) ? 0
											  : bytes;
}

static size_t array_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	size_t bytes = gt_bpf_map_copy_bytes(map);

	if (is_single(map))
		return bytes;
	if (__builtin_mul_overflow(bytes, copies, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(uint64_t), &bytes))
		return 0;
	return bytes;
}

static void array_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	size_t one = gt_bpf_map_copy_bytes(map);

	if (!map->initial)
		return;
	for (uint32_t i = 0; i < (is_single(map) ? 1 : copies); i++)
		memcpy((uint8_t *)memory + i * one, map->initial, map->value_size);
}

static int64_t array_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			    const void *key)
{
	uint32_t index;

	(void)memory;
	memcpy(&index, key, sizeof(index));
	if (index >= map->max_entries)
		return -ENOENT;
	if (is_single(map))
		copy = 0;
	return (int64_t)(copy * gt_bpf_map_copy_bytes(map) +
			 index * gt_bpf_map_stride(map->value_size));
}

static int array_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
			const void *value, uint64_t flags)
{
	int64_t offset = array_lookup(map, memory, copy, key);

	if (offset < 0)
		return -E2BIG;
	if (flags == BPF_NOEXIST)
		return -EEXIST;
	memcpy((uint8_t *)memory + offset, value, map->value_size);
	return 0;
}

static int array_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	(void)map;
	(void)memory;
	(void)key;
	return -EINVAL;
}

void gt_bpf_map_count_outside(const struct gt_bpf_map *map, void *memory, uint32_t copies)
{
	uint64_t *outside = (uint64_t *)((uint8_t *)memory + copies * gt_bpf_map_copy_bytes(map));

	if (!is_single(map))
		++*outside;
}

static bool array_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry)
{
	if (entry->next >= view->map->max_entries || (!is_single(view->map) && !view->copies))
		return false;
	entry->index = (uint32_t)entry->next++;
	entry->key = &entry->index;
	entry->size = view->map->value_size;
	entry->value = (const uint8_t *)view->memory +
		       entry->index * gt_bpf_map_stride(view->map->value_size);
	return true;
}

static struct gt_bpf_map_losses array_losses(const struct gt_bpf_map_view *view)
{
	struct gt_bpf_map_losses losses = {0};

	if (!is_single(view->map))
		memcpy(&losses.outside,
		       (const uint8_t *)view->memory +
			       view->copies * gt_bpf_map_copy_bytes(view->map),
		       sizeof(losses.outside));
	return losses;
}

const struct gt_bpf_map_operations gt_bpf_array_operations = {
	.bytes = array_bytes,
	.initialise = array_initialise,
	.lookup = array_lookup,
	.update = array_update,
	.delete = array_delete,
	.read = array_read,
	.losses = array_losses,
};
