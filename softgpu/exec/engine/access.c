/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The slow path of memory accesses: lane by lane, in every space. The fast paths are in
 * lanes/memory.c.
 */
#include "exec/engine/cluster.h"

static uint64_t local_pointer(const struct sg_warp *warp, uint32_t lane, uint64_t offset,
			      uint64_t size)
{
	if (offset > warp->grid->local_size || size > warp->grid->local_size - offset)
		return 0;
	return (uint64_t)(uintptr_t)warp->local + lane * warp->grid->local_stride + offset;
}

static uint64_t parameter_pointer(const struct sg_warp *warp, uint64_t offset, uint64_t size)
{
	uint64_t limit = warp->grid->launch.parameter_size;

	if (offset > limit || size > limit - offset)
		return 0;
	return (uint64_t)(uintptr_t)warp->grid->parameters + offset;
}

static uint64_t shared_pointer(const struct sg_warp *warp, uint64_t offset, uint64_t size)
{
	uint64_t limit = warp->grid->shared_size;

	if (offset >= SG_CLUSTER_STRIDE && warp->block->cluster)
		return sg_cluster_pointer(warp, offset, size);
	if (offset > limit || size > limit - offset)
		return 0;
	return (uint64_t)(uintptr_t)warp->block->shared + offset;
}

uint64_t sg_warp_pointer(struct sg_warp *warp, uint32_t lane, uint64_t address, uint64_t size)
{
	const struct sg_windows *windows = &warp->machine->windows;

	if (address < windows->shared || address >= windows->code)
		return sg_memory_check(&warp->machine->memory, address, size) ? address : 0;
	if (address < windows->local)
		return shared_pointer(warp, address - windows->shared, size);
	if (address < windows->parameter)
		return local_pointer(warp, lane, address - windows->local, size);
	return parameter_pointer(warp, address - windows->parameter, size);
}

/* Returns a lane's address in the space of the instruction. */
static uint64_t lane_address(const struct sg_warp *warp, const struct sg_instruction *at,
			     uint32_t lane)
{
	if (at->a == SG_NO_SLOT)
		return warp->stack[lane] + at->immediate;
	return sg_read_address(warp, at->a, at->flags & SG_FLAG_NARROW, at->immediate, lane);
}

static uint64_t pointer_in(struct sg_warp *warp, enum gt_ptx_space space, uint32_t lane,
			   uint64_t address, uint64_t size)
{
	switch (space) {
	case GT_PTX_SPACE_SHARED:
		return shared_pointer(warp, address, size);
	case GT_PTX_SPACE_LOCAL:
		return local_pointer(warp, lane, address, size);
	case GT_PTX_SPACE_PARAM:
		return parameter_pointer(warp, address, size);
	default:
		return sg_warp_pointer(warp, lane, address, size);
	}
}

/* Resolves the active lanes with pointer_in; the others get the pointer of one of them. */
static bool resolve_in(struct sg_warp *warp, const struct sg_instruction *at,
		       enum gt_ptx_space space, struct sg_access *access)
{
	uint64_t size = (uint64_t)at->size * at->count, other = 0;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = lane_address(warp, at, lane), pointer;

		if (address & (size - 1)) {
			sg_warp_fault(warp, at, SG_FAULT_MISALIGNED, lane, address);
			return false;
		}
		pointer = pointer_in(warp, space, lane, address, size);
		if (!pointer) {
			sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane, address);
			return false;
		}
		access->address[lane] = other = pointer;
	}
	for (uint32_t lanes = ~warp->exec; lanes; lanes &= lanes - 1)
		access->address[__builtin_ctz(lanes)] = other;
	return true;
}

/* Whether all lanes access the range outside of the arena that contains the first one's. */
static bool are_in_one_range(const struct sg_warp *warp, const struct sg_access *access,
			     uint64_t size)
{
	struct sg_range range = sg_memory_range(&warp->machine->memory, access->address[0]);
	bool outside = false;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		outside |= access->address[lane] < range.address ||
			   access->address[lane] >= range.end ||
			   range.end - access->address[lane] < size;
	return !outside;
}

bool sg_resolve_slow(struct sg_warp *warp, const struct sg_instruction *at,
		     struct sg_access *access)
{
	uint64_t size = (uint64_t)at->size * at->count, bits = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		bits |= access->address[lane];
	if (!(bits & (size - 1)) && are_in_one_range(warp, access, size))
		return true;
	access->pattern = SG_PATTERN_ANY;
	return resolve_in(warp, at, GT_PTX_SPACE_NONE, access);
}

/* Resolves in one space alone. */
#define RESOLVE_IN(name, in)                                                                       \
	bool name(struct sg_warp *warp, const struct sg_instruction *at, struct sg_access *access) \
	{                                                                                          \
		access->pattern = SG_PATTERN_ANY;                                                  \
		return resolve_in(warp, at, in, access);                                           \
	}

RESOLVE_IN(sg_resolve_shared_slow, GT_PTX_SPACE_SHARED)
RESOLVE_IN(sg_resolve_local, GT_PTX_SPACE_LOCAL)
RESOLVE_IN(sg_resolve_parameter, GT_PTX_SPACE_PARAM)
RESOLVE_IN(sg_resolve_generic, GT_PTX_SPACE_NONE)

/* ---- order ----------------------------------------------------------------------------- */

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

void sg_fence(struct sg_machine *machine)
{
#ifdef HAS_THREAD_SANITIZER
	/* ThreadSanitizer does not support fences, but it orders accesses to one word. */
	__atomic_fetch_add(&machine->fence, 1, __ATOMIC_SEQ_CST);
#else
	(void)machine;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
