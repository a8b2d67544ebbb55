/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous copies: cp.async. All of them are complete before the next instruction. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

/* Copies size bytes from b + e to a + immediate; c: the slot of a limit, the rest is cleared. */
static const struct sg_instruction *run_copy(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *limit =
		at->c == SG_NO_SLOT ? NULL : (uint32_t *)(void *)(warp->frame + at->c);
	struct sg_instruction to = *at, from = *at;
	struct sg_access target, source;

	from.a = at->b;
	from.immediate = at->e;
	from.flags = at->selector & 2 ? SG_FLAG_NARROW : 0;
	to.flags = at->selector & 1 ? SG_FLAG_NARROW : 0;
	if (!sg_resolve_shared_slow(warp, &to, &target) ||
	    !sg_resolve_generic(warp, &from, &source))
		return NULL;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint32_t size = limit && limit[lane] < at->size ? limit[lane] : at->size;
		char *memory = (char *)(uintptr_t)target.address[lane];

		memcpy(memory, (const char *)(uintptr_t)source.address[lane], size);
		memset(memory + size, 0, at->size - size);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

/* The fourth operand: the number of bytes to copy, the others are cleared; or a predicate: none. */
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
	return error ? error : sg_decode_emit_lanes(decoder, SG_LANE_selp_b32, &step);
}

/* cp.async.ca.shared.global [to], [from], size, source-size */
static int decode_copy(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct sg_instruction step = {.c = SG_NO_SLOT, .count = 1};
	const struct gt_ptx_operand *size = sg_decode_operand(decoder, 2);
	struct sg_address to, from;
	int error;

	if (!size || size->kind != GT_PTX_OPERAND_INTEGER ||
	    (size->integer != 4 && size->integer != 8 && size->integer != 16))
		return sg_decode_bad_operand(decoder, 2);
	error = sg_decode_address(decoder, 0, &to);
	if (!error)
		error = sg_decode_address(decoder, 1, &from);
	/* The last operand is the policy of .L2::cache_hint. */
	if (!error && instruction->operand_count >
			      3u + gt_ptx_form_has(instruction->form, GT_PTX_MOD_L2_CACHE_HINT))
		error = copy_limit(decoder, (uint32_t)size->integer, &step.c);
	if (error)
		return error;
	if (to.slot == SG_NO_SLOT || from.slot == SG_NO_SLOT || from.offset > UINT32_MAX)
		return sg_decode_bad_operand(decoder, 1);
	step.a = to.slot;
	step.immediate = to.offset;
	step.b = from.slot;
	step.e = (uint32_t)from.offset;
	step.size = (uint8_t)size->integer;
	step.selector = (uint8_t)((to.is_narrow ? 1 : 0) | (from.is_narrow ? 2 : 0));
	return sg_decode_emit_step(decoder, run_copy, &step);
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
