/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries are in one array in the order of insertion; a second array of indices is probed linearly.
 * A removed entry leaves a tombstone in both until the next rebuild; a probe skips tombstones
 * without a cache miss on their entries.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mix.h"

#define EMPTY UINT32_MAX
#define REMOVED (UINT32_MAX - 1)
#define MAX_SMALL 16 /* bytes of a key that is stored in its entry */

struct hash_entry {
	void *value;   /* NULL: removed */
	uint32_t hash; /* its low bits: there are at most 2^32 slots */
	uint32_t length;
	union {
		void *key;
		char small[MAX_SMALL];
	};
};

struct gt_hash {
	struct hash_entry *entries;
	uint32_t *slots;   /* index of an entry, EMPTY or REMOVED */
	size_t used;       /* entries in use, including removed ones */
	size_t live;       /* entries that are not removed */
	size_t slot_count; /* power of two; entries hold half as many */
	uint64_t seed;     /* random, so that no input can be made of keys that collide */
};

static uint64_t hash_bytes(const struct gt_hash *table, const void *key, size_t length)
{
	const unsigned char *byte = key;
	uint64_t hash = table->seed ^ length;

	for (; length >= 8; length -= 8, byte += 8) {
		uint64_t word;

		memcpy(&word, byte, 8);
		hash = gt_hash_mix(hash, word);
	}
	for (; length; length--, byte++)
		hash = (hash ^ *byte) * 0x100000001b3u;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 33);
}

static const void *entry_key(const struct hash_entry *entry)
{
	return entry->length > MAX_SMALL ? entry->key : entry->small;
}

static void free_key(struct hash_entry *entry)
{
	if (entry->value && entry->length > MAX_SMALL)
		free(entry->key);
}

struct gt_hash *gt_hash_new(void)
{
	struct gt_hash *table = calloc(1, sizeof(*table));

	/* The address is random (ASLR). */
	if (table)
		table->seed = (uintptr_t)table * 0x9e3779b97f4a7c15u;
	return table;
}

void gt_hash_free_with(struct gt_hash *table, void (*release)(void *value))
{
	if (!table)
		return;
	for (size_t i = 0; i < table->used; i++) {
		free_key(&table->entries[i]);
		if (table->entries[i].value && release)
			release(table->entries[i].value);
	}
	free(table->entries);
	free(table->slots);
	free(table);
}

size_t gt_hash_count(const struct gt_hash *table)
{
	return table->live;
}

static bool is_key(const struct hash_entry *entry, const void *key, size_t length, uint32_t hash)
{
	return entry->hash == hash && entry->length == length &&
	       !memcmp(entry_key(entry), key, length);
}

/* Returns the slot of a key, or NULL. */
static uint32_t *find(const struct gt_hash *table, const void *key, size_t length, uint32_t hash)
{
	size_t mask = table->slot_count - 1;

	if (!table->slot_count)
		return NULL;
	for (size_t slot = hash & mask; table->slots[slot] != EMPTY; slot = (slot + 1) & mask)
		if (table->slots[slot] != REMOVED &&
		    is_key(&table->entries[table->slots[slot]], key, length, hash))
			return &table->slots[slot];
	return NULL;
}

static struct hash_entry *find_entry(const struct gt_hash *table, const void *key, size_t length,
				     uint32_t hash)
{
	uint32_t *slot = find(table, key, length, hash);

	return slot ? &table->entries[*slot] : NULL;
}

static void place(uint32_t *slots, size_t slot_count, uint32_t hash, uint32_t index)
{
	size_t slot = hash & (slot_count - 1);

	while (slots[slot] != EMPTY && slots[slot] != REMOVED)
		slot = (slot + 1) & (slot_count - 1);
	slots[slot] = index;
}

/* Rebuilds the table for twice as many entries, without tombstones. */
static int rebuild(struct gt_hash *table)
{
	size_t slot_count = 16;
	struct hash_entry *entries;
	uint32_t *slots;
	size_t used = 0;

	while (slot_count < table->live * 4 + 4)
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
	for (size_t i = 0; i < table->used; i++) {
		if (!table->entries[i].value)
			continue;
		entries[used] = table->entries[i];
		place(slots, slot_count, entries[used].hash, used);
		used++;
	}
	free(table->entries);
	free(table->slots);
	table->entries = entries;
	table->slots = slots;
	table->used = used;
	table->slot_count = slot_count;
	return 0;
}

void *gt_hash_get(const struct gt_hash *table, const void *key, size_t length)
{
	uint32_t hash = (uint32_t)hash_bytes(table, key, length);
	struct hash_entry *entry = find_entry(table, key, length, hash);

	return entry ? entry->value : NULL;
}

static int set_key(struct hash_entry *entry, const void *key, size_t length)
{
	if (length <= MAX_SMALL) {
		memcpy(entry->small, key, length);
		return 0;
	}
	entry->key = malloc(length);
	if (!entry->key)
		return -ENOMEM;
	memcpy(entry->key, key, length);
	return 0;
}

int gt_hash_set(struct gt_hash *table, const void *key, size_t length, void *value)
{
	struct hash_entry added = {.value = value,
				   .hash = (uint32_t)hash_bytes(table, key, length)};
	struct hash_entry *entry = find_entry(table, key, length, added.hash);
	int error = 0;

	if (entry) {
		entry->value = value;
		return 0;
	}
	if (length > UINT32_MAX)
		return -ENOMEM;
	added.length = (uint32_t)length;
	if (table->used >= table->slot_count / 2)
		error = rebuild(table);
	if (!error)
		error = set_key(&added, key, length);
	if (error)
		return error;
	table->entries[table->used] = added;
	place(table->slots, table->slot_count, added.hash, (uint32_t)table->used);
	table->used++;
	table->live++;
	return 0;
}

void *gt_hash_remove(struct gt_hash *table, const void *key, size_t length)
{
	uint32_t *slot = find(table, key, length, (uint32_t)hash_bytes(table, key, length));
	struct hash_entry *entry;
	void *value;

	if (!slot)
		return NULL;
	entry = &table->entries[*slot];
	value = entry->value;
	free_key(entry);
	entry->value = NULL;
	*slot = REMOVED;
	table->live--;
	return value;
}

bool gt_hash_next(const struct gt_hash *table, size_t *cursor, const void **key, size_t *length,
		  void **value)
{
	while (*cursor < table->used) {
		const struct hash_entry *entry = &table->entries[(*cursor)++];

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
