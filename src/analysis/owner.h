/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What one process has allocated, pinned and mapped: where src/analysis/memory.c keeps it. */
#pragma once

#include "analysis/memory.h"
#include "base/hash.h"
#include "base/ranges.h"

/* A release that worked. */
struct gt_freed {
	uint64_t key, stack, time;
};

struct gt_owner {
	uint32_t process;
	bool runtime;               /* the runtime API has the primary contexts, too */
	struct gt_hash *live;       /* key -> struct gt_allocation */
	struct gt_hash *replaced;   /* key -> struct gt_allocation whose release is to come */
	struct gt_hash *registered; /* address -> struct gt_allocation */
	struct gt_ranges *ranges;   /* live and registered ones; NULL: not wanted */
	struct gt_ranges *mappings; /* of physical memory */
	struct gt_freed *freed;     /* a ring: only a release that fails is looked for in it */
	unsigned freed_next;
};

/* NULL: no memory. */
struct gt_owner *gt_owner_new(uint32_t process, bool ranges);
/* As maps free what is in them. */
void gt_owner_free(void *owner);

/* The key of an address or handle; those of different kinds of memory may be equal numbers. */
uint64_t gt_owner_key(enum gt_memory_space space, uint64_t number);
uint64_t gt_owner_key_of(const struct gt_allocation *allocation);

/* 0 or -ENOMEM. */
int gt_owner_insert(struct gt_owner *owner, struct gt_allocation *allocation);
/* Takes an allocation out of what is live; the caller frees it. */
void gt_owner_take_out(struct gt_owner *owner, struct gt_allocation *allocation);
/* The handle of physical memory is gone, the memory stays while it is mapped. 0 or -ENOMEM. */
int gt_owner_keep_mapped(struct gt_owner *owner, struct gt_allocation *allocation);

/* Takes ranges out that are no longer true: their release was not seen. 0 or -ENOMEM. */
int gt_owner_add_range(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value);
void gt_owner_remove_range(struct gt_ranges *ranges, uint64_t start, const void *value);

void gt_owner_remember_freed(struct gt_owner *owner, uint64_t key, uint64_t stack, uint64_t time);
/* The last release at a key, or NULL. */
const struct gt_freed *gt_owner_find_freed(const struct gt_owner *owner, uint64_t key);
