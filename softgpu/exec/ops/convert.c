/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conversions between numeric types (cvt), one lane at a time; lanes/convert.def has the fast ones,
 * convert_small.c those of types below 16 bits.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/convert.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

/* The value to be converted. */
struct convert_source {
	bool is_float;
	bool negative; /* of an integer */
	uint64_t magnitude;
	double value; /* exact: every format but .f64 itself is narrower */
};

static struct convert_source integer_number(uint64_t bits, const struct gt_ptx_type_info *type)
{
	struct convert_source number = {0};

	if (type->bits < 64)
		bits &= (1ull << type->bits) - 1;
	number.negative = type->class == GT_PTX_CLASS_SIGNED && (bits >> (type->bits - 1) & 1);
	if (number.negative && type->bits < 64)
		bits |= UINT64_MAX << type->bits;
	number.magnitude = number.negative ? -bits : bits;
	return number;
}

static struct convert_source read_number(uint64_t bits, enum gt_ptx_type type, uint32_t flags)
{
	struct convert_source number = {.is_float = true};

	switch (type) {
	case GT_PTX_TYPE_F64:
		number.value = sg_float_f64(bits);
		return number;
	case GT_PTX_TYPE_F32:
		number.value = sg_float_f32(flags & SG_FLAG_FTZ ? sg_flush_bits((uint32_t)bits)
								: (uint32_t)bits);
		return number;
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_BF16:
		number.value = sg_half_to_double((uint16_t)bits, type == GT_PTX_TYPE_BF16);
		return number;
	default:
		return integer_number(bits, gt_ptx_type_info(type));
	}
}

/* Rounds to an integral value by flags. */
static double round_whole(double value, uint32_t flags)
{
	if (flags & SG_FLAG_RZ)
		return trunc(value);
	if (flags & SG_FLAG_RM)
		return floor(value);
	return flags & SG_FLAG_RP ? ceil(value) : rint(value);
}

/* ---- to integers ----------------------------------------------------------------------- */

static uint64_t whole_to_integer(double value, const struct gt_ptx_type_info *type, bool is_wide)
{
	bool is_signed = type->class == GT_PTX_CLASS_SIGNED;
	double limit = ldexp(1, (int)type->bits - is_signed);
	uint64_t max = is_signed ? (1ull << (type->bits - 1)) - 1 : UINT64_MAX >> (64 - type->bits);

	if (isnan(value))
		return is_wide ? 1ull << (type->bits - 1) : 0;
	if (value >= limit)
		return max;
	if (!is_signed)
		return value <= 0 ? 0 : (uint64_t)value;
	if (value <= -limit)
		return -(1ull << (type->bits - 1));
	return (uint64_t)(int64_t)value;
}

static uint64_t integer_to_integer(const struct convert_source *number,
				   const struct gt_ptx_type_info *type, bool saturate)
{
	bool is_signed = type->class == GT_PTX_CLASS_SIGNED;
	uint64_t max = is_signed ? (1ull << (type->bits - 1)) - 1 : UINT64_MAX >> (64 - type->bits);

	if (!saturate)
		return number->negative ? -number->magnitude : number->magnitude;
	if (!number->negative)
		return number->magnitude > max ? max : number->magnitude;
	if (!is_signed)
		return 0;
	return -(number->magnitude > max + 1 ? max + 1 : number->magnitude);
}

/* ---- to floating point ----------------------------------------------------------------- */

/* Converts 64 bits to a double with a given rounding. */
static double integer_to_double(const struct convert_source *number, uint32_t flags)
{
	uint64_t magnitude = number->magnitude, rest, middle;
	uint32_t shift = magnitude >> 53 ? 11 - (uint32_t)__builtin_clzll(magnitude) : 0;
	bool up = false;
	double value;

	if (shift) {
		rest = magnitude & ((1ull << shift) - 1);
		middle = 1ull << (shift - 1);
		magnitude >>= shift;
		if (flags & SG_FLAG_RM)
			up = number->negative && rest;
		else if (flags & SG_FLAG_RP)
			up = !number->negative && rest;
		else if (!(flags & SG_FLAG_RZ))
			up = rest > middle || (rest == middle && (magnitude & 1));
	}
	value = ldexp((double)(magnitude + up), (int)shift);
	return number->negative ? -value : value;
}

/* Converts 64 bits to a double, rounded to odd: to be rounded once more. */
static double integer_to_odd(const struct convert_source *number)
{
	uint64_t magnitude = number->magnitude;
	uint32_t shift = magnitude >> 53 ? 11 - (uint32_t)__builtin_clzll(magnitude) : 0;
	bool lost = shift && (magnitude & ((1ull << shift) - 1));
	double value = ldexp((double)((magnitude >> shift) | lost), (int)shift);

	return number->negative ? -value : value;
}

static uint64_t finish_f32(uint32_t bits, uint32_t flags)
{
	float value = sg_float_f32(bits);

	if (flags & SG_FLAG_FTZ)
		value = sg_flush_f32(value);
	if (flags & SG_FLAG_SAT)
		value = sg_saturate_f32(value);
	if ((flags & SG_FLAG_RELU) && value < 0)
		value = 0;
	return sg_bits_f32(sg_canonical_f32(value));
}

