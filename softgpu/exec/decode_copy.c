/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of asynchronous copies, of fences, and of hints. */
#include <errno.h>

#include "exec/decode.h"
#include "exec/steps.h"

/*
 * The fourth operand: how many bytes are copied, the others being cleared; or a predicate, with
 * which all are.
 */
static int copy_limit(struct sg_decoder *decoder, uint32_t size, uint32_t *ret_limit)
{
	const struct gt_ptx_operand *operand = &decoder->instruction->operands[3];
	struct sg_instruction step = {0};
	bool negated = false;
	int error;

	if (operand->kind != GT_PTX_OPERAND_REGISTER || operand->variable->type != GT_PTX_TYPE_PRED)
		return sg_decode_source(decoder, 3, GT_PTX_TYPE_U32, ret_limit);
	error = sg_decode_predicate(decoder, operand, 3, &step.c, &negated);
	if (!error)
		error = sg_decode_constant(decoder, 4, negated ? size : 0, &step.a);
	if (!error)
		error = sg_decode_constant(decoder, 4, negated ? 0 : size, &step.b);
	*ret_limit = step.d = sg_decode_temporary(decoder, 4);
	return error ? error
		     : sg_decode_emit_step(decoder, decoder->machine->lanes->run[SG_LANE_selp_b32],
					   &step);
}

/* cp.async.ca.shared.global [to], [from], size, source-size: done at once. */
static int decode_copy(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_operand *size;
	struct sg_address to, from;
	struct sg_instruction *step;
	uint32_t limit = SG_NO_SLOT;
	int error;

	if (instruction->operand_count < 3)
		return sg_decode_bad_operand(decoder, 2);
	size = &instruction->operands[2];
	if (size->kind != GT_PTX_OPERAND_INTEGER ||
	    (size->integer != 4 && size->integer != 8 && size->integer != 16))
		return sg_decode_bad_operand(decoder, 2);
	error = sg_decode_address(decoder, 0, &to);
	if (!error)
		error = sg_decode_address(decoder, 1, &from);
	/* The last operand is the policy of .L2::cache_hint. */
	if (!error && instruction->operand_count >
			      3u + gt_ptx_form_has(instruction->form, GT_PTX_MOD_L2_CACHE_HINT))
		error = copy_limit(decoder, (uint32_t)size->integer, &limit);
	if (error)
		return error;
	if (to.slot == SG_NO_SLOT || from.slot == SG_NO_SLOT || from.offset > UINT32_MAX)
		return sg_decode_bad_operand(decoder, 1);
	step = sg_decode_emit(decoder, sg_run_copy);
	if (!step)
		return -ENOMEM;
	step->a = to.slot;
	step->immediate = to.offset;
	step->b = from.slot;
	step->e = (uint32_t)from.offset;
	step->c = limit;
	step->size = (uint8_t)size->integer;
	step->count = 1;
	step->selector = (uint8_t)((to.is_narrow ? 1 : 0) | (from.is_narrow ? 2 : 0));
	return 0;
}

int sg_decode_cp(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);

	if (!gt_ptx_form_has(form, GT_PTX_MOD_ASYNC))
		return sg_decode_bad_form(decoder);
	if (gt_ptx_form_has(form, GT_PTX_MOD_REDUCE))
		return sg_decode_bulk_reduce(decoder);
	if (gt_ptx_form_has(form, GT_PTX_MOD_COMMIT_GROUP) ||
	    gt_ptx_form_has(form, GT_PTX_MOD_WAIT_GROUP) ||
	    gt_ptx_form_has(form, GT_PTX_MOD_WAIT_ALL))
		return sg_decode_nothing(decoder);
	if (gt_ptx_form_has(form, GT_PTX_MOD_BULK))
		return sg_decode_bulk_copy(decoder);
	if (gt_ptx_form_has(form, GT_PTX_MOD_MBARRIER))
		return sg_decode_copy_arrive(decoder);
	return decode_copy(decoder);
}

/* Hints, and what is complete when it has begun. */
int sg_decode_nothing(struct sg_decoder *decoder)
{
	return sg_decode_emit(decoder, sg_run_nothing) ? 0 : -ENOMEM;
}

int sg_decode_fence(struct sg_decoder *decoder)
{
	return sg_decode_emit(decoder, sg_run_fence) ? 0 : -ENOMEM;
}

/* A policy of the caches, which are not modelled: any number does. */
int sg_decode_createpolicy(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B64, &step.d);

	if (!error)
		error = sg_decode_constant(decoder, 8, 0, &step.a);
	return error ? error
		     : sg_decode_emit_step(decoder, decoder->machine->lanes->run[SG_LANE_mov_b64],
					   &step);
}
