/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/memory.h"

#include <errno.h>
#include <string.h>

#include "analysis/contexts.h"
#include "analysis/owner.h"
#include "base/hash.h"

struct gt_memory {
	bool ranges;
	gt_memory_sink sink;
	void *context;
	struct gt_hash *owners; /* process -> struct gt_owner */
	struct gt_contexts *contexts;
	const struct gt_names *names; /* during a call */
};

struct gt_memory *gt_memory_new(bool ranges, gt_memory_sink sink, void *context)
{
	gt_auto(memory) struct gt_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->ranges = ranges;
	memory->sink = sink;
	memory->context = context;
	memory->owners = gt_hash_new();
	memory->contexts = gt_contexts_new();
	return memory->owners && memory->contexts ? gt_take(memory) : NULL;
}

void gt_memory_free(struct gt_memory *memory)
{
	if (!memory)
		return;
	if (memory->owners)
		gt_hash_free_with(memory->owners, gt_owner_free);
	gt_contexts_free(memory->contexts);
	free(memory);
}

static struct gt_owner *owner_of(struct gt_memory *memory, uint32_t process)
{
	struct gt_owner *owner = gt_hash_get_u64(memory->owners, process);

	if (owner)
		return owner;
	owner = gt_owner_new(process, memory->ranges);
	if (!owner || gt_hash_set_u64(memory->owners, process, owner)) {
		gt_owner_free(owner);
		return NULL;
	}
	return owner;
}

static int report_change(struct gt_memory *memory, enum gt_memory_event what,
			 const struct gt_allocation *allocation,
			 const struct gt_operation *operation)
{
	struct gt_memory_change change = {
		.what = what,
		.allocation = allocation,
		.operation = operation,
		.time = operation->end,
		.process = operation->event->head.process,
	};

	return memory->sink(memory->context, memory->names, &change);
}