static uint64_t finish_half(uint16_t bits, bool bfloat, uint32_t flags, bool finite)
{
	uint16_t infinity = bfloat ? 0x7f80 : 0x7c00, one = bfloat ? 0x3f80 : 0x3c00;
	bool is_nan = (bits & 0x7fff) > infinity;

	if ((flags & SG_FLAG_SAT) && (is_nan || (bits & 0x8000)))
		return 0;
	if ((flags & SG_FLAG_SAT) && bits > one)
		return one;
	if ((flags & SG_FLAG_RELU) && !is_nan && (bits & 0x8000))
		return 0;
	if (finite && (bits & 0x7fff) == infinity)
		return bits - 1;
	return bits;
}

static uint64_t to_float(const struct convert_source *number, enum gt_ptx_type type, uint32_t flags,
			 bool whole, bool finite)
{
	double value = number->is_float ? number->value : integer_to_odd(number);

	if (whole)
		value = round_whole(value, flags);
	switch (type) {
	case GT_PTX_TYPE_F64:
		if (!number->is_float)
			value = integer_to_double(number, flags);
		return sg_bits_f64(flags & SG_FLAG_SAT ? sg_saturate_f64(value) : value);
	case GT_PTX_TYPE_F32:
		return finish_f32(sg_round_double(value, flags, 8, 23), flags);
	default:
		return finish_half(sg_half_from_double(value, type == GT_PTX_TYPE_BF16, flags),
				   type == GT_PTX_TYPE_BF16, flags, finite);
	}
}

uint64_t sg_convert(uint64_t bits, enum gt_ptx_type from, enum gt_ptx_type to, uint32_t flags,
		    uint32_t special)
{
	const struct gt_ptx_type_info *type = gt_ptx_type_info(to);
	struct convert_source number = read_number(bits, from, flags);

	if (type->class == GT_PTX_CLASS_FLOAT)
		return to_float(&number, to, flags, special & SG_CONVERT_WHOLE,
				special & SG_CONVERT_FINITE);
	if (number.is_float)
		return whole_to_integer(round_whole(number.value, flags), type,
					from == GT_PTX_TYPE_F64 || type->bits == 64);
	return integer_to_integer(&number, type, flags & SG_FLAG_SAT);
}

/* Truncates to the bits of a type and extends to 64 bits by its sign. */
static uint64_t extend(uint64_t bits, const struct gt_ptx_type_info *type)
{
	if (type->bits >= 64)
		return bits;
	bits &= (1ull << type->bits) - 1;
	if (type->class == GT_PTX_CLASS_SIGNED && (bits >> (type->bits - 1) & 1))
		bits |= UINT64_MAX << type->bits;
	return bits;
}

/* space: type of the source, selector: of the result; size, count: bytes of their lanes. */
static const struct sg_instruction *run_convert(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	enum gt_ptx_type to = (enum gt_ptx_type)at->selector;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t bits = 0;

		memcpy(&bits, warp->frame + at->a + lane * at->size, at->size);
		bits = extend(sg_convert(bits, (enum gt_ptx_type)at->space, to, at->flags,
					 (uint32_t)at->immediate),
			      gt_ptx_type_info(to));
		memcpy(warp->frame + at->d + lane * at->count, &bits, at->count);
	}
	return at + 1;
}

/* Converts two .f32 to a pair; a: the upper half; selector: the type of a half. */
static const struct sg_instruction *run_convert_packed(struct sg_warp *warp,
						       const struct sg_instruction *at)
{
	const uint32_t *a = (uint32_t *)(void *)(warp->frame + at->a);
	const uint32_t *b = (uint32_t *)(void *)(warp->frame + at->b);
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);
	enum gt_ptx_type to = (enum gt_ptx_type)at->selector;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t high = sg_convert(a[lane], GT_PTX_TYPE_F32, to, at->flags,
					   (uint32_t)at->immediate);
		uint64_t low = sg_convert(b[lane], GT_PTX_TYPE_F32, to, at->flags,
					  (uint32_t)at->immediate);

		d[lane] = (uint32_t)(high << 16 | low);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

#define T(type) (1ull << GT_PTX_TYPE_##type)
#define ANY8 T(U8) | T(S8) | T(B8)
#define ANY16 T(U16) | T(S16) | T(B16)
#define ANY32 T(U32) | T(S32) | T(B32)
#define ANY64 T(U64) | T(S64) | T(B64)

