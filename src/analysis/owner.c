/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/owner.h"

#define MAX_FREED 4096 /* frees per process that are remembered, to detect a second one */

enum allocation_class {
	CLASS_ADDRESS,
	CLASS_ARRAY,
	CLASS_PHYSICAL,
	CLASS_MAPPED, /* physical memory without a handle any more: by its allocation's address */
};

void gt_owner_free(void *opaque)
{
	struct gt_owner *owner = opaque;

	if (!owner)
		return;
	if (owner->live)
		gt_hash_free_with(owner->live, free);
	if (owner->replaced)
		gt_hash_free_with(owner->replaced, free);
	if (owner->registered)
		gt_hash_free_with(owner->registered, free);
	gt_ranges_free(owner->ranges);
	gt_ranges_free(owner->mappings);
	free(owner->freed);
	free(owner);
}

struct gt_owner *gt_owner_new(uint32_t process, bool ranges)
{
	struct gt_owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	owner->process = process;
	owner->live = gt_hash_new();
	owner->replaced = gt_hash_new();
	owner->registered = gt_hash_new();
	owner->mappings = gt_ranges_new();
	owner->freed = calloc(MAX_FREED, sizeof(*owner->freed));
	if (ranges)
		owner->ranges = gt_ranges_new();
	if (owner->live && owner->replaced && owner->registered && owner->mappings &&
	    owner->freed && (owner->ranges || !ranges))
		return owner;
	gt_owner_free(owner);
	return NULL;
}

static uint64_t key_of(enum allocation_class class, uint64_t number)
{
	return number ^ (uint64_t) class << 60;
}

static enum allocation_class class_of_space(enum gt_memory_space space)
{
	return space == GT_SPACE_ARRAY      ? CLASS_ARRAY
	       : space == GT_SPACE_PHYSICAL ? CLASS_PHYSICAL
					    : CLASS_ADDRESS;
}

uint64_t gt_owner_key(enum gt_memory_space space, uint64_t number)
{
	return key_of(class_of_space(space), number);
}

uint64_t gt_owner_key_of(const struct gt_allocation *allocation)
{
	if (allocation->space == GT_SPACE_PHYSICAL && !allocation->references)
		return key_of(CLASS_MAPPED, (uintptr_t)allocation);
	return gt_owner_key(allocation->space, allocation->address);
}

int gt_owner_add_range(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value)
{
	uint64_t last;

	length = length ? length : 1;
	if (__builtin_add_overflow(start, length - 1, &last))
		return 0;
	for (const struct gt_range *old = gt_ranges_from(ranges, start); old && old->start <= last;
	     old = gt_ranges_from(ranges, start))
		gt_ranges_remove(ranges, old->start);
	return gt_ranges_add(ranges, start, length, value);
}

void gt_owner_remove_range(struct gt_ranges *ranges, uint64_t start, const void *value)
{
	const struct gt_range *range = gt_ranges_find(ranges, start);

	if (range && range->start == start && range->value == value)
		gt_ranges_remove(ranges, start);
}

static bool is_addressed(const struct gt_allocation *allocation)
{
	return class_of_space(allocation->space) == CLASS_ADDRESS;
}

void gt_owner_remember_freed(struct gt_owner *owner, uint64_t key, uint64_t stack, uint64_t time)
{
	owner->freed[owner->freed_next++ % MAX_FREED] = (struct gt_freed){key, stack, time};
}

const struct gt_freed *gt_owner_find_freed(const struct gt_owner *owner, uint64_t key)
{
	for (unsigned i = 1; i <= MAX_FREED; i++) {
		const struct gt_freed *freed = &owner->freed[(owner->freed_next - i) % MAX_FREED];

		if (freed->key == key && freed->time)
			return freed;
	}
	return NULL;
}

void gt_owner_take_out(struct gt_owner *owner, struct gt_allocation *allocation)
{
	gt_hash_remove_u64(owner->live, gt_owner_key_of(allocation));
	if (owner->ranges && is_addressed(allocation))
		gt_owner_remove_range(owner->ranges, allocation->address, allocation);
}

int gt_owner_keep_mapped(struct gt_owner *owner, struct gt_allocation *allocation)
{
	gt_hash_remove_u64(owner->live, gt_owner_key_of(allocation));
	allocation->references = 0;
	return gt_hash_set_u64(owner->live, gt_owner_key_of(allocation), allocation);
}

int gt_owner_insert(struct gt_owner *owner, struct gt_allocation *allocation)
{
	int error = gt_hash_set_u64(owner->live, gt_owner_key_of(allocation), allocation);

	if (!error && owner->ranges && is_addressed(allocation))
		error = gt_owner_add_range(owner->ranges, allocation->address, allocation->bytes,
					   allocation);
	return error;
}