static struct gt_allocation *make_allocation(struct gt_memory *memory,
					     const struct gt_operation *operation)
{
	const struct gt_event_call *call = operation->event;
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

/* What is live at the key of a new allocation was released: the record of that comes late. */
static int replace_allocation(struct gt_memory *memory, struct gt_owner *owner, uint64_t key,
			      const struct gt_operation *operation)
{
	struct gt_allocation *old = gt_hash_get_u64(owner->live, key);
	int error;

	if (!old)
		return 0;
	if (old->mappings)
		return gt_owner_keep_mapped(owner, old);
	gt_owner_take_out(owner, old);
	free(gt_hash_remove_u64(owner->replaced, key));
	error = gt_hash_set_u64(owner->replaced, key, old);
	if (!error)
		error = old->imported ? 0
				      : report_change(memory, GT_MEMORY_REPLACED, old, operation);
	else
		free(old);
	return error;
}

static int take_alloc(struct gt_memory *memory, struct gt_owner *owner,
		      const struct gt_operation *operation)
{
	uint64_t key = gt_owner_key(operation->space, operation->address);
	struct gt_allocation *allocation;
	int error;

	if (operation->failed)
		return report_change(memory, GT_MEMORY_ALLOC_FAILED, NULL, operation);
	if (!operation->has_address)
		return report_change(memory, GT_MEMORY_UNTRACKED, NULL, operation);
	if (!operation->address)
		return 0; /* of no bytes */
	error = replace_allocation(memory, owner, key, operation);
	if (error)
		return error;
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	error = gt_owner_insert(owner, allocation);
	if (error) {
		gt_owner_take_out(owner, allocation);
		free(allocation);
		return error;
	}
	return report_change(memory, GT_MEMORY_ALLOCATED, allocation, operation);
}

/* Errors that speak of what was to be freed, not of the device: both APIs' numbers. */
static bool is_about_argument(const struct gt_operation *operation)
{
	uint32_t result = (uint32_t)operation->event->result;

	return result == 1 /* invalid value */ || result == 17 /* invalid device pointer */ ||
	       result == 400 /* invalid handle */;
}

static int take_failed_free(struct gt_memory *memory, struct gt_owner *owner, uint64_t key,
			    const struct gt_operation *operation)
{
	const struct gt_allocation *live = gt_hash_get_u64(owner->live, key);
	const struct gt_freed *freed = gt_owner_find_freed(owner, key);
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

static int finish_allocation(struct gt_memory *memory, struct gt_owner *owner,
			     struct gt_allocation *allocation, const struct gt_operation *operation)
{
	int error = allocation->imported
			    ? 0
			    : report_change(memory, GT_MEMORY_FREED, allocation, operation);

	gt_owner_take_out(owner, allocation);
	free(allocation);
	return error;
}

static int release_allocation(struct gt_memory *memory, struct gt_owner *owner,
			      struct gt_allocation *allocation,
			      const struct gt_operation *operation)
{
	if (allocation->references > 1) {
		allocation->references--;
		return 0;
	}
	gt_owner_remember_freed(owner, gt_owner_key_of(allocation), operation->event->stack,
				operation->end);
	return allocation->mappings ? gt_owner_keep_mapped(owner, allocation)
				    : finish_allocation(memory, owner, allocation, operation);
}

static int take_free(struct gt_memory *memory, struct gt_owner *owner,
		     const struct gt_operation *operation)
{
	uint64_t key = gt_owner_key(operation->space, operation->address);
	struct gt_allocation *live = gt_hash_get_u64(owner->live, key), *replaced;
	int error;

	if (!operation->has_address || !operation->address)
		return 0;
	if (operation->failed)
		return take_failed_free(memory, owner, key, operation);
	replaced = gt_hash_get_u64(owner->replaced, key);
	if (replaced && (!live || operation->start < live->time)) {
		gt_hash_remove_u64(owner->replaced, key);
		error = replaced->imported ? 0
					   : report_change(memory, GT_MEMORY_RELEASE_SEEN, replaced,
							   operation);
		free(replaced);
		return error;
	}
	if (live && operation->start >= live->time)
		return release_allocation(memory, owner, live, operation);
	gt_owner_remember_freed(owner, key, operation->event->stack, operation->end);
	return report_change(memory, GT_MEMORY_FREED_UNSEEN, NULL, operation);
}

static int take_register(struct gt_memory *memory, struct gt_owner *owner,
			 const struct gt_operation *operation)
{
	struct gt_allocation *allocation;
	int error;

	if (!owner->ranges || !operation->has_address)
		return 0;
	if (operation->kind == GT_OPERATION_UNREGISTER) {
		allocation = gt_hash_remove_u64(owner->registered, operation->address);
		if (allocation)
			gt_owner_remove_range(owner->ranges, operation->address, allocation);
		free(allocation);
		return 0;
	}
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	allocation->space = GT_SPACE_HOST;
	free(gt_hash_remove_u64(owner->registered, operation->address));
	error = gt_hash_set_u64(owner->registered, operation->address, allocation);
	if (error) {
		free(allocation);
		return error;
	}
	return gt_owner_add_range(owner->ranges, allocation->address, allocation->bytes,
				  allocation);
}

static int take_retain(struct gt_memory *memory, struct gt_owner *owner,
		       const struct gt_operation *operation)
{
	uint64_t key = gt_owner_key(operation->space, operation->address);
	struct gt_allocation *allocation = gt_hash_get_u64(owner->live, key);
	int error;

	if (!operation->has_address || operation->failed)
		return 0;
	if (allocation) {
		allocation->references++;
		return 0;
	}
	if (operation->kind != GT_OPERATION_IMPORT && operation->space != GT_SPACE_PHYSICAL)
		return 0;
	allocation = make_allocation(memory, operation);
	if (!allocation)
		return -ENOMEM;
	allocation->imported = true;
	error = gt_hash_set_u64(owner->live, key, allocation);
	if (error)
		free(allocation);
	return error;
}

static int take_map(struct gt_owner *owner, const struct gt_operation *operation)
{
	struct gt_allocation *allocation = NULL;
	int error;

	if (operation->has_other)
		allocation = gt_hash_get_u64(owner->live,
					     gt_owner_key(GT_SPACE_PHYSICAL, operation->other));
	if (!allocation || !operation->has_address || !operation->has_bytes)
		return 0;
	error = gt_ranges_add(owner->mappings, operation->address, operation->bytes, allocation);
	if (error)
		return error == -ENOMEM ? error : 0;
	allocation->mappings++;
	return 0;
}

static int take_unmap(struct gt_memory *memory, struct gt_owner *owner,
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
			error = finish_allocation(memory, owner, allocation, operation);
	}
	return error;
}

static bool belongs_to_device(const struct gt_memory *memory,
			      const struct gt_allocation *allocation,
			      const struct gt_operation *operation)
{
	int device = operation->has_other ? (int)operation->other : operation->event->head.device;

	if (operation->kind == GT_OPERATION_CONTEXT_DESTROY)
		return allocation->context == gt_contexts_number(memory->contexts,
								 allocation->process,
								 operation->address);
	return !allocation->context &&
	       (device == GT_DEVICE_UNKNOWN || allocation->device == GT_DEVICE_UNKNOWN ||
		device == allocation->device);
}

/* Of physical memory that goes. */
static void drop_mappings(struct gt_memory *memory, struct gt_owner *owner,
			  const struct gt_operation *operation)
{
	const struct gt_range *range;
	uint64_t at = 0;

	while ((range = gt_ranges_from(owner->mappings, at))) {
		struct gt_range found = *range;

		if (belongs_to_device(memory, found.value, operation))
			gt_ranges_remove(owner->mappings, found.start);
		if (__builtin_add_overflow(found.start, found.length, &at))
			return;
	}
}

/* Frees what belongs to a device or context that is reset. */
static int take_reset(struct gt_memory *memory, struct gt_owner *owner,
		      const struct gt_operation *operation)
{
	enum gt_memory_event what = operation->kind == GT_OPERATION_RESET
					    ? GT_MEMORY_LEFT_TO_RESET
					    : GT_MEMORY_LEFT_TO_CONTEXT;
	size_t cursor = 0;
	void *value;
	int error = 0;

	drop_mappings(memory, owner, operation);
	while (gt_hash_next(owner->live, &cursor, NULL, NULL, &value)) {
		struct gt_allocation *allocation = value;

		if (!belongs_to_device(memory, allocation, operation))
			continue;
		if (!error && !allocation->imported)
			error = report_change(memory, what, allocation, operation);
		gt_owner_take_out(owner, allocation);
		free(allocation);
	}
	return error;
}

static int take_node(struct gt_memory *memory, const struct gt_operation *operation)
{
	return report_change(memory,
			     operation->failed ? GT_MEMORY_ALLOC_FAILED : GT_MEMORY_IN_GRAPH, NULL,
			     operation);
}

static int take_by_kind(struct gt_memory *memory, struct gt_owner *owner,
			const struct gt_operation *operation)
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
	case GT_OPERATION_IMPORT:
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
	case GT_OPERATION_GRAPH_NODE:
	case GT_OPERATION_GRAPH_ALLOC:
	case GT_OPERATION_REGISTER:
	case GT_OPERATION_UNREGISTER:
	case GT_OPERATION_MAP:
	case GT_OPERATION_UNMAP:
	case GT_OPERATION_RETAIN:
	case GT_OPERATION_IMPORT:
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
	struct gt_owner *owner;
	int error = 0;

	memory->names = names;
	if (concerns_memory(operation->kind)) {
		owner = owner_of(memory, operation->event->head.process);
		if (!owner)
			return -ENOMEM;
		owner->runtime |= !strcmp(operation->call.function->library, "cudart");
		error = take_by_kind(memory, owner, operation);
	}
	return error ? error : gt_contexts_take(memory->contexts, operation);
}

