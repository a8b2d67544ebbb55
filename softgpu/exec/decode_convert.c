/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of cvt and of arithmetic on .f16 and .bf16. */
#include <errno.h>

#include "exec/convert.h"
#include "exec/decode.h"
#include "exec/steps.h"

#define T(type) (1ull << GT_PTX_TYPE_##type)
#define ANY8 T(U8) | T(S8) | T(B8)
#define ANY16 T(U16) | T(S16) | T(B16)
#define ANY32 T(U32) | T(S32) | T(B32)
#define ANY64 T(U64) | T(S64) | T(B64)

/* Conversions that one operation on lanes makes. Widths are those of slots. */
static const struct {
	uint64_t to, from;
	uint8_t to_width, from_width;
	enum gt_ptx_modifier_id rounding; /* UNKNOWN: none, or .rn */
	enum sg_lane_op op;
} quick[] = {
	{ANY32, T(U16), 4, 2, 0, SG_LANE_cvt_u32_u16},
	{ANY32, T(S16), 4, 2, 0, SG_LANE_cvt_s32_s16},
	{ANY64, T(U16), 8, 2, 0, SG_LANE_cvt_u64_u16},
	{ANY64, T(S16), 8, 2, 0, SG_LANE_cvt_s64_s16},
	{ANY64, T(U32), 8, 4, 0, SG_LANE_cvt_u64_u32},
	{ANY64, T(S32), 8, 4, 0, SG_LANE_cvt_s64_s32},
	{ANY32, ANY64, 4, 8, 0, SG_LANE_cvt_u32_u64},
	{ANY32, ANY32, 4, 4, 0, SG_LANE_mov_b32},
	{ANY64, ANY64, 8, 8, 0, SG_LANE_mov_b64},
	{ANY16, ANY16, 2, 2, 0, SG_LANE_mov_b16},
	{ANY16, ANY32, 2, 4, 0, SG_LANE_cvt_u16_u32},
	{ANY16, ANY64, 2, 8, 0, SG_LANE_cvt_u16_u64},
	{ANY32, T(U8), 4, 4, 0, SG_LANE_cvt_u32_u8},
	{ANY32, T(S8), 4, 4, 0, SG_LANE_cvt_s32_s8},
	{ANY32, T(U8), 4, 2, 0, SG_LANE_cvt_u32_u8_16},
	{ANY32, T(S8), 4, 2, 0, SG_LANE_cvt_s32_s8_16},
	{ANY16, T(U8), 2, 2, 0, SG_LANE_cvt_u16_u8},
	{ANY16, T(S8), 2, 2, 0, SG_LANE_cvt_s16_s8},
	{T(F32), T(S32), 4, 4, 0, SG_LANE_cvt_f32_s32},
	{T(F32), T(U32), 4, 4, 0, SG_LANE_cvt_f32_u32},
	{T(F32), T(U16), 4, 2, 0, SG_LANE_cvt_f32_u16},
	{T(F32), T(S16), 4, 2, 0, SG_LANE_cvt_f32_s16},
	{T(F32), T(S64), 4, 8, 0, SG_LANE_cvt_f32_s64},
	{T(F32), T(U64), 4, 8, 0, SG_LANE_cvt_f32_u64},
	{T(F64), T(S32), 8, 4, 0, SG_LANE_cvt_f64_s32},
	{T(F64), T(U32), 8, 4, 0, SG_LANE_cvt_f64_u32},
	{T(F64), T(S64), 8, 8, 0, SG_LANE_cvt_f64_s64},
	{T(F64), T(U64), 8, 8, 0, SG_LANE_cvt_f64_u64},
	{T(F64), T(F32), 8, 4, 0, SG_LANE_cvt_f64_f32},
	{T(F32), T(F64), 4, 8, 0, SG_LANE_cvt_f32_f64},
	{T(F32), T(F16), 4, 2, 0, SG_LANE_cvt_f32_f16},
	{T(F16), T(F32), 2, 4, 0, SG_LANE_cvt_f16_f32},
	{T(F32), T(BF16), 4, 2, 0, SG_LANE_cvt_f32_bf16},
	{T(BF16), T(F32), 2, 4, 0, SG_LANE_cvt_bf16_f32},
	{T(S32), T(F32), 4, 4, GT_PTX_MOD_RZI, SG_LANE_cvt_rzi_s32_f32},
	{T(U32), T(F32), 4, 4, GT_PTX_MOD_RZI, SG_LANE_cvt_rzi_u32_f32},
	{T(F32), T(F32), 4, 4, GT_PTX_MOD_RMI, SG_LANE_cvt_rmi_f32},
	{T(F32), T(F32), 4, 4, GT_PTX_MOD_RPI, SG_LANE_cvt_rpi_f32},
	{T(F32), T(F32), 4, 4, GT_PTX_MOD_RZI, SG_LANE_cvt_rzi_f32},
	{T(F32), T(F32), 4, 4, GT_PTX_MOD_RNI, SG_LANE_cvt_rni_f32},
};

