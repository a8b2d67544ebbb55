/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conversions of types that are smaller than a register: floating point of 8 bits and fewer, in
 * pairs; .tf32; packed integers of 16 bits and fewer (cvt.pack).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/convert.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

/* ---- floating point of 8 bits and fewer ------------------------------------------------ */

/* PTX ISA 9.0, 5.2.3. Only .e5m2 has infinities; formats without NaN use their largest value. */
static const struct small_format {
	enum gt_ptx_type type;
	uint8_t fraction;      /* bits */
	uint8_t shift;         /* bits between the halves of a pair */
	int8_t bias;           /* of the exponent */
	uint8_t sign;          /* its bit */
	uint8_t nan, infinity; /* 0: there is none */
	double max;
} formats[] = {
	{GT_PTX_TYPE_E4M3X2, 3, 8, 7, 0x80, 0x7f, 0, 448},
	{GT_PTX_TYPE_E5M2X2, 2, 8, 15, 0x80, 0x7f, 0x7c, 57344},
	{GT_PTX_TYPE_E2M3X2, 3, 8, 1, 0x20, 0, 0, 7.5},
	{GT_PTX_TYPE_E3M2X2, 2, 8, 3, 0x20, 0, 0, 28},
	{GT_PTX_TYPE_E2M1X2, 1, 4, 1, 0x08, 0, 0, 6},
};

static const struct small_format *find_format(enum gt_ptx_type type)
{
	for (size_t i = 0; i < gt_countof(formats); i++)
		if (formats[i].type == type)
			return &formats[i];
	return NULL;
}

bool sg_is_small(enum gt_ptx_type type)
{
	return find_format(type);
}

static uint32_t to_small(double value, const struct small_format *format)
{
	double size = fabs(value), unit;
	uint32_t sign = signbit(value) ? format->sign : 0;
	int exponent, min = 1 - format->bias;

	if (isnan(value) && format->nan)
		return format->nan;
	if (isnan(value)) {
		sign = 0;
		size = format->max;
	}
	if (size > format->max)
		size = format->max;
	if (size == 0)
		return sign;
	exponent = ilogb(size) < min ? min : ilogb(size);
	unit = ldexp(1, exponent - format->fraction);
	/* The fraction with its implicit bit; a carry increments the exponent. */
	return sign |
	       (((uint32_t)(exponent - min) << format->fraction) + (uint32_t)rint(size / unit));
}

static double from_small(uint32_t bits, const struct small_format *format)
{
	uint32_t rest = bits & (format->sign - 1u), exponent = rest >> format->fraction;
	uint32_t fraction = rest & ((1u << format->fraction) - 1);
	int min = 1 - format->bias - format->fraction;
	double value = exponent
			       ? ldexp((1u << format->fraction) + fraction, (int)exponent - 1 + min)
			       : ldexp(fraction, min);

	if (format->infinity && rest >= format->infinity)
		value = rest == format->infinity ? INFINITY : NAN;
	else if (format->nan && rest == format->nan)
		value = NAN;
	return bits & format->sign ? -value : value;
}

double sg_small_to_double(uint32_t bits, enum gt_ptx_type type)
{
	return from_small(bits, find_format(type));
}

static uint32_t word_of(const struct sg_warp *warp, uint32_t slot, uint32_t lane)
{
	return ((const uint32_t *)(const void *)(warp->frame + slot))[lane];
}

/* Reads one half of a pair, 1: the upper; two .f32 in a and b, or both halves in a. */
static double read_small(const struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			 uint32_t half, const struct small_format *from)
{
	const char *a = warp->frame + at->a;

	if (from)
		return from_small(((const uint16_t *)(const void *)a)[lane] >>
						  (from->shift * half) &
					  (2u * from->sign - 1),
				  from);
	if (at->space == GT_PTX_TYPE_F32)
		return sg_float_f32(word_of(warp, half ? at->a : at->b, lane));
	return sg_half_to_double((uint16_t)(word_of(warp, at->a, lane) >> (16 * half)), false);
}

/* selector: type of the result, space: of the source; one of them is a pair of small values. */
static const struct sg_instruction *run_small(struct sg_warp *warp, const struct sg_instruction *at)
{
	const struct small_format *to = find_format((enum gt_ptx_type)at->selector);
	const struct small_format *from = find_format((enum gt_ptx_type)at->space);
	char *d = warp->frame + at->d;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes), half[2];

		for (uint32_t i = 0; i < 2; i++) {
			double value = read_small(warp, at, lane, i, from);

			if ((at->flags & SG_FLAG_RELU) && value < 0)
				value = 0;
			half[i] = to ? to_small(value, to) : sg_half_from_double(value, false, 0);
		}
		if (to)
			((uint16_t *)(void *)d)[lane] = (uint16_t)(half[0] | half[1] << to->shift);
		else
			((uint32_t *)(void *)d)[lane] = half[0] | half[1] << 16;
	}
	return at + 1;
}

/* ---- .tf32 ----------------------------------------------------------------------------- */

enum {
	TF32_DROPPED = 13,  /* bits of a .f32 that it does not have */
	TF32_NEAREST = 0,   /* selectors: ties to even */
	TF32_AWAY = 1,      /* ties away from zero */
	TF32_TRUNCATED = 2, /* towards zero */
};

