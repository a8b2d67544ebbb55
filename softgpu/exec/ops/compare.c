/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Comparisons, selections and logic of predicates: setp, set, testp, selp, slct, and … not. */
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

/* A comparison as one of five, with operands exchanged or the result turned round. */
struct comparison {
	enum gt_ptx_modifier_id id;
	bool is_float_only;
	uint8_t base; /* 0 equal, 1 less, 2 less or equal, 3 different, 4 both are numbers */
	bool exchange;
	bool negate;
};

static const struct comparison comparisons[] = {
	{GT_PTX_MOD_EQ, false, 0, false, false}, {GT_PTX_MOD_NE, false, 3, false, false},
	{GT_PTX_MOD_LT, false, 1, false, false}, {GT_PTX_MOD_LE, false, 2, false, false},
	{GT_PTX_MOD_GT, false, 1, true, false},  {GT_PTX_MOD_GE, false, 2, true, false},
	{GT_PTX_MOD_LO, false, 1, false, false}, {GT_PTX_MOD_LS, false, 2, false, false},
	{GT_PTX_MOD_HI, false, 1, true, false},  {GT_PTX_MOD_HS, false, 2, true, false},
	{GT_PTX_MOD_EQU, true, 3, false, true},  {GT_PTX_MOD_NEU, true, 0, false, true},
	{GT_PTX_MOD_LTU, true, 2, true, true},   {GT_PTX_MOD_LEU, true, 1, true, true},
	{GT_PTX_MOD_GTU, true, 2, false, true},  {GT_PTX_MOD_GEU, true, 1, false, true},
	{GT_PTX_MOD_NUM, true, 4, false, false}, {GT_PTX_MOD_NAN, true, 4, false, true},
};

/* Operations by type: equal, less, less or equal, different, numbers. NONE: made of others. */
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

/* Emits the comparison of a and b of a type, all but its results and boolean. */
static int emit_comparison(struct sg_decoder *decoder, struct comparison comparison,
			   enum gt_ptx_type type, bool ftz, uint32_t a, uint32_t b,
			   struct sg_instruction **ret_step)
{
	struct sg_instruction *step = NULL;
	enum sg_lane_op op = SG_LANE_NONE;

	if (sg_half_format(type) != SG_HALF_NONE) {
		step = sg_decode_emit(decoder, sg_run_half_compare);
		if (!step)
			return -ENOMEM;
		step->size = (uint8_t)sg_half_format(type);
		step->count = comparison.base;
		step->flags |= ftz ? SG_FLAG_FTZ : 0;
	}
	for (size_t i = 0; i < gt_countof(comparators) && !step; i++) {
		if (!(comparators[i].types >> type & 1) || comparators[i].ftz != ftz)
			continue;
		op = comparators[i].ops[comparison.base];
		if (op == SG_LANE_NONE && comparison.base == 2) {
			/* a <= b is !(b < a) */
			op = comparators[i].ops[1];
			comparison.exchange = !comparison.exchange;
			comparison.negate = !comparison.negate;
		} else if (op == SG_LANE_NONE && comparison.base == 3) {
			op = comparators[i].ops[0];
			comparison.negate = !comparison.negate;
		}
	}
	if (!step && op == SG_LANE_NONE)
		return sg_decode_bad_form(decoder);
	if (!step)
		step = sg_decode_emit_lane(decoder, op);
	if (!step)
		return -ENOMEM;
	step->a = comparison.exchange ? b : a;
	step->b = comparison.exchange ? a : b;
	step->flags |= comparison.negate ? SG_FLAG_NEGATE : 0;
	*ret_step = step;
	return 0;
}

/* The comparison, boolean and .ftz of a setp or set; false if there is another word. */
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