struct words {
	enum gt_ptx_modifier_id rounding;
	uint32_t flags;
	uint32_t special; /* SG_CONVERT_… */
};

static bool read_words(const struct gt_ptx_form *form, struct words *words)
{
	*words = (struct words){0};
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		switch (id) {
		case GT_PTX_MOD_RNI:
		case GT_PTX_MOD_RZI:
		case GT_PTX_MOD_RMI:
		case GT_PTX_MOD_RPI:
			words->special |= SG_CONVERT_WHOLE;
			words->rounding = id;
			words->flags |= id == GT_PTX_MOD_RZI   ? SG_FLAG_RZ
					: id == GT_PTX_MOD_RMI ? SG_FLAG_RM
					: id == GT_PTX_MOD_RPI ? SG_FLAG_RP
							       : 0;
			break;
		case GT_PTX_MOD_RN:
			break;
		case GT_PTX_MOD_RZ:
		case GT_PTX_MOD_RM:
		case GT_PTX_MOD_RP:
			words->rounding = id;
			words->flags |= id == GT_PTX_MOD_RZ   ? SG_FLAG_RZ
					: id == GT_PTX_MOD_RM ? SG_FLAG_RM
							      : SG_FLAG_RP;
			break;
		case GT_PTX_MOD_FTZ:
			words->flags |= SG_FLAG_FTZ;
			break;
		case GT_PTX_MOD_SAT:
			words->flags |= SG_FLAG_SAT;
			break;
		case GT_PTX_MOD_RELU:
			words->flags |= SG_FLAG_RELU;
			break;
		case GT_PTX_MOD_SATFINITE:
			words->special |= SG_CONVERT_FINITE;
			break;
		default:
			if (gt_ptx_modifier_type(id) == GT_PTX_TYPE_NONE)
				return false;
		}
	}
	return true;
}

static bool is_number(enum gt_ptx_type type)
{
	switch (type) {
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_BF16:
	case GT_PTX_TYPE_F32:
	case GT_PTX_TYPE_F64:
		return true;
	default:
		return gt_ptx_type_info(type)->bits >= 8 &&
		       (gt_ptx_type_info(type)->class == GT_PTX_CLASS_SIGNED ||
			gt_ptx_type_info(type)->class == GT_PTX_CLASS_UNSIGNED);
	}
}

/* cvt.rn.f16x2.f32 d, a, b */
static int decode_packed(struct sg_decoder *decoder, const struct words *words)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum sg_half format = sg_half_format(form->types[0]);
	struct sg_instruction *step;
	uint32_t d, a, b;
	int error;

	if (form->types[1] != GT_PTX_TYPE_F32 ||
	    (format != SG_HALF_F16X2 && format != SG_HALF_BF16X2))
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, form->types[0], &d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_F32, &a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_F32, &b);
	if (error)
		return error;
	step = sg_decode_emit(decoder, sg_run_convert_packed);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = a;
	step->b = b;
	step->flags = words->flags;
	step->immediate = words->special;
	step->selector = format == SG_HALF_F16X2 ? GT_PTX_TYPE_F16 : GT_PTX_TYPE_BF16;
	return 0;
}

static enum sg_lane_op find_quick(const struct gt_ptx_form *form, const struct words *words,
				  uint32_t to_width, uint32_t from_width)
{
	if (words->flags & ~(SG_FLAG_RZ | SG_FLAG_RM | SG_FLAG_RP) ||
	    words->special & SG_CONVERT_FINITE)
		return SG_LANE_NONE;
	for (size_t i = 0; i < gt_countof(quick); i++)
		if ((quick[i].to >> form->types[0] & 1) && (quick[i].from >> form->types[1] & 1) &&
		    quick[i].to_width == to_width && quick[i].from_width == from_width &&
		    quick[i].rounding == words->rounding)
			return quick[i].op;
	return SG_LANE_NONE;
}

int sg_decode_cvt(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_form *form = instruction->form;
	struct sg_instruction *step;
	struct words words;
	uint32_t d, a, to_width, from_width;
	enum sg_lane_op op;
	int error;

	if (gt_ptx_form_has(form, GT_PTX_MOD_PACK))
		return sg_decode_cvt_pack(decoder);
	if (form->type_count == 2 && (form->types[0] == GT_PTX_TYPE_TF32 ||
				      sg_is_small(form->types[0]) || sg_is_small(form->types[1])))
		return sg_decode_cvt_small(decoder);
	if (form->type_count != 2 || !read_words(form, &words))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count == 3)
		return decode_packed(decoder, &words);
	if (!is_number(form->types[0]) || !is_number(form->types[1]))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 2)
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_destination_operand(decoder, &instruction->operands[0], 0, form->types[0],
					      true, &d, &to_width);
	if (!error)
		error = sg_decode_source_operand(decoder, &instruction->operands[1], 1,
						 form->types[1], true, &a, &from_width);
	if (error)
		return error;
	op = find_quick(form, &words, to_width, from_width);
	step = op != SG_LANE_NONE ? sg_decode_emit_lane(decoder, op)
				  : sg_decode_emit(decoder, sg_run_convert);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = a;
	if (op != SG_LANE_NONE)
		return 0;
	step->flags = words.flags;
	step->immediate = words.special;
	step->selector = (uint8_t)form->types[0];
	step->space = (uint8_t)form->types[1];
	step->size = (uint8_t)from_width;
	step->count = (uint8_t)to_width;
	return 0;
}

