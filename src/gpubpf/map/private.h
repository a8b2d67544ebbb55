/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The operations of maps by shape. */
#pragma once

#include "gpubpf/map/map.h"

struct gt_bpf_map_operations {
	size_t (*bytes)(const struct gt_bpf_map *map, uint32_t copies);
	void (*initialise)(const struct gt_bpf_map *map, uint32_t copies, void *memory);
	int64_t (*lookup)(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			  const void *key);
	int (*update)(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		      const void *value, uint64_t flags);
	int (*delete)(const struct gt_bpf_map *map, void *memory, const void *key);
	bool (*read)(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry);
	struct gt_bpf_map_losses (*losses)(const struct gt_bpf_map_view *view);
};

const struct gt_bpf_map_operations *gt_bpf_map_operations(const struct gt_bpf_map *map);

/* One per shape. An operation that a shape does not support returns -EINVAL. */
extern const struct gt_bpf_map_operations gt_bpf_array_operations;
extern const struct gt_bpf_map_operations gt_bpf_hash_operations;
extern const struct gt_bpf_map_operations gt_bpf_ring_operations;
extern const struct gt_bpf_map_operations gt_bpf_lru_operations;
extern const struct gt_bpf_map_operations gt_bpf_trie_operations;

/* hash.c: the operations of hashes, of which those of other shapes are made. */
size_t gt_bpf_hash_bytes(const struct gt_bpf_map *map, uint32_t copies);
void gt_bpf_hash_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory);
int64_t gt_bpf_hash_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			   const void *key);
int gt_bpf_hash_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		       const void *value, uint64_t flags);
int gt_bpf_hash_delete(const struct gt_bpf_map *map, void *memory, const void *key);
bool gt_bpf_hash_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry);
struct gt_bpf_map_losses gt_bpf_hash_losses(const struct gt_bpf_map_view *view);
