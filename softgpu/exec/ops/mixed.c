/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arithmetic of .f32 with pairs (.f32x2) or with sources of 16 bits (add.f32.f16).
 */
#include <errno.h>
#include <math.h>

#include "exec/decode/decode.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

/* ---- at run time ----------------------------------------------------------------------- */

static double flush_input(uint32_t bits, uint32_t flags)
{
	return sg_float_f32(flags & SG_FLAG_FTZ ? sg_flush_bits(bits) : bits);
}

/* a × b + c, rounded once by flags; a sum is a product with 1. */
static uint32_t fused(double a, double b, double c, uint32_t flags)
{
	double sum = sg_fma_odd(a, b, c);
	uint32_t bits;

	/* A sum of opposite values is -0 only if it is rounded down. */
	if (sum == 0 && signbit(a * b) != signbit(c))
		sum = flags & SG_FLAG_RM ? -0.0 : 0.0;
	bits = sg_round_double(sum, flags, 8, 23);
	if (flags & SG_FLAG_FTZ)
		bits = sg_flush_bits(bits);
	if (flags & SG_FLAG_SAT)
		bits = sg_bits_f32(sg_saturate_f32(sg_float_f32(bits)));
	return sg_bits_f32(sg_canonical_f32(sg_float_f32(bits)));
}

static uint32_t compute(const struct sg_instruction *at, double a, double b, double c)
{
	switch (at->selector) {
	case SG_HALF_ADD:
		return fused(a, 1, b, at->flags);
	case SG_HALF_SUB:
		return fused(a, 1, -b, at->flags);
	case SG_HALF_MUL:
		/* Adding the zero of the product's sign does not change it. */
		return fused(a, b, signbit(a) == signbit(b) ? 0.0 : -0.0, at->flags);
	default:
		return fused(a, b, c, at->flags);
	}
}

/* selector: enum sg_half_operation, of .f32x2. */
static const struct sg_instruction *run_pairs(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *a = (uint32_t *)(void *)(warp->frame + at->a);
	const uint32_t *b = (uint32_t *)(void *)(warp->frame + at->b);
	const uint32_t *c = (uint32_t *)(void *)(warp->frame + at->c);
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t first = 2 * (uint32_t)__builtin_ctz(lanes);

		for (uint32_t i = first; i < first + 2; i++)
			d[i] = compute(at, flush_input(a[i], at->flags),
				       flush_input(b[i], at->flags), flush_input(c[i], at->flags));
	}
	return at + 1;
}

static double wide_source(const struct sg_warp *warp, uint32_t slot, uint32_t lane)
{
	return sg_float_f32(((const uint32_t *)(const void *)(warp->frame + slot))[lane]);
}

/* selector: as above; size: enum sg_half of a, and of b if there is a c. */
static const struct sg_instruction *run_mixed(struct sg_warp *warp, const struct sg_instruction *at)
{
	bool bfloat = at->size == SG_HALF_BF16, is_fma = at->selector == SG_HALF_FMA;
	const uint16_t *a = (uint16_t *)(void *)(warp->frame + at->a);
	const uint16_t *b = (uint16_t *)(void *)(warp->frame + at->b);
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		d[lane] = compute(at, sg_half_to_double(a[lane], bfloat),
				  is_fma ? sg_half_to_double(b[lane], bfloat)
					 : wide_source(warp, at->b, lane),
				  is_fma ? wide_source(warp, at->c, lane) : 0);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

static bool read_modifiers(const struct gt_ptx_form *form, uint32_t allowed, uint32_t *ret_flags)
{
	*ret_flags = 0;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		if (id == GT_PTX_MOD_RZ)
			*ret_flags |= SG_FLAG_RZ;
		else if (id == GT_PTX_MOD_RM)
			*ret_flags |= SG_FLAG_RM;
		else if (id == GT_PTX_MOD_RP)
			*ret_flags |= SG_FLAG_RP;
		else if (id == GT_PTX_MOD_FTZ)
			*ret_flags |= SG_FLAG_FTZ;
		else if (id == GT_PTX_MOD_SAT)
			*ret_flags |= SG_FLAG_SAT;
		else if (id != GT_PTX_MOD_RN && gt_ptx_modifier_type(id) == GT_PTX_TYPE_NONE)
			return false;
	}
	return !(*ret_flags & ~(SG_FLAG_RZ | SG_FLAG_RM | SG_FLAG_RP | allowed));
}

static bool find_operation(enum gt_ptx_opcode opcode, enum sg_half_operation *ret_operation)
{
	switch (opcode) {
	case GT_PTX_OP_ADD:
		*ret_operation = SG_HALF_ADD;
		return true;
	case GT_PTX_OP_SUB:
		*ret_operation = SG_HALF_SUB;
		return true;
	case GT_PTX_OP_MUL:
		*ret_operation = SG_HALF_MUL;
		return true;
	case GT_PTX_OP_FMA:
		*ret_operation = SG_HALF_FMA;
		return true;
	default:
		return false;
	}
}

int sg_decode_mixed(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_pair = form->types[0] == GT_PTX_TYPE_F32X2;
	enum gt_ptx_type narrow = is_pair ? form->types[0] : form->types[1];
	struct sg_instruction wanted = {0};
	enum sg_half_operation operation;
	uint32_t sources;
	int error;

	if (!find_operation(form->opcode, &operation) ||
	    (!is_pair && (operation == SG_HALF_MUL || sg_half_format(narrow) == SG_HALF_NONE ||
			  sg_type_width(narrow) != 2)) ||
	    !read_modifiers(form, is_pair ? SG_FLAG_FTZ : SG_FLAG_SAT, &wanted.flags))
		return sg_decode_bad_form(decoder);
	sources = operation == SG_HALF_FMA ? 3 : 2;
	if (decoder->instruction->operand_count != sources + 1)
		return sg_decode_bad_operand(decoder, sources);
	wanted.selector = (uint8_t)operation;
	wanted.size = (uint8_t)sg_half_format(narrow);
	error = sg_decode_destination(decoder, 0, form->types[0], &wanted.d);
	if (!error)
		error = sg_decode_source(decoder, 1, narrow, &wanted.a);
	if (!error)
		error = sg_decode_source(decoder, 2, sources == 3 ? narrow : form->types[0],
					 &wanted.b);
	if (!error && sources == 3)
		error = sg_decode_source(decoder, 3, form->types[0], &wanted.c);
	return error ? error
		     : sg_decode_emit_step(decoder, is_pair ? run_pairs : run_mixed, &wanted);
}