int gt_memory_end_process(struct gt_memory *memory, const struct gt_names *names, uint32_t process,
			  uint64_t time)
{
	struct gt_owner *owner = gt_hash_remove_u64(memory->owners, process);
	struct gt_memory_change change = {
		.what = GT_MEMORY_LEFT_TO_EXIT, .time = time, .process = process};
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (owner && !error && gt_hash_next(owner->live, &cursor, NULL, NULL, &value)) {
		change.allocation = value;
		if (!change.allocation->imported)
			error = memory->sink(memory->context, names, &change);
	}
	gt_owner_free(owner);
	gt_contexts_end_process(memory->contexts, process);
	return error;
}

enum gt_address_kind gt_memory_find(const struct gt_memory *memory, uint32_t process,
				    uint64_t address, int *ret_device)
{
	const struct gt_owner *owner = gt_hash_get_u64(memory->owners, process);
	const struct gt_allocation *allocation;
	const struct gt_range *range = NULL;

	*ret_device = GT_DEVICE_UNKNOWN;
	if (owner && owner->ranges)
		range = gt_ranges_find(owner->ranges, address);
	if (owner && !range)
		range = gt_ranges_find(owner->mappings, address);
	if (!range)
		return GT_ADDRESS_UNKNOWN;
	allocation = range->value;
	*ret_device = allocation->device;
	return allocation->space == GT_SPACE_HOST      ? GT_ADDRESS_PINNED
	       : allocation->space == GT_SPACE_MANAGED ? GT_ADDRESS_MANAGED
						       : GT_ADDRESS_DEVICE;
}

const struct gt_allocation *gt_memory_next(const struct gt_memory *memory,
					   struct gt_memory_cursor *cursor)
{
	void *value;

	while (true) {
		const struct gt_owner *owner = cursor->state;

		while (owner &&
		       gt_hash_next(owner->live, &cursor->allocation, NULL, NULL, &value)) {
			const struct gt_allocation *allocation = value;

			if (!allocation->imported)
				return allocation;
		}
		if (!gt_hash_next(memory->owners, &cursor->process, NULL, NULL, &cursor->state))
			return NULL;
		cursor->allocation = 0;
	}
}
