/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of what lanes and threads do together. */
#include <errno.h>

#include "exec/decode.h"
#include "exec/steps.h"

static bool has(const struct sg_decoder *decoder, enum gt_ptx_modifier_id id)
{
	return gt_ptx_form_has(sg_decode_form(decoder), id);
}

static const struct gt_ptx_operand *operand_at(const struct sg_decoder *decoder, uint32_t index)
{
	static const struct gt_ptx_operand none = {.kind = GT_PTX_OPERAND_SINK};

	return index < decoder->instruction->operand_count ? &decoder->instruction->operands[index]
							   : &none;
}

/* The destination `d|p` or `d`: p as slot + 1, 0 if there is none. */
static int read_pair(struct sg_decoder *decoder, uint32_t *ret_d, uint64_t *ret_predicate)
{
	const struct gt_ptx_operand *first = operand_at(decoder, 0), *second = NULL;
	uint32_t p, width;
	int error;

	if (first->kind == GT_PTX_OPERAND_PAIR && first->count == 2) {
		second = &first->items[1];
		first = &first->items[0];
	}
	error = sg_decode_destination_operand(decoder, first, 0, GT_PTX_TYPE_B32, false, ret_d,
					      &width);
	*ret_predicate = 0;
	if (error || !second)
		return error;
	error = sg_decode_destination_operand(decoder, second, 0, GT_PTX_TYPE_PRED, false, &p,
					      &width);
	*ret_predicate = (uint64_t)p + 1;
	return error;
}

int sg_decode_shfl(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id modes[] = {GT_PTX_MOD_UP, GT_PTX_MOD_DOWN,
							GT_PTX_MOD_BFLY, GT_PTX_MOD_IDX};
	struct sg_instruction step = {.size = 4};
	bool sync = has(decoder, GT_PTX_MOD_SYNC);
	uint32_t mode = 0;
	int error;

	while (mode < gt_countof(modes) && !has(decoder, modes[mode]))
		mode++;
	if (mode == gt_countof(modes) || !has(decoder, GT_PTX_MOD_B32) ||
	    sg_decode_form(decoder)->modifier_count != 2u + sync)
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.flags = sync ? SG_FLAG_SYNC : 0;
	error = read_pair(decoder, &step.d, &step.immediate);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.b);
	if (!error)
		error = sg_decode_source(decoder, 3, GT_PTX_TYPE_B32, &step.c);
	if (!error && sync)
		error = sg_decode_source(decoder, 4, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_shuffle, &step);
}

int sg_decode_vote(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id modes[] = {GT_PTX_MOD_ALL, GT_PTX_MOD_ANY,
							GT_PTX_MOD_UNI, GT_PTX_MOD_BALLOT};
	struct sg_instruction step = {.d = SG_NO_SLOT};
	bool sync = has(decoder, GT_PTX_MOD_SYNC), negated;
	uint32_t mode = 0, p;
	int error;

	while (mode < gt_countof(modes) && !has(decoder, modes[mode]))
		mode++;
	if (mode == gt_countof(modes) || sg_decode_form(decoder)->modifier_count != 2u + sync)
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.flags = sync ? SG_FLAG_SYNC : 0;
	if (mode == SG_VOTE_BALLOT) {
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	} else {
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &p);
		step.immediate = (uint64_t)p + 1;
	}
	if (!error)
		error = sg_decode_predicate(decoder, operand_at(decoder, 1), 1, &step.a, &negated);
	if (!error && negated)
		step.flags |= SG_FLAG_NEGATE;
	if (!error && sync)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_vote, &step);
}

int sg_decode_match(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.flags = SG_FLAG_SYNC};
	bool is_wide = has(decoder, GT_PTX_MOD_B64), all = has(decoder, GT_PTX_MOD_ALL);
	int error;

	if (!has(decoder, GT_PTX_MOD_SYNC) || (!all && !has(decoder, GT_PTX_MOD_ANY)) ||
	    (!is_wide && !has(decoder, GT_PTX_MOD_B32)))
		return sg_decode_bad_form(decoder);
	step.selector = all;
	step.size = is_wide ? 8 : 4;
	error = read_pair(decoder, &step.d, &step.immediate);
	if (!error)
		error = sg_decode_source(decoder, 1, is_wide ? GT_PTX_TYPE_B64 : GT_PTX_TYPE_B32,
					 &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_match, &step);
}

