/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Comparisons, selections, logic of predicates: setp, set, testp, selp, slct, and, or, xor, not. */
#include <errno.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

/* ---- at run time ----------------------------------------------------------------------- */

static const struct sg_instruction *run_and_predicate(struct sg_warp *warp,
						      const struct sg_instruction *at)
{
	sg_write_predicate(warp, at->d,
			   *sg_slot32(warp->frame, at->a) & *sg_slot32(warp->frame, at->b));
	return at + 1;
}

static const struct sg_instruction *run_or_predicate(struct sg_warp *warp,
						     const struct sg_instruction *at)
{
	sg_write_predicate(warp, at->d,
			   *sg_slot32(warp->frame, at->a) | *sg_slot32(warp->frame, at->b));
	return at + 1;
}

static const struct sg_instruction *run_xor_predicate(struct sg_warp *warp,
						      const struct sg_instruction *at)
{
	sg_write_predicate(warp, at->d,
			   *sg_slot32(warp->frame, at->a) ^ *sg_slot32(warp->frame, at->b));
	return at + 1;
}

static const struct sg_instruction *run_not_predicate(struct sg_warp *warp,
						      const struct sg_instruction *at)
{
	sg_write_predicate(warp, at->d, ~*sg_slot32(warp->frame, at->a));
	return at + 1;
}

/* A comparison as one of enum sg_comparison, with exchanged operands or a negated result. */
struct comparison {
	enum gt_ptx_modifier_id id;
	bool is_float_only;
	uint8_t base; /* enum sg_comparison */
	bool exchange;
	bool negate;
};

static const struct comparison comparisons[] = {
	{GT_PTX_MOD_EQ, false, SG_COMPARE_EQUAL, false, false},
	{GT_PTX_MOD_NE, false, SG_COMPARE_DIFFERENT, false, false},
	{GT_PTX_MOD_LT, false, SG_COMPARE_LESS, false, false},
	{GT_PTX_MOD_LE, false, SG_COMPARE_LESS_EQUAL, false, false},
	{GT_PTX_MOD_GT, false, SG_COMPARE_LESS, true, false},
	{GT_PTX_MOD_GE, false, SG_COMPARE_LESS_EQUAL, true, false},
	{GT_PTX_MOD_LO, false, SG_COMPARE_LESS, false, false},
	{GT_PTX_MOD_LS, false, SG_COMPARE_LESS_EQUAL, false, false},
	{GT_PTX_MOD_HI, false, SG_COMPARE_LESS, true, false},
	{GT_PTX_MOD_HS, false, SG_COMPARE_LESS_EQUAL, true, false},
	{GT_PTX_MOD_EQU, true, SG_COMPARE_DIFFERENT, false, true},
	{GT_PTX_MOD_NEU, true, SG_COMPARE_EQUAL, false, true},
	{GT_PTX_MOD_LTU, true, SG_COMPARE_LESS_EQUAL, true, true},
	{GT_PTX_MOD_LEU, true, SG_COMPARE_LESS, true, true},
	{GT_PTX_MOD_GTU, true, SG_COMPARE_LESS_EQUAL, false, true},
	{GT_PTX_MOD_GEU, true, SG_COMPARE_LESS, false, true},
	{GT_PTX_MOD_NUM, true, SG_COMPARE_NUMBERS, false, false},
	{GT_PTX_MOD_NAN, true, SG_COMPARE_NUMBERS, false, true},
};

