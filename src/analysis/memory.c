/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/memory.h"

#include <errno.h>
#include <string.h>

#include "analysis/contexts.h"
#include "base/map.h"
#include "base/ranges.h"

#define MOST_FREED 4096 /* releases that a process is remembered by, to tell a second one */

/* Addresses, handles of arrays and handles of physical memory may be equal numbers. */
enum class {
	CLASS_ADDRESS,
	CLASS_ARRAY,
	CLASS_PHYSICAL,
	CLASS_MAPPED, /* physical memory without a handle any more: by its allocation's address */
};

struct freed {
	uint64_t key, stack, time;
};

struct owner {
	uint32_t process;
	struct gt_map *live;        /* key -> struct gt_allocation */
	struct gt_map *replaced;    /* key -> struct gt_allocation whose release is to come */
	struct gt_map *registered;  /* address -> struct gt_allocation */
	struct gt_ranges *ranges;   /* live and registered ones; NULL: not wanted */
	struct gt_ranges *mappings; /* of physical memory */
	bool runtime;               /* the runtime API has the primary contexts, too */
	struct freed *freed;        /* a ring: only a release that fails is looked for in it */
	unsigned freed_next;
};

struct gt_memory {
	bool ranges;
	gt_memory_sink sink;
	void *context;
	struct gt_map *owners; /* process -> struct owner */
	struct gt_contexts *contexts;
	const struct gt_names *names; /* during a call */
};

static void owner_free(void *opaque)
{
	struct owner *owner = opaque;

	if (!owner)
		return;
	if (owner->live)
		gt_map_free_with(owner->live, free);
	if (owner->replaced)
		gt_map_free_with(owner->replaced, free);
	if (owner->registered)
		gt_map_free_with(owner->registered, free);
	gt_ranges_free(owner->ranges);
	gt_ranges_free(owner->mappings);
	free(owner->freed);
	free(owner);
}

struct gt_memory *gt_memory_new(bool ranges, gt_memory_sink sink, void *context)
{
	gt_auto(memory) struct gt_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->ranges = ranges;
	memory->sink = sink;
	memory->context = context;
	memory->owners = gt_map_new();
	memory->contexts = gt_contexts_new();
	return memory->owners && memory->contexts ? gt_take(memory) : NULL;
}

void gt_memory_free(struct gt_memory *memory)
{
	if (!memory)
		return;
	if (memory->owners)
		gt_map_free_with(memory->owners, owner_free);
	gt_contexts_free(memory->contexts);
	free(memory);
}

static struct owner *owner_new(const struct gt_memory *memory, uint32_t process)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	owner->process = process;
	owner->live = gt_map_new();
	owner->replaced = gt_map_new();
	owner->registered = gt_map_new();
	owner->mappings = gt_ranges_new();
	owner->freed = calloc(MOST_FREED, sizeof(*owner->freed));
	if (memory->ranges)
		owner->ranges = gt_ranges_new();
	if (owner->live && owner->replaced && owner->registered && owner->mappings &&
	    owner->freed && (owner->ranges || !memory->ranges))
		return owner;
	owner_free(owner);
	return NULL;
}

static struct owner *owner_of(struct gt_memory *memory, uint32_t process)
{
	struct owner *owner = gt_map_get_u64(memory->owners, process);

	if (owner)
		return owner;
	owner = owner_new(memory, process);
	if (!owner || gt_map_set_u64(memory->owners, process, owner)) {
		owner_free(owner);
		return NULL;
	}
	return owner;
}

static uint64_t key_of(enum class class, uint64_t number)
{
	return number ^ (uint64_t) class << 60;
}

static enum class class_of_space(enum gt_memory_space space) {
	return space == GT_SPACE_ARRAY      ? CLASS_ARRAY
	       : space == GT_SPACE_PHYSICAL ? CLASS_PHYSICAL
					    : CLASS_ADDRESS;
}

static uint64_t key_of_allocation(const struct gt_allocation *allocation)
{
	if (allocation->space == GT_SPACE_PHYSICAL && !allocation->references)
		return key_of(CLASS_MAPPED, (uintptr_t)allocation);
	return key_of(class_of_space(allocation->space), allocation->address);
}

