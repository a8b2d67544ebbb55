/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hash table of the house: byte-string keys (copied) to pointers (not owned).
 * Numbers are keys of 8 bytes (gt_map_*_u64), strings are keys without their NUL
 * (gt_map_*_str). Iteration is in the order of insertion of what is still there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clean.h"

struct gt_hash;

/* NULL if memory ran out. */
struct gt_hash *gt_hash_new(void);
/* Frees the table and its keys; if release is not NULL, it is called on each value. */
void gt_hash_free_with(struct gt_hash *map, void (*release)(void *value));
static inline void gt_hash_free(struct gt_hash *map)
{
	gt_hash_free_with(map, NULL);
}
GT_DEFINE_AUTO(hash, struct gt_hash, gt_hash_free)

size_t gt_hash_count(const struct gt_hash *map);
/* The value, or NULL. */
void *gt_hash_get(const struct gt_hash *map, const void *key, size_t length);
/* Sets or replaces. value must not be NULL. 0 or -ENOMEM. */
int gt_hash_set(struct gt_hash *map, const void *key, size_t length, void *value);
/* Takes the key out; returns its value, or NULL. */
void *gt_hash_remove(struct gt_hash *map, const void *key, size_t length);
/*
 * Walks: start with *cursor = 0; false at the end. key and length may be NULL.
 * Removing the entry just returned is allowed, adding is not.
 */
bool gt_hash_next(const struct gt_hash *map, size_t *cursor, const void **key, size_t *length,
		  void **value);

static inline void *gt_hash_get_u64(const struct gt_hash *map, uint64_t key)
{
	return gt_hash_get(map, &key, sizeof(key));
}
static inline int gt_hash_set_u64(struct gt_hash *map, uint64_t key, void *value)
{
	return gt_hash_set(map, &key, sizeof(key), value);
}
static inline void *gt_hash_remove_u64(struct gt_hash *map, uint64_t key)
{
	return gt_hash_remove(map, &key, sizeof(key));
}
static inline void *gt_hash_get_str(const struct gt_hash *map, const char *key)
{
	return gt_hash_get(map, key, strlen(key));
}
static inline int gt_hash_set_str(struct gt_hash *map, const char *key, void *value)
{
	return gt_hash_set(map, key, strlen(key), value);
}
static inline void *gt_hash_remove_str(struct gt_hash *map, const char *key)
{
	return gt_hash_remove(map, key, strlen(key));
}