/* Operations by type and enum sg_comparison. NONE: composed of others. */
static const struct {
	uint64_t types;
	bool ftz;
	enum sg_lane_op ops[5];
} comparators[] = {
#define T(type) (1ull << GT_PTX_TYPE_##type)
	{T(B16) | T(U16), false, {SG_LANE_eq_u16, SG_LANE_lt_u16}},
	{T(S16), false, {SG_LANE_eq_u16, SG_LANE_lt_s16}},
	{T(B32) | T(U32), false, {SG_LANE_eq_u32, SG_LANE_lt_u32}},
	{T(S32), false, {SG_LANE_eq_u32, SG_LANE_lt_s32}},
	{T(B64) | T(U64), false, {SG_LANE_eq_u64, SG_LANE_lt_u64}},
	{T(S64), false, {SG_LANE_eq_u64, SG_LANE_lt_s64}},
	{T(F32),
	 false,
	 {SG_LANE_eq_f32, SG_LANE_lt_f32, SG_LANE_le_f32, SG_LANE_ne_f32, SG_LANE_num_f32}},
	{T(F32),
	 true,
	 {SG_LANE_eq_ftz_f32, SG_LANE_lt_ftz_f32, SG_LANE_le_ftz_f32, SG_LANE_ne_ftz_f32,
	  SG_LANE_num_f32}},
	{T(F64),
	 false,
	 {SG_LANE_eq_f64, SG_LANE_lt_f64, SG_LANE_le_f64, SG_LANE_ne_f64, SG_LANE_num_f64}},
};

/* Returns the operation on lanes of a comparison, which it may exchange or negate; or NONE. */
static enum sg_lane_op find_comparator(struct comparison *comparison, enum gt_ptx_type type,
				       bool ftz)
{
	for (size_t i = 0; i < gt_countof(comparators); i++) {
		const enum sg_lane_op *ops = comparators[i].ops;

		if (!(comparators[i].types >> type & 1) || comparators[i].ftz != ftz)
			continue;
		if (ops[comparison->base] == SG_LANE_NONE &&
		    comparison->base == SG_COMPARE_LESS_EQUAL) {
			/* a <= b is !(b < a) */
			comparison->exchange = !comparison->exchange;
			comparison->negate = !comparison->negate;
			return ops[SG_COMPARE_LESS];
		}
		if (ops[comparison->base] == SG_LANE_NONE &&
		    comparison->base == SG_COMPARE_DIFFERENT) {
			comparison->negate = !comparison->negate;
			return ops[SG_COMPARE_EQUAL];
		}
		return ops[comparison->base];
	}
	return SG_LANE_NONE;
}

/* Reads the comparison, boolean and .ftz of a setp or set; false if a modifier is not known. */
static bool read_comparison(const struct gt_ptx_form *form, struct comparison *ret_comparison,
			    uint32_t *ret_boolean, bool *ret_ftz)
{
	bool found = false;

	*ret_boolean = SG_BOOLEAN_NONE;
	*ret_ftz = false;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;
		bool known = gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE;

		for (size_t c = 0; c < gt_countof(comparisons) && !found; c++)
			if (comparisons[c].id == id) {
				*ret_comparison = comparisons[c];
				found = known = true;
			}
		if (id == GT_PTX_MOD_AND)
			*ret_boolean = SG_BOOLEAN_AND;
		else if (id == GT_PTX_MOD_OR)
			*ret_boolean = SG_BOOLEAN_OR;
		else if (id == GT_PTX_MOD_XOR)
			*ret_boolean = SG_BOOLEAN_XOR;
		else if (id == GT_PTX_MOD_FTZ)
			*ret_ftz = true;
		else if (!known)
			return false;
	}
	return found;
}

/*
 * Decodes a comparison: its operands 1, 2 and, with a boolean, 3. The caller sets the results and
 * emits ret_step->run.
 */
static int decode_comparison(struct sg_decoder *decoder, enum gt_ptx_type type,
			     struct sg_instruction *ret_step)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	enum gt_ptx_class class = gt_ptx_type_info(type)->class;
	struct sg_instruction step = {.c = SG_SINK, .e = SG_SINK};
	enum sg_half format = sg_half_format(type);
	struct comparison comparison = {0};
	uint32_t boolean, a, b;
	bool ftz, negated = false;
	int error;

	if (!read_comparison(instruction->form, &comparison, &boolean, &ftz) ||
	    (comparison.is_float_only && class != GT_PTX_CLASS_FLOAT &&
	     class != GT_PTX_CLASS_PACKED))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != (boolean ? 4u : 3u))
		return sg_decode_bad_operand(decoder, 3);
	error = sg_decode_source(decoder, 1, type, &a);
	if (!error)
		error = sg_decode_source(decoder, 2, type, &b);
	if (!error && boolean)
		error = sg_decode_predicate(decoder, &instruction->operands[3], 3, &step.c,
					    &negated);
	if (error)
		return error;
	if (format != SG_HALF_NONE) {
		step.run = sg_run_half_compare;
		step.size = (uint8_t)format;
		step.count = comparison.base;
		step.flags = ftz ? SG_FLAG_FTZ : 0;
	} else {
		enum sg_lane_op op = find_comparator(&comparison, type, ftz);

		if (op == SG_LANE_NONE)
			return sg_decode_bad_form(decoder);
		step.run = decoder->machine->lanes->run[op];
	}
	step.a = comparison.exchange ? b : a;
	step.b = comparison.exchange ? a : b;
	step.flags |= comparison.negate ? SG_FLAG_NEGATE : 0;
	step.selector = (uint8_t)boolean;
	step.immediate = negated ? SG_FULL : 0;
	*ret_step = step;
	return 0;
}