static int tell(struct gt_memory *memory, enum gt_memory_event what,
		const struct gt_allocation *allocation, const struct gt_operation *operation)
{
	struct gt_memory_change change = {
		.what = what,
		.allocation = allocation,
		.operation = operation,
		.time = operation->end,
		.process = operation->call->head.process,
	};

	return memory->sink(memory->context, memory->names, &change);
}

/* Takes ranges out that are no longer true: their release was not seen. */
static int add_range(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value)
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

static void remove_range(struct gt_ranges *ranges, uint64_t start, const void *value)
{
	const struct gt_range *range = gt_ranges_find(ranges, start);

	if (range && range->start == start && range->value == value)
		gt_ranges_remove(ranges, start);
}

static bool is_addressed(const struct gt_allocation *allocation)
{
	return class_of_space(allocation->space) == CLASS_ADDRESS;
}

static void remember_freed(struct owner *owner, uint64_t key, uint64_t stack, uint64_t time)
{
	owner->freed[owner->freed_next++ % MOST_FREED] = (struct freed){key, stack, time};
}

/* The last release at a key, or NULL. */
static const struct freed *find_freed(const struct owner *owner, uint64_t key)
{
	for (unsigned i = 1; i <= MOST_FREED; i++) {
		const struct freed *freed = &owner->freed[(owner->freed_next - i) % MOST_FREED];

		if (freed->key == key && freed->time)
			return freed;
	}
	return NULL;
}

/* Takes an allocation out of what is live; the caller frees it. */
static void take_out(struct owner *owner, struct gt_allocation *allocation)
{
	gt_map_remove_u64(owner->live, key_of_allocation(allocation));
	if (owner->ranges && is_addressed(allocation))
		remove_range(owner->ranges, allocation->address, allocation);
}

static struct gt_allocation *make_allocation(struct gt_memory *memory,
					     const struct gt_operation *operation)
{
	const struct gt_event_call *call = operation->call;
	struct gt_allocation *allocation = malloc(sizeof(*allocation));

	if (!allocation)
		return NULL;
	*allocation = (struct gt_allocation){
		.address = operation->address,
		.bytes = operation->has_bytes ? operation->bytes : 0,
		.time = operation->end,
		.stack = call->stack,
		.context = gt_contexts_current(memory->contexts, &call->head),
		.process = call->head.process,
		.thread = call->head.thread,
		.context_number = call->context,
		.function = call->function,
		.references = 1,
		.device = call->head.device,
		.space = operation->space,
		.has_bytes = operation->has_bytes,
	};
	return allocation;
}

/* The handle is gone, the memory stays while it is mapped. */
static int keep_mapped(struct owner *owner, struct gt_allocation *allocation)
{
	gt_map_remove_u64(owner->live, key_of_allocation(allocation));
	allocation->references = 0;
	return gt_map_set_u64(owner->live, key_of_allocation(allocation), allocation);
}

/* What is live at the key of a new allocation was released: the record of that comes late. */
static int replace(struct gt_memory *memory, struct owner *owner, uint64_t key,
		   const struct gt_operation *operation)
{
	struct gt_allocation *old = gt_map_get_u64(owner->live, key);
	int error;

	if (!old)
		return 0;
	if (old->mappings)
		return keep_mapped(owner, old);
	take_out(owner, old);
	free(gt_map_remove_u64(owner->replaced, key));
	error = gt_map_set_u64(owner->replaced, key, old);
	if (!error)
		error = old->imported ? 0 : tell(memory, GT_MEMORY_REPLACED, old, operation);
	else
		free(old);
	return error;
}

static int insert(struct owner *owner, struct gt_allocation *allocation)
{
	int error = gt_map_set_u64(owner->live, key_of_allocation(allocation), allocation);

	if (!error && owner->ranges && is_addressed(allocation))
		error = add_range(owner->ranges, allocation->address, allocation->bytes,
				  allocation);
	return error;
}

