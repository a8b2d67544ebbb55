/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The project's hash table: from byte strings (copied) to pointers (not owned). Integers are keys
 * of 8 bytes (gt_hash_*_u64), strings are keys without their NUL (gt_hash_*_str). Iteration is in
 * the order of insertion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clean.h"

struct gt_hash;

/* Returns an empty table; NULL: out of memory. */
struct gt_hash *gt_hash_new(void);
/* Frees the table and its keys, after calling release (if not NULL) for each value. */
void gt_hash_free_with(struct gt_hash *table, void (*release)(void *value));
static inline void gt_hash_free(struct gt_hash *table)
{
	gt_hash_free_with(table, NULL);
}
GT_DEFINE_AUTO(hash, struct gt_hash, gt_hash_free)

/* Returns the number of keys. */
size_t gt_hash_count(const struct gt_hash *table);
/* Returns the value of a key, or NULL. */
void *gt_hash_get(const struct gt_hash *table, const void *key, size_t length);
/* Sets or replaces the value of a key; it must not be NULL. 0 or -ENOMEM. */
int gt_hash_set(struct gt_hash *table, const void *key, size_t length, void *value);
/* Removes a key; returns its value, or NULL. */
void *gt_hash_remove(struct gt_hash *table, const void *key, size_t length);
/*
 * Iterates: start with *cursor = 0; returns false at the end. key and length may be NULL.
 * The entry that was returned last may be removed; adding is not allowed.
 */
bool gt_hash_next(const struct gt_hash *table, size_t *cursor, const void **key, size_t *length,
		  void **value);

static inline void *gt_hash_get_u64(const struct gt_hash *table, uint64_t key)
{
	return gt_hash_get(table, &key, sizeof(key));
}
static inline int gt_hash_set_u64(struct gt_hash *table, uint64_t key, void *value)
{
	return gt_hash_set(table, &key, sizeof(key), value);
}
static inline void *gt_hash_remove_u64(struct gt_hash *table, uint64_t key)
{
	return gt_hash_remove(table, &key, sizeof(key));
}
static inline void *gt_hash_get_str(const struct gt_hash *table, const char *key)
{
	return gt_hash_get(table, key, strlen(key));
}
static inline int gt_hash_set_str(struct gt_hash *table, const char *key, void *value)
{
	return gt_hash_set(table, key, strlen(key), value);
}
static inline void *gt_hash_remove_str(struct gt_hash *table, const char *key)
{
	return gt_hash_remove(table, key, strlen(key));
}