/* ---- .f16 and .bf16 -------------------------------------------------------------------- */

static const struct {
	enum gt_ptx_opcode opcode;
	enum sg_half_operation operation;
	uint32_t sources;
} half_operations[] = {
	{GT_PTX_OP_ADD, SG_HALF_ADD, 2}, {GT_PTX_OP_SUB, SG_HALF_SUB, 2},
	{GT_PTX_OP_MUL, SG_HALF_MUL, 2}, {GT_PTX_OP_FMA, SG_HALF_FMA, 3},
	{GT_PTX_OP_NEG, SG_HALF_NEG, 1}, {GT_PTX_OP_ABS, SG_HALF_ABS, 1},
	{GT_PTX_OP_MIN, SG_HALF_MIN, 2}, {GT_PTX_OP_MAX, SG_HALF_MAX, 2},
	{GT_PTX_OP_EX2, SG_HALF_EX2, 1}, {GT_PTX_OP_TANH, SG_HALF_TANH, 1},
};

/* The flags of a form on halves; false: a word that none of them has. */
static bool read_half_words(const struct gt_ptx_form *form, uint32_t *ret_flags)
{
	*ret_flags = 0;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		switch (form->modifiers[i].id) {
		case GT_PTX_MOD_FTZ:
			*ret_flags |= SG_FLAG_FTZ;
			break;
		case GT_PTX_MOD_SAT:
			*ret_flags |= SG_FLAG_SAT;
			break;
		case GT_PTX_MOD_RELU:
			*ret_flags |= SG_FLAG_RELU;
			break;
		case GT_PTX_MOD_NAN_RESULT:
			*ret_flags |= SG_FLAG_NAN;
			break;
		case GT_PTX_MOD_XORSIGN:
			*ret_flags |= SG_FLAG_XORSIGN;
			break;
		case GT_PTX_MOD_ABS:
			*ret_flags |= SG_FLAG_ABS;
			break;
		case GT_PTX_MOD_RN:
		case GT_PTX_MOD_APPROX:
			break;
		default:
			if (gt_ptx_modifier_type(form->modifiers[i].id) == GT_PTX_TYPE_NONE)
				return false;
		}
	}
	return true;
}

/* The operation on lanes for what has no flags; NONE: there is none. */
static enum sg_lane_op quick_half(enum sg_half_operation operation, enum sg_half format,
				  uint32_t flags)
{
	static const enum sg_lane_op table[][4] = {
		[SG_HALF_F16] = {SG_LANE_add_f16, SG_LANE_sub_f16, SG_LANE_mul_f16,
				 SG_LANE_fma_f16},
		[SG_HALF_BF16] = {SG_LANE_add_bf16, SG_LANE_sub_bf16, SG_LANE_mul_bf16,
				  SG_LANE_fma_bf16},
		[SG_HALF_F16X2] = {SG_LANE_add_f16x2, SG_LANE_sub_f16x2, SG_LANE_mul_f16x2,
				   SG_LANE_fma_f16x2},
		[SG_HALF_BF16X2] = {SG_LANE_add_bf16x2, SG_LANE_sub_bf16x2, SG_LANE_mul_bf16x2,
				    SG_LANE_fma_bf16x2},
	};

	return flags || operation > SG_HALF_FMA ? SG_LANE_NONE : table[format][operation];
}

int sg_decode_half(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	uint32_t slots[4] = {0}, flags, row = 0;
	struct sg_instruction *step;
	enum sg_lane_op op;
	int error;

	while (row < gt_countof(half_operations) && half_operations[row].opcode != form->opcode)
		row++;
	if (row == gt_countof(half_operations) || form->type_count != 1 ||
	    !read_half_words(form, &flags))
		return sg_decode_bad_form(decoder);
	if (decoder->instruction->operand_count != half_operations[row].sources + 1)
		return sg_decode_bad_operand(decoder, half_operations[row].sources);
	error = sg_decode_destination(decoder, 0, form->types[0], &slots[0]);
	for (uint32_t i = 1; i <= half_operations[row].sources && !error; i++)
		error = sg_decode_source(decoder, i, form->types[0], &slots[i]);
	if (error)
		return error;
	op = quick_half(half_operations[row].operation, sg_half_format(form->types[0]), flags);
	step = op != SG_LANE_NONE ? sg_decode_emit_lane(decoder, op)
				  : sg_decode_emit(decoder, sg_run_half);
	if (!step)
		return -ENOMEM;
	step->d = slots[0];
	step->a = slots[1];
	step->b = slots[2];
	step->c = slots[3];
	step->flags = flags;
	step->selector = (uint8_t)half_operations[row].operation;
	step->size = (uint8_t)sg_half_format(form->types[0]);
	return 0;
}
