/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Instructions of clusters: barrier.cluster, mapa, getctarank (PTX ISA 9.0, 9.7.13.4). */
#include "exec/engine/cluster.h"
#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

/* ---- the barrier ----------------------------------------------------------------------- */

static const struct sg_instruction *run_arrive(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	sg_cluster_arrive(warp);
	return at + 1;
}

/* Lanes whose phase is complete continue; the others wait. */
static const struct sg_instruction *run_wait(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t waiting = warp->exec & warp->cluster_arrived, phase, rest;

	phase = __atomic_load_n(&warp->block->cluster->phase, __ATOMIC_ACQUIRE);
	for (uint32_t lanes = waiting; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		if (warp->cluster_phase[lane] != phase)
			waiting &= ~(1u << lane);
	}
	warp->cluster_arrived &= ~warp->exec | waiting;
	sg_fence(warp->machine);
	if (!waiting)
		return at + 1;
	/* The number of retries varies: they do not count as cycles of the kernel. */
	warp->pseudo++;
	sg_warp_count(warp);
	rest = warp->mask & ~waiting;
	warp->mask = waiting;
	if (rest)
		sg_warp_split(warp, rest, at + 1, warp->function, warp->frame, warp->depth);
	warp->spinning = true;
	return sg_warp_tick(warp, at);
}

/* ---- addresses ------------------------------------------------------------------------- */

/* Subtracts the window from a generic address; false: it is not in shared memory. */
static bool take_window(const struct sg_warp *warp, const struct sg_instruction *at,
			uint64_t *address, uint64_t *ret_window)
{
	const struct sg_windows *windows = &warp->machine->windows;

	*ret_window = 0;
	if (at->space == GT_PTX_SPACE_SHARED)
		return true;
	if (*address < windows->shared || *address >= windows->local)
		return false;
	*address -= windows->shared;
	*ret_window = windows->shared;
	return true;
}

/* mapa d, a, b: the same variable in the memory of block b. size: of d and a. */
static const struct sg_instruction *run_map(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *ranks = (uint32_t *)(void *)(warp->frame + at->b);
	uint32_t own = sg_cluster_rank(warp->block);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = sg_read_lane(warp, at->a, at->size, lane), window;

		if (take_window(warp, at, &address, &window)) {
			address %= SG_CLUSTER_STRIDE;
			if (ranks[lane] != own)
				address += (ranks[lane] + 1ull) * SG_CLUSTER_STRIDE;
			address += window;
		}
		memcpy(warp->frame + at->d + lane * at->size, &address, at->size);
	}
	return at + 1;
}

/* getctarank d, a: the rank of the memory's block. size: of a. */
static const struct sg_instruction *run_rank(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d), own = sg_cluster_rank(warp->block);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = sg_read_lane(warp, at->a, at->size, lane), window;

		if (!take_window(warp, at, &address, &window) || address < SG_CLUSTER_STRIDE)
			d[lane] = own;
		else
			d[lane] = (uint32_t)(address / SG_CLUSTER_STRIDE - 1);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

/* barrier.cluster.arrive{.release, .relaxed}{.aligned} and .wait{.acquire}{.aligned} */
int sg_decode_cluster_barrier(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	bool arrives = sg_decode_has(decoder, GT_PTX_MOD_ARRIVE),
	     waits = sg_decode_has(decoder, GT_PTX_MOD_WAIT);
	uint32_t modifiers = 2u + sg_decode_has(decoder, GT_PTX_MOD_ALIGNED);

	if (arrives)
		modifiers += sg_decode_has(decoder, GT_PTX_MOD_RELEASE) +
			     sg_decode_has(decoder, GT_PTX_MOD_RELAXED);
	else
		modifiers += sg_decode_has(decoder, GT_PTX_MOD_ACQUIRE);
	if (arrives == waits || sg_decode_form(decoder)->modifier_count != modifiers)
		return sg_decode_bad_form(decoder);
	if (decoder->instruction->operand_count)
		return sg_decode_bad_operand(decoder, 0);
	decoder->function->uses_cluster_barrier = true;
	return sg_decode_emit_step(decoder, arrives ? run_arrive : run_wait, &step);
}

/* An address in shared memory of a block of the cluster: a register, or a shared variable. */
static int read_address(struct sg_decoder *decoder, struct sg_instruction *step)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	bool is_shared = sg_decode_has(decoder, GT_PTX_MOD_SHARED_CLUSTER);

	if ((type != GT_PTX_TYPE_U32 && type != GT_PTX_TYPE_U64) ||
	    form->modifier_count != 1u + is_shared || (!is_shared && type != GT_PTX_TYPE_U64))
		return sg_decode_bad_form(decoder);
	step->size = type == GT_PTX_TYPE_U32 ? 4 : 8;
	step->space = is_shared ? GT_PTX_SPACE_SHARED : GT_PTX_SPACE_NONE;
	if (decoder->instruction->operand_count > 1 &&
	    decoder->instruction->operands[1].kind == GT_PTX_OPERAND_SYMBOL)
		return sg_decode_symbol(decoder, &decoder->instruction->operands[1], step->size,
					&step->a);
	return sg_decode_source(decoder, 1, type, &step->a);
}

int sg_decode_mapa(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = read_address(decoder, &step);

	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step.b);
	if (!error)
		error = sg_decode_destination(
			decoder, 0, step.size == 4 ? GT_PTX_TYPE_U32 : GT_PTX_TYPE_U64, &step.d);
	return error ? error : sg_decode_emit_step(decoder, run_map, &step);
}

int sg_decode_getctarank(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = read_address(decoder, &step);

	if (!error)
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_U32, &step.d);
	return error ? error : sg_decode_emit_step(decoder, run_rank, &step);
}
