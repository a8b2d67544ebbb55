/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries lie in one array in the order of insertion; a second array of indices is probed
 * linearly. A removed entry leaves a tombstone in both until the next rebuild.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define EMPTY UINT32_MAX

struct entry {
	uint64_t hash;
	void *key;   /* NULL: removed, or a short key */
	void *value; /* NULL: removed */
	size_t length;
	uint64_t small; /* keys of up to 8 bytes live here */
};

struct gt_map {
	struct entry *entries;
	uint32_t *slots;   /* index of an entry, or EMPTY */
	size_t used;       /* entries in use, removed ones included */
	size_t live;       /* entries that are there */
	size_t slot_count; /* power of two; entries hold half as many */
};

static uint64_t hash_bytes(const void *key, size_t length)
{
	const unsigned char *byte = key;
	uint64_t hash = 0x9e3779b97f4a7c15u ^ length;

	for (; length >= 8; length -= 8, byte += 8) {
		uint64_t word;

		memcpy(&word, byte, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	for (; length; length--, byte++)
		hash = (hash ^ *byte) * 0x100000001b3u;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 33);
}

static const void *entry_key(const struct entry *entry)
{
	return entry->key ? entry->key : &entry->small;
}

struct gt_map *gt_map_new(void)
{
	return calloc(1, sizeof(struct gt_map));
}

void gt_map_free_with(struct gt_map *map, void (*release)(void *value))
{
	if (!map)
		return;
	for (size_t i = 0; i < map->used; i++) {
		if (map->entries[i].value && release)
			release(map->entries[i].value);
		free(map->entries[i].key);
	}
	free(map->entries);
	free(map->slots);
	free(map);
}

size_t gt_map_count(const struct gt_map *map)
{
	return map->live;
}

static struct entry *find(const struct gt_map *map, const void *key, size_t length, uint64_t hash)
{
	size_t mask = map->slot_count - 1;

	if (!map->slot_count)
		return NULL;
	for (size_t slot = hash & mask; map->slots[slot] != EMPTY; slot = (slot + 1) & mask) {
		struct entry *entry = &map->entries[map->slots[slot]];

		if (entry->value && entry->hash == hash && entry->length == length &&
		    !memcmp(entry_key(entry), key, length))
			return entry;
	}
	return NULL;
}

static void place(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t index)
{
	size_t slot = hash & (slot_count - 1);

	while (slots[slot] != EMPTY)
		slot = (slot + 1) & (slot_count - 1);
	slots[slot] = index;
}

/* Makes room for twice what is there, without the tombstones. */
static int rebuild(struct gt_map *map)
{
	size_t slot_count = 16;
	struct entry *entries;
	uint32_t *slots;
	size_t used = 0;

	while (slot_count < map->live * 4 + 4)
		slot_count *= 2;
	if (slot_count > UINT32_MAX / 2)
		return -ENOMEM;
	entries = malloc(slot_count / 2 * sizeof(*entries));
	slots = malloc(slot_count * sizeof(*slots));
	if (!entries || !slots) {
		free(entries);
		free(slots);
		return -ENOMEM;
	}
	memset(slots, 0xff, slot_count * sizeof(*slots));
	for (size_t i = 0; i < map->used; i++) {
		if (!map->entries[i].value)
			continue;
		entries[used] = map->entries[i];
		place(slots, slot_count, entries[used].hash, used);
		used++;
	}
	free(map->entries);
	free(map->slots);
	map->entries = entries;
	map->slots = slots;
	map->used = used;
	map->slot_count = slot_count;
	return 0;
}

void *gt_map_get(const struct gt_map *map, const void *key, size_t length)
{
	struct entry *entry = find(map, key, length, hash_bytes(key, length));

	return entry ? entry->value : NULL;
}

int gt_map_set(struct gt_map *map, const void *key, size_t length, void *value)
{
	uint64_t hash = hash_bytes(key, length);
	struct entry *entry = find(map, key, length, hash);
	void *copy = NULL;
	int error;

	if (entry) {
		entry->value = value;
		return 0;
	}
	if (map->used >= map->slot_count / 2) {
		error = rebuild(map);
		if (error)
			return error;
	}
	if (length > sizeof(entry->small)) {
		copy = malloc(length);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, key, length);
	}
	entry = &map->entries[map->used];
	*entry = (struct entry){.hash = hash, .key = copy, .value = value, .length = length};
	if (!copy)
		memcpy(&entry->small, key, length);
	place(map->slots, map->slot_count, hash, map->used);
	map->used++;
	map->live++;
	return 0;
}

void *gt_map_remove(struct gt_map *map, const void *key, size_t length)
{
	struct entry *entry = find(map, key, length, hash_bytes(key, length));
	void *value;

	if (!entry)
		return NULL;
	value = entry->value;
	free(entry->key);
	entry->key = NULL;
	entry->value = NULL;
	map->live--;
	return value;
}

bool gt_map_next(const struct gt_map *map, size_t *cursor, const void **key, size_t *length,
		 void **value)
{
	while (*cursor < map->used) {
		const struct entry *entry = &map->entries[(*cursor)++];

		if (!entry->value)
			continue;
		if (key)
			*key = entry_key(entry);
		if (length)
			*length = entry->length;
		*value = entry->value;
		return true;
	}
	return false;
}