int sg_decode_setp(struct sg_decoder *decoder)
{
	const struct gt_ptx_operand *first = sg_decode_operand(decoder, 0), *second = NULL;
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction step;
	uint32_t p, q = SG_SINK, width;
	int error;

	if (type == GT_PTX_TYPE_NONE)
		return sg_decode_bad_form(decoder);
	if (!first)
		return sg_decode_bad_operand(decoder, 0);
	if (first->kind == GT_PTX_OPERAND_PAIR && first->count == 2) {
		second = &first->items[1];
		first = &first->items[0];
	}
	error = sg_decode_destination_operand(decoder, first, 0, GT_PTX_TYPE_PRED, false, &p,
					      &width);
	if (!error && second)
		error = sg_decode_destination_operand(decoder, second, 0, GT_PTX_TYPE_PRED, false,
						      &q, &width);
	if (!error)
		error = decode_comparison(decoder, type, &step);
	if (error)
		return error;
	step.d = p;
	step.e = q;
	return sg_decode_emit_step(decoder, step.run, &step);
}

/* set of .f16x2 and .bf16x2: each half separately. */
static int decode_set_pair(struct sg_decoder *decoder, enum gt_ptx_type to)
{
	struct sg_instruction step;
	uint32_t d;
	int error;

	if (sg_type_width(to) != 4)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, to, &d);
	if (!error)
		error = decode_comparison(decoder, sg_decode_form(decoder)->types[1], &step);
	if (error)
		return error;
	step.d = d;
	step.space = (uint8_t)sg_half_format(to);
	return sg_decode_emit_step(decoder, sg_run_half_set, &step);
}

/* set: a comparison into a predicate, and a selection of 1.0 or all ones, or 0. */
int sg_decode_set(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_instruction step, select = {.c = sg_decode_temporary(decoder, 0)};
	enum gt_ptx_type to;
	uint32_t width;
	int error;

	if (form->type_count != 2)
		return sg_decode_bad_form(decoder);
	to = form->types[0];
	width = sg_type_width(to);
	if (gt_ptx_type_info(form->types[1])->class == GT_PTX_CLASS_PACKED)
		return decode_set_pair(decoder, to);
	if (width == 0 || width > 4)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, to, &select.d);
	if (!error)
		error = decode_comparison(decoder, form->types[1], &step);
	if (error)
		return error;
	step.d = select.c;
	error = sg_decode_emit_step(decoder, step.run, &step);
	if (!error)
		error = sg_decode_constant(decoder, width,
					   to == GT_PTX_TYPE_F32    ? 0x3f800000
					   : to == GT_PTX_TYPE_F16  ? 0x3c00
					   : to == GT_PTX_TYPE_BF16 ? 0x3f80
								    : UINT64_MAX,
					   &select.a);
	if (!error)
		error = sg_decode_constant(decoder, width, 0, &select.b);
	return error ? error
		     : sg_decode_emit_lanes(
			       decoder, width == 2 ? SG_LANE_selp_b16 : SG_LANE_selp_b32, &select);
}

/* ---- selections and logic -------------------------------------------------------------- */

