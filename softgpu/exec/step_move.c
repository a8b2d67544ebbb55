/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "exec/cluster.h"
#include "exec/decode.h"
#include "exec/steps.h"

static uint32_t *predicate(struct sg_warp *warp, uint32_t slot)
{
	return (uint32_t *)(void *)(warp->frame + slot);
}

static const struct sg_instruction *set_predicate(struct sg_warp *warp,
						  const struct sg_instruction *at, uint32_t value)
{
	uint32_t *p = predicate(warp, at->d);

	*p = (*p & ~warp->exec) | (value & warp->exec);
	return at + 1;
}

const struct sg_instruction *sg_run_move_predicate(struct sg_warp *warp,
						   const struct sg_instruction *at)
{
	return set_predicate(warp, at, *predicate(warp, at->a));
}

const struct sg_instruction *sg_run_and_predicate(struct sg_warp *warp,
						  const struct sg_instruction *at)
{
	return set_predicate(warp, at, *predicate(warp, at->a) & *predicate(warp, at->b));
}

const struct sg_instruction *sg_run_or_predicate(struct sg_warp *warp,
						 const struct sg_instruction *at)
{
	return set_predicate(warp, at, *predicate(warp, at->a) | *predicate(warp, at->b));
}

const struct sg_instruction *sg_run_xor_predicate(struct sg_warp *warp,
						  const struct sg_instruction *at)
{
	return set_predicate(warp, at, *predicate(warp, at->a) ^ *predicate(warp, at->b));
}

const struct sg_instruction *sg_run_not_predicate(struct sg_warp *warp,
						  const struct sg_instruction *at)
{
	return set_predicate(warp, at, ~*predicate(warp, at->a));
}

const struct sg_instruction *sg_run_address(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint64_t *base = (uint64_t *)(void *)(warp->frame + at->a);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t value =
			at->immediate + (at->a == SG_NO_SLOT ? warp->stack[lane] : base[lane]);

		memcpy(warp->frame + at->d + lane * at->size, &value, at->size);
	}
	return at + 1;
}

/* Bytes of element `element` of a whole that takes `bytes`; a .b128 lies as two halves. */
static char *part_of(struct sg_warp *warp, uint32_t slot, uint32_t bytes, uint32_t lane,
		     uint32_t place)
{
	char *base = warp->frame + slot;

	if (bytes == 16)
		return base + (place >= 8 ? 256 : 0) + lane * 8 + place % 8;
	return base + lane * bytes + place;
}

const struct sg_instruction *sg_run_pack(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t bytes = (uint32_t)at->size * at->count, width = at->size < 2 ? 2 : at->size;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		char whole[16];

		for (uint32_t i = 0; i < at->count; i++)
			memcpy(whole + i * at->size, warp->frame + at->list[i] + lane * width,
			       at->size);
		for (uint32_t i = 0; i < at->count; i++)
			memcpy(part_of(warp, at->d, bytes, lane, i * at->size),
			       whole + i * at->size, at->size);
	}
	return at + 1;
}

const struct sg_instruction *sg_run_unpack(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t bytes = (uint32_t)at->size * at->count, width = at->size < 2 ? 2 : at->size;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		char whole[16];

		for (uint32_t i = 0; i < at->count; i++)
			memcpy(whole + i * at->size,
			       part_of(warp, at->a, bytes, lane, i * at->size), at->size);
		for (uint32_t i = 0; i < at->count; i++) {
			char *to = warp->frame + at->list[i] + lane * width;

			memset(to, 0, width);
			memcpy(to, whole + i * at->size, at->size);
		}
	}
	return at + 1;
}

const struct sg_instruction *sg_run_is_space(struct sg_warp *warp, const struct sg_instruction *at)
{
	const struct sg_windows *windows = &warp->machine->windows;
	const uint64_t *address = (uint64_t *)(void *)(warp->frame + at->a);
	/* A block's own shared memory, or with selector also that of others in its cluster. */
	uint64_t end = at->selector ? windows->local : windows->shared + SG_CLUSTER_STRIDE;
	uint32_t found = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint64_t a = address[lane];
		bool is_shared = a >= windows->shared && a < windows->local;
		bool is_own = is_shared && a < end;
		bool is_local = a >= windows->local && a < windows->parameter;
		bool is_parameter = a >= windows->parameter && a < windows->code;
		bool is = at->space == GT_PTX_SPACE_SHARED  ? is_own
			  : at->space == GT_PTX_SPACE_LOCAL ? is_local
			  : at->space == GT_PTX_SPACE_PARAM ? is_parameter
			  : at->space == GT_PTX_SPACE_CONST
				  ? sg_module_is_const(warp->function->module, a)
				  : !is_shared && !is_local;

		found |= (uint32_t)is << lane;
	}
	return set_predicate(warp, at, found);
}