int sg_decode_redux(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id modes[] = {GT_PTX_MOD_ADD, GT_PTX_MOD_MIN,
							GT_PTX_MOD_MAX, GT_PTX_MOD_AND,
							GT_PTX_MOD_OR,  GT_PTX_MOD_XOR};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_float = form->type_count == 1 && form->types[0] == GT_PTX_TYPE_F32;
	struct sg_instruction step = {.size = 4, .flags = SG_FLAG_SYNC};
	uint32_t mode = 0;
	int error;

	while (mode < gt_countof(modes) && !has(decoder, modes[mode]))
		mode++;
	if (is_float && has(decoder, GT_PTX_MOD_ABS))
		step.flags |= SG_FLAG_ABS;
	if (is_float && has(decoder, GT_PTX_MOD_NAN_RESULT))
		step.flags |= SG_FLAG_NAN;
	if (mode == gt_countof(modes) ||
	    (is_float && mode != SG_REDUCE_MIN && mode != SG_REDUCE_MAX) ||
	    form->modifier_count !=
		    3u + !!(step.flags & SG_FLAG_ABS) + !!(step.flags & SG_FLAG_NAN) ||
	    form->type_count != 1 ||
	    (form->types[0] != GT_PTX_TYPE_U32 && form->types[0] != GT_PTX_TYPE_S32 &&
	     form->types[0] != GT_PTX_TYPE_B32 && !is_float))
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.count = is_float                            ? SG_REDUCE_FLOATS
		     : form->types[0] == GT_PTX_TYPE_S32 ? SG_REDUCE_SIGNED
							 : SG_REDUCE_UNSIGNED;
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_reduce, &step);
}

/* elect.sync d|p, members */
int sg_decode_elect(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.size = 4, .flags = SG_FLAG_SYNC};
	int error = read_pair(decoder, &step.d, &step.immediate);

	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_elect, &step);
}

int sg_decode_activemask(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);

	return error ? error : sg_decode_emit_step(decoder, sg_run_activemask, &step);
}

/* ---- barriers -------------------------------------------------------------------------- */

/* bar.warp.sync members */
static int sync_warp(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.d = SG_NO_SLOT, .size = 4, .flags = SG_FLAG_SYNC};
	int error = sg_decode_source(decoder, 0, GT_PTX_TYPE_B32, &step.e);

	return error ? error : sg_decode_emit_step(decoder, sg_run_sync_warp, &step);
}

/* bar.red.op d, number{, threads}, {!}p */
static int reduction(struct sg_decoder *decoder, struct sg_instruction *step)
{
	uint32_t count = decoder->instruction->operand_count;
	bool negated, is_count = has(decoder, GT_PTX_MOD_POPC);
	int error;

	if (count != 3 && count != 4)
		return sg_decode_bad_operand(decoder, 2);
	step->selector = is_count                       ? SG_BARRIER_POPC
			 : has(decoder, GT_PTX_MOD_AND) ? SG_BARRIER_AND
							: SG_BARRIER_OR;
	error = sg_decode_destination(decoder, 0, is_count ? GT_PTX_TYPE_U32 : GT_PTX_TYPE_PRED,
				      &step->d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U32, &step->a);
	if (!error && count == 4)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step->b);
	if (!error)
		error = sg_decode_predicate(decoder, operand_at(decoder, count - 1), count - 1,
					    &step->c, &negated);
	if (!error && negated)
		step->flags |= SG_FLAG_NEGATE;
	return error;
}

int sg_decode_bar(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.b = SG_NO_SLOT};
	uint32_t count = decoder->instruction->operand_count;
	int error = 0;

	if (has(decoder, GT_PTX_MOD_WARP))
		return sync_warp(decoder);
	if (has(decoder, GT_PTX_MOD_CLUSTER))
		return sg_decode_cluster_barrier(decoder);
	if (has(decoder, GT_PTX_MOD_RED)) {
		error = reduction(decoder, &step);
		return error ? error : sg_decode_emit_step(decoder, sg_run_barrier, &step);
	}
	if (!has(decoder, GT_PTX_MOD_SYNC) && !has(decoder, GT_PTX_MOD_ARRIVE))
		return sg_decode_bad_form(decoder);
	step.selector = has(decoder, GT_PTX_MOD_ARRIVE) ? SG_BARRIER_ARRIVE : SG_BARRIER_SYNC;
	if (count < 1 || count > 2 || (step.selector == SG_BARRIER_ARRIVE && count != 2))
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &step.a);
	if (!error && count == 2)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U32, &step.b);
	return error ? error : sg_decode_emit_step(decoder, sg_run_barrier, &step);
}