static int take_alloc(struct gt_memory *memory, struct owner *owner,
		      const struct gt_operation *operation)
{
	uint64_t key = key_of(class_of_space(operation->space), operation->address);
	struct gt_allocation *allocation;
	int error;

	if (operation->failed)
		return tell(memory, GT_MEMORY_ALLOC_FAILED, NULL, operation);
	if (!operation->has_address)
		return tell(memory, GT_MEMORY_UNTRACKED, NULL, operation);
	if (!operation->address)
		return 0; /* of no bytes */
	error = replace(memory, owner, key, operation);
	if (error)
		return error;
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	error = insert(owner, allocation);
	if (error) {
		take_out(owner, allocation);
		free(allocation);
		return error;
	}
	return tell(memory, GT_MEMORY_ALLOCATED, allocation, operation);
}

/* Errors that speak of what was to be freed, not of the device: both APIs' numbers. */
static bool is_about_argument(const struct gt_operation *operation)
{
	uint32_t result = (uint32_t)operation->call->result;

	return result == 1 /* invalid value */ || result == 17 /* invalid device pointer */ ||
	       result == 400 /* invalid handle */;
}

static int take_failed_free(struct gt_memory *memory, struct owner *owner, uint64_t key,
			    const struct gt_operation *operation)
{
	const struct gt_allocation *live = gt_map_get_u64(owner->live, key);
	const struct freed *freed = find_freed(owner, key);
	struct gt_memory_change change = {
		.what = live || !is_about_argument(operation) ? GT_MEMORY_FREE_FAILED
			: freed                               ? GT_MEMORY_FREED_TWICE
							      : GT_MEMORY_FREED_FOREIGN,
		.allocation = live,
		.operation = operation,
		.time = operation->end,
		.process = owner->process,
	};

	if (change.what == GT_MEMORY_FREED_TWICE) {
		change.freed_stack = freed->stack;
		change.freed_time = freed->time;
	}
	return memory->sink(memory->context, memory->names, &change);
}

static int finish(struct gt_memory *memory, struct owner *owner, struct gt_allocation *allocation,
		  const struct gt_operation *operation)
{
	int error = allocation->imported ? 0 : tell(memory, GT_MEMORY_FREED, allocation, operation);

	take_out(owner, allocation);
	free(allocation);
	return error;
}

static int release(struct gt_memory *memory, struct owner *owner, struct gt_allocation *allocation,
		   const struct gt_operation *operation)
{
	if (allocation->references > 1) {
		allocation->references--;
		return 0;
	}
	remember_freed(owner, key_of_allocation(allocation), operation->call->stack,
		       operation->end);
	return allocation->mappings ? keep_mapped(owner, allocation)
				    : finish(memory, owner, allocation, operation);
}

static int take_free(struct gt_memory *memory, struct owner *owner,
		     const struct gt_operation *operation)
{
	uint64_t key = key_of(class_of_space(operation->space), operation->address);
	struct gt_allocation *live = gt_map_get_u64(owner->live, key), *replaced;
	int error;

	if (!operation->has_address || !operation->address)
		return 0;
	if (operation->failed)
		return take_failed_free(memory, owner, key, operation);
	replaced = gt_map_get_u64(owner->replaced, key);
	if (replaced && (!live || operation->start < live->time)) {
		gt_map_remove_u64(owner->replaced, key);
		error = replaced->imported
				? 0
				: tell(memory, GT_MEMORY_RELEASE_SEEN, replaced, operation);
		free(replaced);
		return error;
	}
	if (live && operation->start >= live->time)
		return release(memory, owner, live, operation);
	remember_freed(owner, key, operation->call->stack, operation->end);
	return tell(memory, GT_MEMORY_FREED_UNSEEN, NULL, operation);
}

static int take_register(struct gt_memory *memory, struct owner *owner,
			 const struct gt_operation *operation)
{
	struct gt_allocation *allocation;
	int error;

	if (!owner->ranges || !operation->has_address)
		return 0;
	if (operation->kind == GT_OPERATION_UNREGISTER) {
		allocation = gt_map_remove_u64(owner->registered, operation->address);
		if (allocation)
			remove_range(owner->ranges, operation->address, allocation);
		free(allocation);
		return 0;
	}
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	allocation->space = GT_SPACE_HOST;
	free(gt_map_remove_u64(owner->registered, operation->address));
	error = gt_map_set_u64(owner->registered, operation->address, allocation);
	if (error) {
		free(allocation);
		return error;
	}
	return add_range(owner->ranges, allocation->address, allocation->bytes, allocation);
}

