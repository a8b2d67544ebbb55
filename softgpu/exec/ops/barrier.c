/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Barriers of a block: bar and barrier. */
#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

void sg_barrier_result(struct sg_group *group, const struct sg_barrier *barrier)
{
	const struct sg_instruction *at = group->at;
	uint32_t *slot = sg_slot32(group->frame, at->d), value;

	if (at->selector == SG_BARRIER_POPC) {
		for (uint32_t left = group->mask; left; left &= left - 1)
			slot[__builtin_ctz(left)] = barrier->votes;
		return;
	}
	if (at->selector != SG_BARRIER_AND && at->selector != SG_BARRIER_OR)
		return;
	value = at->selector == SG_BARRIER_AND ? barrier->votes == barrier->voters
					       : barrier->votes != 0;
	*slot = (*slot & ~group->mask) | (value ? group->mask : 0);
}

/* a: the barrier's number; b: threads, SG_NO_SLOT: all; c: a predicate. */
static const struct sg_instruction *run_barrier(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	uint32_t first = (uint32_t)__builtin_ctz(warp->exec);
	uint32_t number = sg_slot32(warp->frame, at->a)[first];
	uint32_t threads = at->b == SG_NO_SLOT ? 0 : sg_slot32(warp->frame, at->b)[first];
	struct sg_barrier *barrier;

	if (number >= SG_BARRIERS || threads % SG_WARP_SIZE)
		return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_INSTRUCTION, first, number);
	barrier = &warp->block->barriers[number];
	barrier->is_used = true;
	barrier->expected = threads;
	if (at->selector >= SG_BARRIER_POPC) {
		uint32_t p =
			*sg_slot32(warp->frame, at->c) ^ (at->flags & SG_FLAG_NEGATE ? SG_FULL : 0);

		barrier->votes += (uint32_t)__builtin_popcount(p & warp->exec);
		barrier->voters += (uint32_t)__builtin_popcount(warp->exec);
	}
	warp->arrived[number] |= warp->exec;
	if (at->selector == SG_BARRIER_ARRIVE) {
		sg_block_check_barrier(warp->block, number);
		return at + 1;
	}
	sg_warp_wait(warp, at, SG_GROUP_BARRIER);
	warp->groups[warp->waited].barrier = (uint8_t)number;
	sg_block_check_barrier(warp->block, number);
	return sg_warp_select(warp);
}

/* ---- decoding -------------------------------------------------------------------------- */

/* bar.red.op d, number{, threads}, {!}p */
static int read_barrier_reduction(struct sg_decoder *decoder, struct sg_instruction *step)
{
	uint32_t count = decoder->instruction->operand_count;
	bool negated, is_count = sg_decode_has(decoder, GT_PTX_MOD_POPC);
	int error;

	if (count != 3 && count != 4)
		return sg_decode_bad_operand(decoder, 2);
	step->selector = is_count                                 ? SG_BARRIER_POPC
			 : sg_decode_has(decoder, GT_PTX_MOD_AND) ? SG_BARRIER_AND
								  : SG_BARRIER_OR;
	error = sg_decode_destination(decoder, 0, is_count ? GT_PTX_TYPE_U32 : GT_PTX_TYPE_PRED,
				      &step->d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U32, &step->a);
	if (!error && count == 4)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step->b);
	if (!error)
		error = sg_decode_predicate(decoder, sg_decode_operand(decoder, count - 1),
					    count - 1, &step->c, &negated);
	if (!error && negated)
		step->flags |= SG_FLAG_NEGATE;
	return error;
}

int sg_decode_bar(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.b = SG_NO_SLOT};
	uint32_t count = decoder->instruction->operand_count;
	int error = 0;

	if (sg_decode_has(decoder, GT_PTX_MOD_WARP))
		return sg_decode_warp_barrier(decoder);
	if (sg_decode_has(decoder, GT_PTX_MOD_CLUSTER))
		return sg_decode_cluster_barrier(decoder);
	if (sg_decode_has(decoder, GT_PTX_MOD_RED)) {
		error = read_barrier_reduction(decoder, &step);
		return error ? error : sg_decode_emit_step(decoder, run_barrier, &step);
	}
	if (!sg_decode_has(decoder, GT_PTX_MOD_SYNC) && !sg_decode_has(decoder, GT_PTX_MOD_ARRIVE))
		return sg_decode_bad_form(decoder);
	step.selector =
		sg_decode_has(decoder, GT_PTX_MOD_ARRIVE) ? SG_BARRIER_ARRIVE : SG_BARRIER_SYNC;
	if (count < 1 || count > 2 || (step.selector == SG_BARRIER_ARRIVE && count != 2))
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &step.a);
	if (!error && count == 2)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U32, &step.b);
	return error ? error : sg_decode_emit_step(decoder, run_barrier, &step);
}