static uint32_t to_tf32(uint32_t bits, const struct sg_instruction *at)
{
	uint32_t sign = bits & 0x80000000, rest = bits & 0x7fffffff,
		 middle = 1u << (TF32_DROPPED - 1);

	if (rest > 0x7f800000)
		return SG_NAN_F32;
	if ((at->flags & SG_FLAG_RELU) && sign)
		return 0;
	if (at->selector == TF32_NEAREST)
		rest += middle - 1 + (rest >> TF32_DROPPED & 1);
	else if (at->selector == TF32_AWAY)
		rest += middle;
	if (rest > 0x7f800000)
		rest = 0x7f800000;
	/* .satfinite */
	if (at->count && rest == 0x7f800000)
		rest--;
	return sign | (rest >> TF32_DROPPED << TF32_DROPPED);
}

static const struct sg_instruction *run_tf32(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		d[lane] = to_tf32(word_of(warp, at->a, lane), at);
	}
	return at + 1;
}

/* ---- packed integers ------------------------------------------------------------------- */

/* count: bits of an integer; selector: 1 signed. a and b are stored below the bits of c. */
static const struct sg_instruction *run_pack(struct sg_warp *warp, const struct sg_instruction *at)
{
	int32_t max = (1 << (at->count - at->selector)) - 1, min = at->selector ? ~max : 0;
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d), mask = (1u << at->count) - 1;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		int32_t a = (int32_t)word_of(warp, at->a, lane);
		int32_t b = (int32_t)word_of(warp, at->b, lane);
		uint64_t above = word_of(warp, at->c, lane);

		a = a > max ? max : a < min ? min : a;
		b = b > max ? max : b < min ? min : b;
		d[lane] = (uint32_t)(above << (2 * at->count)) | ((uint32_t)a & mask) << at->count |
			  ((uint32_t)b & mask);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

/* cvt.rna.tf32.f32 d, a */
static int decode_tf32(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_instruction step = {.selector = TF32_NEAREST};
	int error;

	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		if (id == GT_PTX_MOD_RNA)
			step.selector = TF32_AWAY;
		else if (id == GT_PTX_MOD_RZ)
			step.selector = TF32_TRUNCATED;
		else if (id == GT_PTX_MOD_RELU)
			step.flags |= SG_FLAG_RELU;
		else if (id == GT_PTX_MOD_SATFINITE)
			step.count = 1;
		else if (id != GT_PTX_MOD_RN && gt_ptx_modifier_type(id) == GT_PTX_TYPE_NONE)
			return sg_decode_bad_form(decoder);
	}
	if (form->types[1] != GT_PTX_TYPE_F32)
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_F32, &step.a);
	return error ? error : sg_decode_emit_step(decoder, run_tf32, &step);
}

/* cvt.rn.satfinite.e4m3x2.f32 d, a, b; also from and to .f16x2. */
int sg_decode_cvt_small(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type to = form->types[0], from = form->types[1];
	uint32_t count = from == GT_PTX_TYPE_F32 ? 3 : 2;
	struct sg_instruction step = {
		.b = SG_SINK, .selector = (uint8_t)to, .space = (uint8_t)from};
	int error;

	if (to == GT_PTX_TYPE_TF32)
		return decode_tf32(decoder);
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		if (id == GT_PTX_MOD_RELU)
			step.flags |= SG_FLAG_RELU;
		else if (id != GT_PTX_MOD_RN && id != GT_PTX_MOD_SATFINITE &&
			 gt_ptx_modifier_type(id) == GT_PTX_TYPE_NONE)
			return sg_decode_bad_form(decoder);
	}
	if ((!sg_is_small(from) && from != GT_PTX_TYPE_F32 && from != GT_PTX_TYPE_F16X2) ||
	    (!sg_is_small(to) && to != GT_PTX_TYPE_F16X2) || sg_is_small(from) == sg_is_small(to))
		return sg_decode_bad_form(decoder);
	if (decoder->instruction->operand_count != count)
		return sg_decode_bad_operand(decoder, count - 1);
	error = sg_decode_destination(decoder, 0, to, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, from, &step.a);
	if (!error && count == 3)
		error = sg_decode_source(decoder, 2, from, &step.b);
	return error ? error : sg_decode_emit_step(decoder, run_small, &step);
}

/* Reads the bits and the sign of the elements of cvt.pack. */
static bool read_packed(const struct gt_ptx_form *form, struct sg_instruction *step)
{
	static const struct {
		const char *name;
		uint8_t bits, is_signed;
	} types[] = {{".u16", 16, 0}, {".s16", 16, 1}, {".u8", 8, 0}, {".s8", 8, 1},
		     {".u4", 4, 0},   {".s4", 4, 1},   {".u2", 2, 0}, {".s2", 2, 1}};

	if (form->modifier_count < 4 || form->modifiers[1].id != GT_PTX_MOD_SAT ||
	    form->modifiers[3].id != GT_PTX_MOD_S32)
		return false;
	for (size_t i = 0; i < gt_countof(types); i++)
		if (!strcmp(form->modifiers[2].text, types[i].name)) {
			step->count = types[i].bits;
			step->selector = types[i].is_signed;
			return form->modifier_count == (types[i].bits == 16 ? 4 : 5);
		}
	return false;
}

/* cvt.pack.sat.u8.s32.b32 d, a, b, c; of 16 bits without c. */
int sg_decode_cvt_pack(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	uint32_t count;
	int error;

	if (!read_packed(sg_decode_form(decoder), &step))
		return sg_decode_bad_form(decoder);
	count = step.count == 16 ? 3 : 4;
	if (decoder->instruction->operand_count != count)
		return sg_decode_bad_operand(decoder, count - 1);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_S32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_S32, &step.b);
	if (!error && count == 4)
		error = sg_decode_source(decoder, 3, GT_PTX_TYPE_B32, &step.c);
	return error ? error : sg_decode_emit_step(decoder, run_pack, &step);
}
