/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic that is one operation on lanes (forms.def); carries, lop3, prmt, dp2a, dp4a. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/video.h"

/* Modifiers as bits. */
enum arithmetic_modifier {
	MODIFIER_RN,
	MODIFIER_RZ,
	MODIFIER_RM,
	MODIFIER_RP,
	MODIFIER_FTZ,
	MODIFIER_SAT,
	MODIFIER_APPROX,
	MODIFIER_FULL,
	MODIFIER_LO,
	MODIFIER_HI,
	MODIFIER_WIDE,
	MODIFIER_L,
	MODIFIER_R,
	MODIFIER_WRAP,
	MODIFIER_CLAMP,
	MODIFIER_SHIFTAMT,
	MODIFIER_NAN,
	MODIFIER_ABS,
	MODIFIER_RELU,
	MODIFIER_XORSIGN,
	MODIFIER_MODES, /* not a modifier: see forms.def */
	MODIFIER_COUNT,
};

#define M(modifier) (1u << MODIFIER_##modifier)
#define T(type) (1ull << GT_PTX_TYPE_##type)

struct arithmetic_form {
	enum gt_ptx_opcode opcode;
	uint64_t types;
	uint32_t required;
	uint32_t allowed;
	enum sg_lane_op operation;
	enum sg_lane_op modes;
	const char *operands;
};

static const struct arithmetic_form forms[] = {
#define SG_FORM(opcode, types, required, allowed, operation, operands)                             \
	{GT_PTX_OP_##opcode,      types,   required, allowed, SG_LANE_##operation,                 \
	 SG_LANE_##operation + 1, operands},
#include "exec/ops/forms.def"
#undef SG_FORM
};

static const struct {
	enum gt_ptx_modifier_id id;
	enum arithmetic_modifier modifier;
	uint32_t flag; /* enum sg_flag */
} modifiers[] = {
	{GT_PTX_MOD_RN, MODIFIER_RN, 0},
	{GT_PTX_MOD_RZ, MODIFIER_RZ, SG_FLAG_RZ},
	{GT_PTX_MOD_RM, MODIFIER_RM, SG_FLAG_RM},
	{GT_PTX_MOD_RP, MODIFIER_RP, SG_FLAG_RP},
	{GT_PTX_MOD_FTZ, MODIFIER_FTZ, SG_FLAG_FTZ},
	{GT_PTX_MOD_SAT, MODIFIER_SAT, SG_FLAG_SAT},
	{GT_PTX_MOD_APPROX, MODIFIER_APPROX, 0},
	{GT_PTX_MOD_FULL, MODIFIER_FULL, 0},
	{GT_PTX_MOD_LO, MODIFIER_LO, 0},
	{GT_PTX_MOD_HI, MODIFIER_HI, 0},
	{GT_PTX_MOD_WIDE, MODIFIER_WIDE, 0},
	{GT_PTX_MOD_L, MODIFIER_L, 0},
	{GT_PTX_MOD_R, MODIFIER_R, 0},
	{GT_PTX_MOD_WRAP, MODIFIER_WRAP, 0},
	{GT_PTX_MOD_CLAMP, MODIFIER_CLAMP, 0},
	{GT_PTX_MOD_SHIFTAMT, MODIFIER_SHIFTAMT, 0},
	{GT_PTX_MOD_NAN_RESULT, MODIFIER_NAN, SG_FLAG_NAN},
	{GT_PTX_MOD_ABS, MODIFIER_ABS, SG_FLAG_ABS},
	{GT_PTX_MOD_RELU, MODIFIER_RELU, SG_FLAG_RELU},
	{GT_PTX_MOD_XORSIGN, MODIFIER_XORSIGN, SG_FLAG_XORSIGN},
};

/* Reads the modifiers of a form; false if one is not in the table. */
static bool read_modifiers(const struct gt_ptx_form *form, uint32_t *ret_modifiers,
			   uint32_t *ret_flags)
{
	*ret_modifiers = *ret_flags = 0;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;
		size_t m = 0;

		if (gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE)
			continue;
		while (m < gt_countof(modifiers) && modifiers[m].id != id)
			m++;
		if (m == gt_countof(modifiers))
			return false;
		*ret_modifiers |= 1u << modifiers[m].modifier;
		*ret_flags |= modifiers[m].flag;
	}
	return true;
}

static const struct arithmetic_form *find_form(const struct gt_ptx_form *source, uint32_t given)
{
	for (size_t i = 0; i < gt_countof(forms); i++) {
		const struct arithmetic_form *form = &forms[i];

		if (form->opcode == source->opcode && (form->types >> source->types[0] & 1) &&
		    (given & ~form->allowed & ~form->required) == 0 &&
		    (given & form->required) == form->required)
			return form;
	}
	return NULL;
}

