/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hash maps, changed by one thread. ptxgen/map_hash.c has the concurrent code of devices. */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

/* The parts of a hash map's memory. */
struct bpf_hash {
	const struct gt_bpf_map *map;
	uint32_t *heads;
	uint64_t *nodes;
	uint8_t *keys, *values;
	struct gt_bpf_hash_counters *counters;
};

/* A position in a chain. */
struct chain_position {
	uint32_t bucket, tag;
	uint32_t node;     /* of the key; valid if it was found */
	uint32_t previous; /* the link before it; 0: the head */
};

uint32_t gt_bpf_map_hash_buckets(const struct gt_bpf_map *map)
{
	uint32_t buckets = 2;

	while (buckets < map->max_entries)
		buckets *= 2;
	return buckets;
}

size_t gt_bpf_map_hash_nodes(const struct gt_bpf_map *map)
{
	return (size_t)gt_bpf_map_hash_buckets(map) * sizeof(uint32_t);
}

size_t gt_bpf_map_hash_keys(const struct gt_bpf_map *map)
{
	return gt_bpf_map_hash_nodes(map) + (size_t)map->max_entries * sizeof(uint64_t);
}

size_t gt_bpf_map_hash_values(const struct gt_bpf_map *map)
{
	return gt_bpf_map_hash_keys(map) + map->max_entries * gt_bpf_map_stride(map->key_size);
}

size_t gt_bpf_map_hash_counters(const struct gt_bpf_map *map)
{
	return gt_bpf_map_hash_values(map) + map->max_entries * gt_bpf_map_stride(map->value_size);
}

uint32_t gt_bpf_map_hash(const void *key, uint32_t size)
{
	uint32_t hash = GT_BPF_HASH_SEED;

	for (uint32_t at = 0; at < size; at += 4) {
		uint32_t word = 0;

		memcpy(&word, (const uint8_t *)key + at, size - at < 4 ? size - at : 4);
		hash = (hash ^ word) * GT_BPF_HASH_FACTOR;
		hash ^= hash >> GT_BPF_HASH_SHIFT;
	}
	return hash;
}

static struct bpf_hash table_of(const struct gt_bpf_map *map, const void *memory)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)memory;

	return (struct bpf_hash){
		.map = map,
		.heads = (uint32_t *)bytes,
		.nodes = (uint64_t *)(bytes + gt_bpf_map_hash_nodes(map)),
		.keys = bytes + gt_bpf_map_hash_keys(map),
		.values = bytes + gt_bpf_map_hash_values(map),
		.counters = (struct gt_bpf_hash_counters *)(bytes + gt_bpf_map_hash_counters(map)),
	};
}

static uint8_t *key_at(const struct bpf_hash *table, uint32_t node)
{
	return table->keys + node * gt_bpf_map_stride(table->map->key_size);
}

static uint8_t *value_at(const struct bpf_hash *table, uint32_t node)
{
	return table->values + node * gt_bpf_map_stride(table->map->value_size);
}

/* Find a key. Ends in corrupt memory, too: no chain is longer than the number of nodes. */
static bool find_key(const struct bpf_hash *table, const void *key, struct chain_position *position)
{
	uint32_t hash = gt_bpf_map_hash(key, table->map->key_size), link;

	position->bucket = hash & (gt_bpf_map_hash_buckets(table->map) - 1);
	position->tag = hash | GT_BPF_HASH_USED;
	position->previous = 0;
	link = table->heads[position->bucket] & ~(uint32_t)GT_BPF_HASH_LOCKED;
	for (uint32_t steps = 0; link && link <= table->map->max_entries; steps++) {
		uint64_t node = table->nodes[link - 1];

		if (steps == table->map->max_entries)
			return false;
		position->node = link - 1;
		if (node >> 32 == position->tag &&
		    !memcmp(key_at(table, position->node), key, table->map->key_size))
			return true;
		position->previous = link;
		link = (uint32_t)node;
	}
	return false;
}

