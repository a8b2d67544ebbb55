/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash maps that evict an entry when they are full. As in Linux the choice is approximate: a hand
 * goes around the nodes, passes those that were used since its last round, and evicts the first
 * other one (the clock algorithm). After the hash's memory: a u32, the hand, and a byte for each
 * node, 1 where it was used.
 */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

struct lru_clock {
	uint32_t *hand;
	uint8_t *used;
};

static struct lru_clock clock_of(const struct gt_bpf_map *map, const void *memory)
{
	uint8_t *end = (uint8_t *)(uintptr_t)memory + gt_bpf_hash_bytes(map, 1);

	return (struct lru_clock){.hand = (uint32_t *)end, .used = end + 8};
}

static size_t lru_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	return gt_bpf_hash_bytes(map, copies) + 8 + gt_bpf_map_stride(map->max_entries);
}

static uint32_t node_of(const struct gt_bpf_map *map, int64_t offset)
{
	return (uint32_t)(((size_t)offset - gt_bpf_map_hash_values(map)) /
			  gt_bpf_map_stride(map->value_size));
}

static void set_used(const struct gt_bpf_map *map, const void *memory, int64_t offset)
{
	uint32_t node = node_of(map, offset);

	if (node < map->max_entries)
		clock_of(map, memory).used[node] = 1;
}

static int64_t lru_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			  const void *key)
{
	int64_t offset = gt_bpf_hash_lookup(map, memory, copy, key);

	if (offset >= 0)
		set_used(map, memory, offset);
	return offset;
}

/* Evict the entry of the node where the hand stops. Two rounds: the first may only clear marks. */
static int evict(const struct gt_bpf_map *map, void *memory)
{
	struct lru_clock clock = clock_of(map, memory);
	const uint8_t *keys = (const uint8_t *)memory + gt_bpf_map_hash_keys(map);

	for (uint64_t i = 0; i < 2 * (uint64_t)map->max_entries; i++) {
		uint32_t node = (*clock.hand)++ % map->max_entries;

		if (!clock.used[node] &&
		    !gt_bpf_hash_delete(map, memory,
					keys + node * gt_bpf_map_stride(map->key_size)))
			return 0;
		clock.used[node] = 0;
	}
	return -E2BIG;
}

static int lru_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		      const void *value, uint64_t flags)
{
	const struct gt_bpf_hash_counters *counters =
		(const void *)((const uint8_t *)memory + gt_bpf_map_hash_counters(map));
	bool exists = gt_bpf_hash_lookup(map, memory, copy, key) >= 0;
	int error = 0;

	if (!exists && flags != BPF_EXIST && counters->entries >= map->max_entries)
		error = evict(map, memory);
	if (!error)
		error = gt_bpf_hash_update(map, memory, copy, key, value, flags);
	if (!error && exists)
		set_used(map, memory, gt_bpf_hash_lookup(map, memory, copy, key));
	return error;
}

const struct gt_bpf_map_operations gt_bpf_lru_operations = {
	.bytes = lru_bytes,
	.initialise = gt_bpf_hash_initialise,
	.lookup = lru_lookup,
	.update = lru_update,
	.delete = gt_bpf_hash_delete,
	.read = gt_bpf_hash_read,
	.losses = gt_bpf_hash_losses,
};