static enum gt_ptx_type letter_type(char letter)
{
	switch (letter) {
	case 'h':
		return GT_PTX_TYPE_B16;
	case 'w':
		return GT_PTX_TYPE_B32;
	case 'l':
		return GT_PTX_TYPE_B64;
	case 'q':
		return GT_PTX_TYPE_B128;
	case 'f':
		return GT_PTX_TYPE_F32;
	case 'F':
		return GT_PTX_TYPE_F64;
	default:
		return GT_PTX_TYPE_PRED;
	}
}

/* Reads operands of the types given by letters. */
static int read_operands(struct sg_decoder *decoder, const char *letters,
			 struct sg_instruction *step)
{
	uint32_t *sources[] = {&step->a, &step->b, &step->c, &step->e};
	uint32_t count = (uint32_t)strlen(letters);
	int error;

	if (decoder->instruction->operand_count != count)
		return sg_decode_error(decoder, "'%s' takes %u operands, not %u",
				       sg_decode_form(decoder)->text, count,
				       decoder->instruction->operand_count);
	error = sg_decode_destination(decoder, 0, letter_type(letters[0]), &step->d);
	for (uint32_t i = 1; i < count && !error; i++)
		error = sg_decode_source(decoder, i, letter_type(letters[i]), sources[i - 1]);
	return error;
}

/* min and max of three: of the first two, then of the result and the third. */
static int decode_three(struct sg_decoder *decoder, const struct arithmetic_form *form,
			struct sg_instruction step)
{
	enum sg_lane_op op = (form->allowed & M(MODES)) && (step.flags & SG_FLAG_MODES)
				     ? form->modes
				     : form->operation;
	uint32_t d, third = SG_SINK;
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_F32, &d);

	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_F32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_F32, &step.b);
	if (!error)
		error = sg_decode_source(decoder, 3, GT_PTX_TYPE_F32, &third);
	step.d = sg_decode_temporary(decoder, 4);
	if (!error)
		error = sg_decode_emit_lanes(decoder, op, &step);
	step.a = step.d;
	step.b = third;
	step.d = d;
	return error ? error : sg_decode_emit_lanes(decoder, op, &step);
}

int sg_decode_arithmetic(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *source = sg_decode_form(decoder);
	struct sg_instruction step = {0};
	const struct arithmetic_form *form;
	uint32_t given;
	int error;

	if (source->type_count != 1 || !read_modifiers(source, &given, &step.flags))
		return sg_decode_bad_form(decoder);
	form = find_form(source, given);
	if (!form)
		return sg_decode_bad_form(decoder);
	if ((form->opcode == GT_PTX_OP_MIN || form->opcode == GT_PTX_OP_MAX) &&
	    source->types[0] == GT_PTX_TYPE_F32 && decoder->instruction->operand_count == 4)
		return decode_three(decoder, form, step);
	error = read_operands(decoder, form->operands, &step);
	if (error)
		return error;
	/* .approx and .full are computed as .rn, within their error. */
	return sg_decode_emit_lanes(decoder,
				    (form->allowed & M(MODES)) && (step.flags & SG_FLAG_MODES)
					    ? form->modes
					    : form->operation,
				    &step);
}

/* ---- carries --------------------------------------------------------------------------- */

int sg_decode_carry(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	bool is_wide = type == GT_PTX_TYPE_U64 || type == GT_PTX_TYPE_S64;
	bool is_signed = type == GT_PTX_TYPE_S32 || type == GT_PTX_TYPE_S64;
	bool is_high = gt_ptx_form_has(form, GT_PTX_MOD_HI);
	struct sg_instruction step = {0};
	enum sg_lane_op op;
	bool is_mad = form->opcode == GT_PTX_OP_MAD || form->opcode == GT_PTX_OP_MADC;
	int error;

	if (!is_wide && type != GT_PTX_TYPE_U32 && type != GT_PTX_TYPE_S32)
		return sg_decode_bad_form(decoder);
	if (is_mad && is_high && is_signed)
		op = is_wide ? SG_LANE_mad_hi_carry_s64 : SG_LANE_mad_hi_carry_s32;
	else if (is_mad && is_high)
		op = is_wide ? SG_LANE_mad_hi_carry_u64 : SG_LANE_mad_hi_carry_u32;
	else if (is_mad)
		op = is_wide ? SG_LANE_mad_lo_carry_u64 : SG_LANE_mad_lo_carry_u32;
	else if (form->opcode == GT_PTX_OP_ADD || form->opcode == GT_PTX_OP_ADDC)
		op = is_wide ? SG_LANE_add_carry_u64 : SG_LANE_add_carry_u32;
	else
		op = is_wide ? SG_LANE_sub_carry_u64 : SG_LANE_sub_carry_u32;
	if (gt_ptx_form_has(form, GT_PTX_MOD_CC))
		step.flags |= SG_FLAG_CARRY_OUT;
	if (form->opcode == GT_PTX_OP_ADDC || form->opcode == GT_PTX_OP_SUBC ||
	    form->opcode == GT_PTX_OP_MADC)
		step.flags |= SG_FLAG_CARRY_IN;
	error = read_operands(
		decoder, is_wide ? (is_mad ? "llll" : "lll") : (is_mad ? "wwww" : "www"), &step);
	return error ? error : sg_decode_emit_lanes(decoder, op, &step);
}