static int take_retain(struct gt_memory *memory, struct owner *owner,
		       const struct gt_operation *operation)
{
	uint64_t key = key_of(CLASS_PHYSICAL, operation->address);
	struct gt_allocation *allocation = gt_map_get_u64(owner->live, key);
	int error;

	if (!operation->has_address)
		return 0;
	if (allocation) {
		allocation->references++;
		return 0;
	}
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	allocation->space = GT_SPACE_PHYSICAL;
	allocation->imported = true;
	error = gt_map_set_u64(owner->live, key, allocation);
	if (error)
		free(allocation);
	return error;
}

static int take_map(struct owner *owner, const struct gt_operation *operation)
{
	struct gt_allocation *allocation = NULL;
	int error;

	if (operation->has_other)
		allocation = gt_map_get_u64(owner->live, key_of(CLASS_PHYSICAL, operation->other));
	if (!allocation || !operation->has_address || !operation->has_bytes)
		return 0;
	error = gt_ranges_add(owner->mappings, operation->address, operation->bytes, allocation);
	if (error)
		return error == -ENOMEM ? error : 0;
	allocation->mappings++;
	return 0;
}

static int take_unmap(struct gt_memory *memory, struct owner *owner,
		      const struct gt_operation *operation)
{
	const struct gt_range *range;
	int error = 0;

	while (!error && operation->has_address && operation->has_bytes &&
	       (range = gt_ranges_from(owner->mappings, operation->address)) &&
	       range->start - operation->address < operation->bytes) {
		struct gt_allocation *allocation = range->value;

		gt_ranges_remove(owner->mappings, range->start);
		if (!--allocation->mappings && !allocation->references)
			error = finish(memory, owner, allocation, operation);
	}
	return error;
}

static bool belongs(const struct gt_memory *memory, const struct gt_allocation *allocation,
		    const struct gt_operation *operation)
{
	int device = operation->has_other ? (int)operation->other : operation->call->head.device;

	if (operation->kind == GT_OPERATION_CONTEXT_DESTROY)
		return allocation->context == gt_contexts_number(memory->contexts,
								 allocation->process,
								 operation->address);
	return !allocation->context &&
	       (device == GT_DEVICE_UNKNOWN || allocation->device == GT_DEVICE_UNKNOWN ||
		device == allocation->device);
}

/* Of physical memory that goes. */
static void drop_mappings(struct gt_memory *memory, struct owner *owner,
			  const struct gt_operation *operation)
{
	const struct gt_range *range;
	uint64_t at = 0;

	while ((range = gt_ranges_from(owner->mappings, at))) {
		struct gt_range found = *range;

		if (belongs(memory, found.value, operation))
			gt_ranges_remove(owner->mappings, found.start);
		if (__builtin_add_overflow(found.start, found.length, &at))
			return;
	}
}

/* Frees what belongs to a device or context that is reset. */
static int take_reset(struct gt_memory *memory, struct owner *owner,
		      const struct gt_operation *operation)
{
	enum gt_memory_event what = operation->kind == GT_OPERATION_RESET
					    ? GT_MEMORY_LEFT_TO_RESET
					    : GT_MEMORY_LEFT_TO_CONTEXT;
	size_t cursor = 0;
	void *value;
	int error = 0;

	drop_mappings(memory, owner, operation);
	while (gt_map_next(owner->live, &cursor, NULL, NULL, &value)) {
		struct gt_allocation *allocation = value;

		if (!belongs(memory, allocation, operation))
			continue;
		if (!error && !allocation->imported)
			error = tell(memory, what, allocation, operation);
		take_out(owner, allocation);
		free(allocation);
	}
	return error;
}

static int take_node(struct gt_memory *memory, const struct gt_operation *operation)
{
	return tell(memory, operation->failed ? GT_MEMORY_ALLOC_FAILED : GT_MEMORY_IN_GRAPH, NULL,
		    operation);
}