/* Conversions that are one operation on lanes. Widths are those of slots. */
static const struct {
	uint64_t to, from;
	uint8_t to_width, from_width;
	enum gt_ptx_modifier_id rounding; /* UNKNOWN: none, or .rn */
	enum sg_lane_op op;
} lane_conversions[] = {
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

struct convert_modifiers {
	enum gt_ptx_modifier_id rounding;
	uint32_t flags;
	uint32_t special; /* SG_CONVERT_… */
};

static bool read_modifiers(const struct gt_ptx_form *form, struct convert_modifiers *modifiers)
{
	*modifiers = (struct convert_modifiers){0};
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		switch (id) {
		case GT_PTX_MOD_RNI:
		case GT_PTX_MOD_RZI:
		case GT_PTX_MOD_RMI:
		case GT_PTX_MOD_RPI:
			modifiers->special |= SG_CONVERT_WHOLE;
			modifiers->rounding = id;
			modifiers->flags |= id == GT_PTX_MOD_RZI   ? SG_FLAG_RZ
					    : id == GT_PTX_MOD_RMI ? SG_FLAG_RM
					    : id == GT_PTX_MOD_RPI ? SG_FLAG_RP
								   : 0;
			break;
		case GT_PTX_MOD_RN:
			break;
		case GT_PTX_MOD_RZ:
		case GT_PTX_MOD_RM:
		case GT_PTX_MOD_RP:
			modifiers->rounding = id;
			modifiers->flags |= id == GT_PTX_MOD_RZ   ? SG_FLAG_RZ
					    : id == GT_PTX_MOD_RM ? SG_FLAG_RM
								  : SG_FLAG_RP;
			break;
		case GT_PTX_MOD_FTZ:
			modifiers->flags |= SG_FLAG_FTZ;
			break;
		case GT_PTX_MOD_SAT:
			modifiers->flags |= SG_FLAG_SAT;
			break;
		case GT_PTX_MOD_RELU:
			modifiers->flags |= SG_FLAG_RELU;
			break;
		case GT_PTX_MOD_SATFINITE:
			modifiers->special |= SG_CONVERT_FINITE;
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
static int decode_packed(struct sg_decoder *decoder, const struct convert_modifiers *modifiers)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum sg_half format = sg_half_format(form->types[0]);
	struct sg_instruction step = {.flags = modifiers->flags, .immediate = modifiers->special};
	int error;

	if (form->types[1] != GT_PTX_TYPE_F32 ||
	    (format != SG_HALF_F16X2 && format != SG_HALF_BF16X2))
		return sg_decode_bad_form(decoder);
	step.selector = format == SG_HALF_F16X2 ? GT_PTX_TYPE_F16 : GT_PTX_TYPE_BF16;
	error = sg_decode_destination(decoder, 0, form->types[0], &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_F32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_F32, &step.b);
	return error ? error : sg_decode_emit_step(decoder, run_convert_packed, &step);
}

static enum sg_lane_op find_lane_conversion(const struct gt_ptx_form *form,
					    const struct convert_modifiers *modifiers,
					    uint32_t to_width, uint32_t from_width)
{
	if (modifiers->flags & ~(SG_FLAG_RZ | SG_FLAG_RM | SG_FLAG_RP) ||
	    modifiers->special & SG_CONVERT_FINITE)
		return SG_LANE_NONE;
	for (size_t i = 0; i < gt_countof(lane_conversions); i++)
		if ((lane_conversions[i].to >> form->types[0] & 1) &&
		    (lane_conversions[i].from >> form->types[1] & 1) &&
		    lane_conversions[i].to_width == to_width &&
		    lane_conversions[i].from_width == from_width &&
		    lane_conversions[i].rounding == modifiers->rounding)
			return lane_conversions[i].op;
	return SG_LANE_NONE;
}

int sg_decode_cvt(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_form *form = instruction->form;
	struct convert_modifiers modifiers;
	struct sg_instruction step = {0};
	uint32_t to_width, from_width;
	enum sg_lane_op op;
	int error;

	if (gt_ptx_form_has(form, GT_PTX_MOD_PACK))
		return sg_decode_cvt_pack(decoder);
	if (form->type_count == 2 && (form->types[0] == GT_PTX_TYPE_TF32 ||
				      sg_is_small(form->types[0]) || sg_is_small(form->types[1])))
		return sg_decode_cvt_small(decoder);
	if (form->type_count != 2 || !read_modifiers(form, &modifiers))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count == 3)
		return decode_packed(decoder, &modifiers);
	if (!is_number(form->types[0]) || !is_number(form->types[1]))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 2)
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_destination_operand(decoder, &instruction->operands[0], 0, form->types[0],
					      true, &step.d, &to_width);
	if (!error)
		error = sg_decode_source_operand(decoder, &instruction->operands[1], 1,
						 form->types[1], true, &step.a, &from_width);
	if (error)
		return error;
	op = find_lane_conversion(form, &modifiers, to_width, from_width);
	if (op != SG_LANE_NONE)
		return sg_decode_emit_lanes(decoder, op, &step);
	step.flags = modifiers.flags;
	step.immediate = modifiers.special;
	step.selector = (uint8_t)form->types[0];
	step.space = (uint8_t)form->types[1];
	step.size = (uint8_t)from_width;
	step.count = (uint8_t)to_width;
	return sg_decode_emit_step(decoder, run_convert, &step);
}
