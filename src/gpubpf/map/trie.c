/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Longest-prefix-match maps: a key is a u32, the number of its first bits that count, and the bits,
 * from the most significant one of the first byte on. Entries are in a hash, with the bits after
 * the prefix cleared; a lookup tries each prefix length, the longest first.
 */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

enum {
	MAX_KEY = 512,
};

struct trie_key {
	uint8_t bytes[MAX_KEY];
};

static uint32_t max_length(const struct gt_bpf_map *map)
{
	return (map->key_size - (uint32_t)sizeof(uint32_t)) * 8;
}

static uint32_t length_of(const void *key)
{
	uint32_t length;

	memcpy(&length, key, sizeof(length));
	return length;
}

/* The first `length` bits of a key. */
static struct trie_key prefix_of(const struct gt_bpf_map *map, const void *key, uint32_t length)
{
	struct trie_key prefix = {0};
	uint8_t *bits = prefix.bytes + sizeof(length);

	memcpy(prefix.bytes, key, map->key_size);
	memcpy(prefix.bytes, &length, sizeof(length));
	if (length % 8)
		bits[length / 8] &= (uint8_t)(0xff00 >> length % 8);
	memset(bits + (length + 7) / 8, 0, map->key_size - sizeof(length) - (length + 7) / 8);
	return prefix;
}

static int64_t trie_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			   const void *key)
{
	uint32_t length = length_of(key);

	if (length > max_length(map))
		return -ENOENT;
	for (uint32_t i = 0; i <= length; i++) {
		struct trie_key prefix = prefix_of(map, key, length - i);
		int64_t offset = gt_bpf_hash_lookup(map, memory, copy, prefix.bytes);

		if (offset >= 0)
			return offset;
	}
	return -ENOENT;
}

static int trie_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		       const void *value, uint64_t flags)
{
	uint32_t length = length_of(key);
	struct trie_key prefix;
	int error;

	if (length > max_length(map))
		return -EINVAL;
	prefix = prefix_of(map, key, length);
	error = gt_bpf_hash_update(map, memory, copy, prefix.bytes, value, flags);
	return error == -E2BIG ? -ENOSPC : error;
}

static int trie_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	uint32_t length = length_of(key);
	struct trie_key prefix;

	if (length > max_length(map))
		return -EINVAL;
	prefix = prefix_of(map, key, length);
	return gt_bpf_hash_delete(map, memory, prefix.bytes);
}

const struct gt_bpf_map_operations gt_bpf_trie_operations = {
	.bytes = gt_bpf_hash_bytes,
	.initialise = gt_bpf_hash_initialise,
	.lookup = trie_lookup,
	.update = trie_update,
	.delete = trie_delete,
	.read = gt_bpf_hash_read,
	.losses = gt_bpf_hash_losses,
};