static int take(struct gt_memory *memory, struct owner *owner, const struct gt_operation *operation)
{
	switch (operation->kind) {
	case GT_OPERATION_ALLOC:
		return operation->capture ? take_node(memory, operation)
					  : take_alloc(memory, owner, operation);
	case GT_OPERATION_FREE:
		return operation->capture ? 0 : take_free(memory, owner, operation);
	case GT_OPERATION_GRAPH_ALLOC:
		return take_node(memory, operation);
	default:
		break;
	}
	if (operation->failed)
		return 0;
	switch (operation->kind) {
	case GT_OPERATION_REGISTER:
	case GT_OPERATION_UNREGISTER:
		return take_register(memory, owner, operation);
	case GT_OPERATION_MAP:
		return take_map(owner, operation);
	case GT_OPERATION_UNMAP:
		return take_unmap(memory, owner, operation);
	case GT_OPERATION_RETAIN:
		return take_retain(memory, owner, operation);
	case GT_OPERATION_RESET:
	case GT_OPERATION_CONTEXT_DESTROY:
		return take_reset(memory, owner, operation);
	case GT_OPERATION_CONTEXT_RELEASE:
		return !owner->runtime && gt_contexts_is_last_release(memory->contexts, operation)
			       ? take_reset(memory, owner, operation)
			       : 0;
	default:
		return 0;
	}
}

static bool concerns_memory(enum gt_operation_kind kind)
{
	switch (kind) {
	case GT_OPERATION_ALLOC:
	case GT_OPERATION_FREE:
	case GT_OPERATION_GRAPH_ALLOC:
	case GT_OPERATION_REGISTER:
	case GT_OPERATION_UNREGISTER:
	case GT_OPERATION_MAP:
	case GT_OPERATION_UNMAP:
	case GT_OPERATION_RETAIN:
	case GT_OPERATION_RESET:
	case GT_OPERATION_CONTEXT_RELEASE:
	case GT_OPERATION_CONTEXT_DESTROY:
		return true;
	default:
		return false;
	}
}

int gt_memory_take(struct gt_memory *memory, const struct gt_names *names,
		   const struct gt_operation *operation)
{
	struct owner *owner;
	int error = 0;

	memory->names = names;
	if (concerns_memory(operation->kind)) {
		owner = owner_of(memory, operation->call->head.process);
		if (!owner)
			return -ENOMEM;
		owner->runtime |= !strcmp(operation->api->library, "cudart");
		error = take(memory, owner, operation);
	}
	return error ? error : gt_contexts_take(memory->contexts, operation);
}

int gt_memory_end_process(struct gt_memory *memory, const struct gt_names *names, uint32_t process,
			  uint64_t time)
{
	struct owner *owner = gt_map_remove_u64(memory->owners, process);
	struct gt_memory_change change = {
		.what = GT_MEMORY_LEFT_TO_EXIT, .time = time, .process = process};
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (owner && !error && gt_map_next(owner->live, &cursor, NULL, NULL, &value)) {
		change.allocation = value;
		if (!change.allocation->imported)
			error = memory->sink(memory->context, names, &change);
	}
	owner_free(owner);
	gt_contexts_end_process(memory->contexts, process);
	return error;
}

enum gt_memory_place gt_memory_find(const struct gt_memory *memory, uint32_t process,
				    uint64_t address, int *ret_device)
{
	const struct owner *owner = gt_map_get_u64(memory->owners, process);
	const struct gt_allocation *allocation;
	const struct gt_range *range = NULL;

	*ret_device = GT_DEVICE_UNKNOWN;
	if (owner && owner->ranges)
		range = gt_ranges_find(owner->ranges, address);
	if (owner && !range)
		range = gt_ranges_find(owner->mappings, address);
	if (!range)
		return GT_PLACE_UNKNOWN;
	allocation = range->value;
	*ret_device = allocation->device;
	return allocation->space == GT_SPACE_HOST      ? GT_PLACE_PINNED
	       : allocation->space == GT_SPACE_MANAGED ? GT_PLACE_MANAGED
						       : GT_PLACE_DEVICE;
}

const struct gt_allocation *gt_memory_next(const struct gt_memory *memory,
					   struct gt_memory_cursor *cursor)
{
	void *value;

	while (true) {
		const struct owner *owner = cursor->state;

		while (owner && gt_map_next(owner->live, &cursor->allocation, NULL, NULL, &value)) {
			const struct gt_allocation *allocation = value;

			if (!allocation->imported)
				return allocation;
		}
		if (!gt_map_next(memory->owners, &cursor->process, NULL, NULL, &cursor->state))
			return NULL;
		cursor->allocation = 0;
	}
}
