/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/copy_traits.h"

#include <string.h>

const char *gt_direction_name(enum gt_direction direction)
{
	static const char *const names[GT_DIRECTIONS] = {"H2H", "H2D", "D2H", "D2D", "P2P", "?"};

	return names[direction];
}

enum copy_side {
	SIDE_UNKNOWN,
	SIDE_HOST,
	SIDE_DEVICE,
};

/* What the call says of an end, else what lies at its address. */
static enum copy_side side_of(const struct gt_memory *memory, const struct gt_operation *operation,
			      const struct gt_copy_end *end)
{
	int device;

	switch (end->kind) {
	case GT_END_HOST:
		return SIDE_HOST;
	case GT_END_DEVICE:
	case GT_END_ARRAY:
		return SIDE_DEVICE;
	default:
		break;
	}
	switch (gt_memory_find(memory, operation->event->head.process, end->address, &device)) {
	case GT_ADDRESS_DEVICE:
	case GT_ADDRESS_MANAGED:
		return SIDE_DEVICE;
	case GT_ADDRESS_PINNED:
		return SIDE_HOST;
	default:
		return SIDE_UNKNOWN;
	}
}

/* Where one end is known, what is unknown at the other was never allocated: it is the host's. */
static enum gt_direction resolve_direction(const struct gt_memory *memory,
					   const struct gt_operation *operation,
					   const struct gt_copy_ends *ends)
{
	static const enum gt_direction directions[3][3] = {
		{GT_DIRECTION_UNKNOWN, GT_HOST_TO_HOST, GT_HOST_TO_DEVICE},
		{GT_HOST_TO_HOST, GT_HOST_TO_HOST, GT_HOST_TO_DEVICE},
		{GT_DEVICE_TO_HOST, GT_DEVICE_TO_HOST, GT_DEVICE_TO_DEVICE},
	};

	return directions[side_of(memory, operation, &ends->source)]
			 [side_of(memory, operation, &ends->target)];
}

static bool between_devices(const struct gt_memory *memory, const struct gt_operation *operation,
			    const struct gt_copy_ends *ends)
{
	uint32_t process = operation->event->head.process;
	int from, to;

	if (ends->source.has_owner && ends->target.has_owner)
		return ends->source.owner != ends->target.owner;
	gt_memory_find(memory, process, ends->source.address, &from);
	gt_memory_find(memory, process, ends->target.address, &to);
	return from != GT_DEVICE_UNKNOWN && to != GT_DEVICE_UNKNOWN && from != to;
}

static enum gt_host_memory host_memory(const struct gt_memory *memory,
				       const struct gt_operation *operation, uint64_t address)
{
	int device;

	switch (gt_memory_find(memory, operation->event->head.process, address, &device)) {
	case GT_ADDRESS_PINNED:
		return GT_MEMORY_PINNED;
	case GT_ADDRESS_MANAGED:
		return GT_MEMORY_MANAGED;
	default:
		return GT_MEMORY_PAGEABLE;
	}
}

/* HIP's copy in a stream that waits until it has ended: PyTorch calls it where CUDA has two calls.
 */
static bool waits_in_stream(const struct gt_operation *operation)
{
	return !strcmp(operation->call.function->name, "hipMemcpyWithStream");
}

/*
 * CUDA Runtime API, "API synchronization behavior": without a stream, copies that involve the host
 * wait; those within the device or between devices do not.
 */
struct gt_copy_traits gt_copy_traits_of(const struct gt_memory *memory,
					const struct gt_operation *operation)
{
	int direction = gt_call_direction(&operation->call);
	struct gt_copy_traits copy = {GT_DIRECTION_UNKNOWN, GT_MEMORY_PAGEABLE, false};
	struct gt_copy_ends ends;
	bool has_ends = gt_call_copy_ends(&operation->call, &ends);

	if (direction >= 0 && direction <= 3)
		copy.direction = (enum gt_direction)direction;
	else if (has_ends)
		copy.direction = resolve_direction(memory, operation, &ends);
	if (has_ends && copy.direction == GT_DEVICE_TO_DEVICE &&
	    between_devices(memory, operation, &ends))
		copy.direction = GT_PEER_TO_PEER;
	if (has_ends && copy.direction == GT_HOST_TO_DEVICE)
		copy.host = host_memory(memory, operation, ends.source.address);
	if (has_ends && copy.direction == GT_DEVICE_TO_HOST)
		copy.host = host_memory(memory, operation, ends.target.address);
	copy.waits = (!operation->names_stream && copy.direction <= GT_DEVICE_TO_HOST) ||
		     waits_in_stream(operation);
	/* OpenCL: the call says whether it waits. */
	if (gt_call_blocks(&operation->call) >= 0)
		copy.waits = gt_call_blocks(&operation->call);
	return copy;
}