/* Operands 1, 2 and, with a boolean, 3; emits the comparison. */
static int decode_comparison(struct sg_decoder *decoder, enum gt_ptx_type type,
			     struct sg_instruction **ret_step)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct comparison comparison = {0};
	uint32_t boolean, a, b, c = SG_SINK;
	bool ftz, negated = false;
	int error;

	if (!read_comparison(instruction->form, &comparison, &boolean, &ftz))
		return sg_decode_bad_form(decoder);
	if (comparison.is_float_only && gt_ptx_type_info(type)->class != GT_PTX_CLASS_FLOAT &&
	    gt_ptx_type_info(type)->class != GT_PTX_CLASS_PACKED)
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != (boolean ? 4u : 3u))
		return sg_decode_bad_operand(decoder, 3);
	error = sg_decode_source(decoder, 1, type, &a);
	if (!error)
		error = sg_decode_source(decoder, 2, type, &b);
	if (!error && boolean)
		error = sg_decode_predicate(decoder, &instruction->operands[3], 3, &c, &negated);
	if (!error)
		error = emit_comparison(decoder, comparison, type, ftz, a, b, ret_step);
	if (error)
		return error;
	(*ret_step)->c = c;
	(*ret_step)->selector = (uint8_t)boolean;
	(*ret_step)->immediate = negated ? SG_FULL : 0;
	return 0;
}

int sg_decode_setp(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_operand *first, *second = NULL;
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction *step;
	uint32_t p, q = SG_SINK, width;
	int error;

	if (type == GT_PTX_TYPE_NONE)
		return sg_decode_bad_form(decoder);
	if (!instruction->operand_count)
		return sg_decode_bad_operand(decoder, 0);
	first = &instruction->operands[0];
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
	step->d = p;
	step->e = q;
	return 0;
}

/* set of .f16x2 and .bf16x2: each half by itself. */
static int set_pair(struct sg_decoder *decoder, enum gt_ptx_type to)
{
	struct sg_instruction *step;
	uint32_t d;
	int error;

	if (sg_type_width(to) != 4)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, to, &d);
	if (!error)
		error = decode_comparison(decoder, sg_decode_form(decoder)->types[1], &step);
	if (error)
		return error;
	step->run = sg_run_half_set;
	step->d = d;
	step->space = (uint8_t)sg_half_format(to);
	return 0;
}

int sg_decode_set(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_instruction *step;
	enum gt_ptx_type to;
	uint32_t d, yes, no, width;
	int error;

	if (form->type_count != 2)
		return sg_decode_bad_form(decoder);
	to = form->types[0];
	width = sg_type_width(to);
	if (gt_ptx_type_info(form->types[1])->class == GT_PTX_CLASS_PACKED)
		return set_pair(decoder, to);
	if (width == 0 || width > 4)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, to, &d);
	if (!error)
		error = decode_comparison(decoder, form->types[1], &step);
	if (error)
		return error;
	step->d = sg_decode_temporary(decoder, 0);
	error = sg_decode_constant(decoder, width,
				   to == GT_PTX_TYPE_F32    ? 0x3f800000
				   : to == GT_PTX_TYPE_F16  ? 0x3c00
				   : to == GT_PTX_TYPE_BF16 ? 0x3f80
							    : UINT64_MAX,
				   &yes);
	if (!error)
		error = sg_decode_constant(decoder, width, 0, &no);
	if (error)
		return error;
	step = sg_decode_emit_lane(decoder, width == 2 ? SG_LANE_selp_b16 : SG_LANE_selp_b32);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = yes;
	step->b = no;
	step->c = sg_decode_temporary(decoder, 0);
	return 0;
}

/* ---- selections and logic -------------------------------------------------------------- */

int sg_decode_selp(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	enum gt_ptx_type type = sg_decode_type(decoder);
	uint32_t width = sg_type_width(type), d, a, b, p;
	struct sg_instruction *step;
	bool negated;
	int error;

	if (type == GT_PTX_TYPE_NONE || width == 0 || width > 8 ||
	    instruction->form->modifier_count != 1)
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 4)
		return sg_decode_bad_operand(decoder, 3);
	error = sg_decode_destination(decoder, 0, type, &d);
	if (!error)
		error = sg_decode_source(decoder, 1, type, &a);
	if (!error)
		error = sg_decode_source(decoder, 2, type, &b);
	if (!error)
		error = sg_decode_predicate(decoder, &instruction->operands[3], 3, &p, &negated);
	if (error)
		return error;
	step = sg_decode_emit_lane(decoder, width == 2   ? SG_LANE_selp_b16
					    : width == 4 ? SG_LANE_selp_b32
							 : SG_LANE_selp_b64);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = negated ? b : a;
	step->b = negated ? a : b;
	step->c = p;
	return 0;
}