/* ---- lop3, prmt, dp2a, dp4a ------------------------------------------------------------ */

/* lop3.op.b32 d|p, a, b, c, table, {!}q: emits p = (d != 0) op q. */
static int lop3_predicate(struct sg_decoder *decoder, uint32_t d, uint32_t p)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	bool is_and = gt_ptx_form_has(instruction->form, GT_PTX_MOD_AND), negated;
	struct sg_instruction step = {.a = d, .d = p, .e = SG_SINK, .flags = SG_FLAG_NEGATE};
	int error;

	if (instruction->operand_count != 6)
		return sg_decode_bad_operand(decoder, 5);
	error = sg_decode_constant(decoder, 4, 0, &step.b);
	if (!error)
		error = sg_decode_predicate(decoder, &instruction->operands[5], 5, &step.c,
					    &negated);
	if (error)
		return error;
	step.selector = is_and ? SG_BOOLEAN_AND : SG_BOOLEAN_OR;
	step.immediate = negated ? SG_FULL : 0;
	return sg_decode_emit_lanes(decoder, SG_LANE_eq_u32, &step);
}

int sg_decode_lop3(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_form *form = instruction->form;
	bool has_boolean =
		gt_ptx_form_has(form, GT_PTX_MOD_AND) || gt_ptx_form_has(form, GT_PTX_MOD_OR);
	const struct gt_ptx_operand *first = instruction->operands;
	struct sg_instruction step = {0};
	uint32_t *sources[] = {&step.a, &step.b, &step.c}, p = 0, width;
	int error;

	if (form->modifier_count != 1u + has_boolean || form->type_count != 1 ||
	    form->types[0] != GT_PTX_TYPE_B32)
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 5u + has_boolean ||
	    instruction->operands[4].kind != GT_PTX_OPERAND_INTEGER ||
	    instruction->operands[4].integer > 255)
		return sg_decode_bad_operand(decoder, 4);
	if (has_boolean && (first->kind != GT_PTX_OPERAND_PAIR || first->count != 2))
		return sg_decode_bad_operand(decoder, 0);
	step.immediate = instruction->operands[4].integer;
	error = sg_decode_destination_operand(decoder, has_boolean ? &first->items[0] : first, 0,
					      GT_PTX_TYPE_B32, false, &step.d, &width);
	if (!error && has_boolean)
		error = sg_decode_destination_operand(decoder, &first->items[1], 0,
						      GT_PTX_TYPE_PRED, false, &p, &width);
	for (uint32_t i = 0; i < 3 && !error; i++)
		error = sg_decode_source(decoder, i + 1, GT_PTX_TYPE_B32, sources[i]);
	if (!error)
		error = sg_decode_emit_lanes(decoder, SG_LANE_lop3_b32, &step);
	return error || !has_boolean ? error : lop3_predicate(decoder, step.d, p);
}

int sg_decode_prmt(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id prmt_modes[] = {
		GT_PTX_MOD_F4E, GT_PTX_MOD_B4E, GT_PTX_MOD_RC8,
		GT_PTX_MOD_ECL, GT_PTX_MOD_ECR, GT_PTX_MOD_RC16,
	};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_instruction step = {0};
	int error;

	for (uint32_t i = 0; i < gt_countof(prmt_modes); i++)
		if (gt_ptx_form_has(form, prmt_modes[i]))
			step.selector = (uint8_t)(i + 1);
	if (form->type_count != 1 || form->types[0] != GT_PTX_TYPE_B32 ||
	    form->modifier_count != 1u + (step.selector != 0))
		return sg_decode_bad_form(decoder);
	error = read_operands(decoder, "wwww", &step);
	return error ? error : sg_decode_emit_lanes(decoder, SG_LANE_prmt_b32, &step);
}

int sg_decode_dp(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_dp2a = form->opcode == GT_PTX_OP_DP2A, a_signed, b_signed;
	struct sg_instruction step = {.selector = gt_ptx_form_has(form, GT_PTX_MOD_HI)};
	enum sg_lane_op first = is_dp2a ? SG_LANE_dp2a_uu : SG_LANE_dp4a_uu;
	int error;

	if (form->type_count != 2 || form->modifier_count != 2u + is_dp2a)
		return sg_decode_bad_form(decoder);
	for (int i = 0; i < 2; i++)
		if (form->types[i] != GT_PTX_TYPE_U32 && form->types[i] != GT_PTX_TYPE_S32)
			return sg_decode_bad_form(decoder);
	a_signed = form->types[0] == GT_PTX_TYPE_S32;
	b_signed = form->types[1] == GT_PTX_TYPE_S32;
	error = read_operands(decoder, "wwww", &step);
	return error ? error
		     : sg_decode_emit_lanes(decoder,
					    first + (a_signed ? 2 : 0) + (b_signed ? 1 : 0), &step);
}