int sg_decode_selp(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	enum gt_ptx_type type = sg_decode_type(decoder);
	uint32_t width = sg_type_width(type), a, b;
	struct sg_instruction step = {0};
	bool negated;
	int error;

	if (type == GT_PTX_TYPE_NONE || width == 0 || width > 8 ||
	    instruction->form->modifier_count != 1)
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 4)
		return sg_decode_bad_operand(decoder, 3);
	error = sg_decode_destination(decoder, 0, type, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, type, &a);
	if (!error)
		error = sg_decode_source(decoder, 2, type, &b);
	if (!error)
		error = sg_decode_predicate(decoder, &instruction->operands[3], 3, &step.c,
					    &negated);
	if (error)
		return error;
	step.a = negated ? b : a;
	step.b = negated ? a : b;
	return sg_decode_emit_lanes(decoder,
				    width == 2   ? SG_LANE_selp_b16
				    : width == 4 ? SG_LANE_selp_b32
						 : SG_LANE_selp_b64,
				    &step);
}

int sg_decode_slct(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool ftz = gt_ptx_form_has(form, GT_PTX_MOD_FTZ), is_float;
	struct sg_instruction step = {0};
	enum sg_lane_op op;
	uint32_t width;
	int error;

	if (form->type_count != 2 || form->modifier_count != 2u + ftz)
		return sg_decode_bad_form(decoder);
	is_float = form->types[1] == GT_PTX_TYPE_F32;
	width = sg_type_width(form->types[0]);
	if ((!is_float && form->types[1] != GT_PTX_TYPE_S32) || width == 0 || width > 8)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, form->types[0], &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, form->types[0], &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, form->types[0], &step.b);
	if (!error)
		error = sg_decode_source(decoder, 3, form->types[1], &step.c);
	op = !is_float ? SG_LANE_slct_b16_s32
	     : ftz     ? SG_LANE_slct_b16_f32_ftz
		       : SG_LANE_slct_b16_f32;
	op += width == 2 ? 0 : width == 4 ? 1 : 2;
	return error ? error : sg_decode_emit_lanes(decoder, op, &step);
}

int sg_decode_testp(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id tests[] = {
		GT_PTX_MOD_FINITE,     GT_PTX_MOD_INFINITE, GT_PTX_MOD_NUMBER,
		GT_PTX_MOD_NOTANUMBER, GT_PTX_MOD_NORMAL,   GT_PTX_MOD_SUBNORMAL,
	};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction step = {0};
	int error;

	while (step.selector < gt_countof(tests) && !gt_ptx_form_has(form, tests[step.selector]))
		step.selector++;
	if (step.selector == gt_countof(tests) || form->modifier_count != 2 ||
	    (type != GT_PTX_TYPE_F32 && type != GT_PTX_TYPE_F64))
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, type, &step.a);
	return error ? error
		     : sg_decode_emit_lanes(decoder,
					    type == GT_PTX_TYPE_F32 ? SG_LANE_testp_f32
								    : SG_LANE_testp_f64,
					    &step);
}

/* and, or, xor, not of predicates; of integers they are arithmetic. */
int sg_decode_logic(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	bool is_not = instruction->form->opcode == GT_PTX_OP_NOT, negated;
	struct sg_instruction step = {.a = SG_SINK, .b = SG_SINK};
	sg_run *run = instruction->form->opcode == GT_PTX_OP_AND  ? run_and_predicate
		      : instruction->form->opcode == GT_PTX_OP_OR ? run_or_predicate
		      : is_not                                    ? run_not_predicate
								  : run_xor_predicate;
	int error;

	if (sg_decode_type(decoder) != GT_PTX_TYPE_PRED)
		return sg_decode_arithmetic(decoder);
	if (instruction->operand_count != (is_not ? 2u : 3u))
		return sg_decode_bad_operand(decoder, is_not ? 1 : 2);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &step.d);
	if (!error)
		error = sg_decode_predicate(decoder, &instruction->operands[1], 1, &step.a,
					    &negated);
	if (!error && !is_not)
		error = sg_decode_predicate(decoder, &instruction->operands[2], 2, &step.b,
					    &negated);
	return error ? error : sg_decode_emit_step(decoder, run, &step);
}