static bool take_node(const struct bpf_hash *table, uint32_t *ret_node)
{
	struct gt_bpf_hash_counters *counters = table->counters;
	uint32_t link = (uint32_t)counters->free;

	if (counters->fresh < table->map->max_entries) {
		*ret_node = counters->fresh++;
		return true;
	}
	if (!link || link > table->map->max_entries)
		return false;
	*ret_node = link - 1;
	counters->free = ((counters->free >> 32) + 1) << 32 | (uint32_t)table->nodes[link - 1];
	return true;
}

size_t gt_bpf_hash_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	(void)copies;
	return gt_bpf_map_hash_counters(map) + sizeof(struct gt_bpf_hash_counters);
}

void gt_bpf_hash_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	(void)map;
	(void)copies;
	(void)memory;
}

int64_t gt_bpf_hash_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			   const void *key)
{
	struct bpf_hash table = table_of(map, memory);
	struct chain_position position;

	(void)copy;
	if (!find_key(&table, key, &position))
		return -ENOENT;
	return value_at(&table, position.node) - (const uint8_t *)memory;
}

static int hash_insert(const struct bpf_hash *table, const struct chain_position *position,
		       const void *key, const void *value)
{
	uint32_t head = table->heads[position->bucket], node;

	if (!take_node(table, &node)) {
		table->counters->rejected++;
		return -E2BIG;
	}
	memset(key_at(table, node), 0, gt_bpf_map_stride(table->map->key_size));
	memcpy(key_at(table, node), key, table->map->key_size);
	memcpy(value_at(table, node), value, table->map->value_size);
	if (!head)
		head = (uint32_t)GT_BPF_HASH_END | position->bucket;
	table->nodes[node] = (uint64_t)position->tag << 32 | head;
	table->heads[position->bucket] = node + 1;
	table->counters->entries++;
	return 0;
}

int gt_bpf_hash_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		       const void *value, uint64_t flags)
{
	struct bpf_hash table = table_of(map, memory);
	struct chain_position position;

	(void)copy;
	if (!find_key(&table, key, &position))
		return flags == BPF_EXIST ? -ENOENT : hash_insert(&table, &position, key, value);
	if (flags == BPF_NOEXIST)
		return -EEXIST;
	memcpy(value_at(&table, position.node), value, map->value_size);
	return 0;
}

int gt_bpf_hash_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	struct bpf_hash table = table_of(map, memory);
	struct chain_position position;
	uint32_t next;

	if (!find_key(&table, key, &position))
		return -ENOENT;
	next = (uint32_t)table.nodes[position.node];
	if (position.previous)
		table.nodes[position.previous - 1] =
			(table.nodes[position.previous - 1] >> 32) << 32 | next;
	else
		table.heads[position.bucket] = next & (uint32_t)GT_BPF_HASH_END ? 0 : next;
	table.nodes[position.node] = (uint32_t)table.counters->free;
	table.counters->free = ((table.counters->free >> 32) + 1) << 32 | (position.node + 1);
	table.counters->entries--;
	return 0;
}

bool gt_bpf_hash_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry)
{
	struct bpf_hash table = table_of(view->map, view->memory);

	while (entry->next < view->map->max_entries) {
		uint32_t node = (uint32_t)entry->next++;

		if (!(table.nodes[node] >> 32))
			continue;
		entry->index = node;
		entry->key = key_at(&table, node);
		entry->value = value_at(&table, node);
		entry->size = view->map->value_size;
		return true;
	}
	return false;
}

struct gt_bpf_map_losses gt_bpf_hash_losses(const struct gt_bpf_map_view *view)
{
	return (struct gt_bpf_map_losses){
		.rejected = table_of(view->map, view->memory).counters->rejected};
}

const struct gt_bpf_map_operations gt_bpf_hash_operations = {
	.bytes = gt_bpf_hash_bytes,
	.initialise = gt_bpf_hash_initialise,
	.lookup = gt_bpf_hash_lookup,
	.update = gt_bpf_hash_update,
	.delete = gt_bpf_hash_delete,
	.read = gt_bpf_hash_read,
	.losses = gt_bpf_hash_losses,
};