int sg_decode_slct(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool ftz = gt_ptx_form_has(form, GT_PTX_MOD_FTZ), is_float;
	enum sg_lane_op op;
	struct sg_instruction *step;
	uint32_t width, d, a, b, c;
	int error;

	if (form->type_count != 2 || form->modifier_count != 2u + ftz)
		return sg_decode_bad_form(decoder);
	is_float = form->types[1] == GT_PTX_TYPE_F32;
	width = sg_type_width(form->types[0]);
	if ((!is_float && form->types[1] != GT_PTX_TYPE_S32) || width == 0 || width > 8)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, form->types[0], &d);
	if (!error)
		error = sg_decode_source(decoder, 1, form->types[0], &a);
	if (!error)
		error = sg_decode_source(decoder, 2, form->types[0], &b);
	if (!error)
		error = sg_decode_source(decoder, 3, form->types[1], &c);
	if (error)
		return error;
	op = !is_float ? SG_LANE_slct_b16_s32
	     : ftz     ? SG_LANE_slct_b16_f32_ftz
		       : SG_LANE_slct_b16_f32;
	op += width == 2 ? 0 : width == 4 ? 1 : 2;
	step = sg_decode_emit_lane(decoder, op);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = a;
	step->b = b;
	step->c = c;
	return 0;
}

int sg_decode_testp(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id tests[] = {
		GT_PTX_MOD_FINITE,     GT_PTX_MOD_INFINITE, GT_PTX_MOD_NUMBER,
		GT_PTX_MOD_NOTANUMBER, GT_PTX_MOD_NORMAL,   GT_PTX_MOD_SUBNORMAL,
	};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction *step;
	uint32_t test = 0, p, a;
	int error;

	while (test < gt_countof(tests) && !gt_ptx_form_has(form, tests[test]))
		test++;
	if (test == gt_countof(tests) || form->modifier_count != 2 ||
	    (type != GT_PTX_TYPE_F32 && type != GT_PTX_TYPE_F64))
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &p);
	if (!error)
		error = sg_decode_source(decoder, 1, type, &a);
	if (error)
		return error;
	step = sg_decode_emit_lane(decoder,
				   type == GT_PTX_TYPE_F32 ? SG_LANE_testp_f32 : SG_LANE_testp_f64);
	if (!step)
		return -ENOMEM;
	step->d = p;
	step->a = a;
	step->selector = (uint8_t)test;
	return 0;
}

/* and, or, xor, not: of predicates here, of numbers as arithmetic. */
int sg_decode_logic(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	bool is_not = instruction->form->opcode == GT_PTX_OP_NOT, negated;
	struct sg_instruction *step;
	uint32_t p, a = SG_SINK, b = SG_SINK;
	int error;

	if (sg_decode_type(decoder) != GT_PTX_TYPE_PRED)
		return sg_decode_arithmetic(decoder);
	if (instruction->operand_count != (is_not ? 2u : 3u))
		return sg_decode_bad_operand(decoder, is_not ? 1 : 2);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &p);
	if (!error)
		error = sg_decode_predicate(decoder, &instruction->operands[1], 1, &a, &negated);
	if (!error && !is_not)
		error = sg_decode_predicate(decoder, &instruction->operands[2], 2, &b, &negated);
	if (error)
		return error;
	step = sg_decode_emit(decoder,
			      instruction->form->opcode == GT_PTX_OP_AND  ? run_and_predicate
			      : instruction->form->opcode == GT_PTX_OP_OR ? run_or_predicate
			      : is_not                                    ? run_not_predicate
									  : run_xor_predicate);
	if (!step)
		return -ENOMEM;
	step->d = p;
	step->a = a;
	step->b = b;
	return 0;
}
