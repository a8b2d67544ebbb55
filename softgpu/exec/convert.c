/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every conversion between numbers, one lane at a time; lanes/convert.def has the quick ones. */
#include <math.h>
#include <string.h>

#include "exec/convert.h"
#include "exec/float.h"
#include "exec/half.h"
#include "exec/steps.h"

/* A number before it takes its new type. */
struct number {
	bool is_float;
	bool negative; /* of an integer */
	uint64_t magnitude;
	double value; /* exact: every format but .f64 itself is narrower */
};

static struct number integer_number(uint64_t bits, const struct gt_ptx_type_info *type)
{
	struct number number = {0};

	if (type->bits < 64)
		bits &= (1ull << type->bits) - 1;
	number.negative = type->class == GT_PTX_CLASS_SIGNED && (bits >> (type->bits - 1) & 1);
	if (number.negative && type->bits < 64)
		bits |= UINT64_MAX << type->bits;
	number.magnitude = number.negative ? -bits : bits;
	return number;
}

static struct number read_number(uint64_t bits, enum gt_ptx_type type, uint32_t flags)
{
	struct number number = {.is_float = true};

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

/* To a whole number, as flags say. */
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
	uint64_t most =
		is_signed ? (1ull << (type->bits - 1)) - 1 : UINT64_MAX >> (64 - type->bits);

	if (isnan(value))
		return is_wide ? 1ull << (type->bits - 1) : 0;
	if (value >= limit)
		return most;
	if (!is_signed)
		return value <= 0 ? 0 : (uint64_t)value;
	if (value <= -limit)
		return -(1ull << (type->bits - 1));
	return (uint64_t)(int64_t)value;
}

static uint64_t integer_to_integer(const struct number *number, const struct gt_ptx_type_info *type,
				   bool saturate)
{
	bool is_signed = type->class == GT_PTX_CLASS_SIGNED;
	uint64_t most =
		is_signed ? (1ull << (type->bits - 1)) - 1 : UINT64_MAX >> (64 - type->bits);

	if (!saturate)
		return number->negative ? -number->magnitude : number->magnitude;
	if (!number->negative)
		return number->magnitude > most ? most : number->magnitude;
	if (!is_signed)
		return 0;
	return -(number->magnitude > most + 1 ? most + 1 : number->magnitude);
}

/* ---- to floating point ----------------------------------------------------------------- */

/* 64 bits to a double of the given rounding. */
static double integer_to_double(const struct number *number, uint32_t flags)
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

/* 64 bits to a double whose last bit is odd if something was lost: to be rounded once more. */
static double integer_to_odd(const struct number *number)
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

static uint64_t to_float(const struct number *number, enum gt_ptx_type type, uint32_t flags,
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
	struct number number = read_number(bits, from, flags);

	if (type->class == GT_PTX_CLASS_FLOAT)
		return to_float(&number, to, flags, special & SG_CONVERT_WHOLE,
				special & SG_CONVERT_FINITE);
	if (number.is_float)
		return whole_to_integer(round_whole(number.value, flags), type,
					from == GT_PTX_TYPE_F64 || type->bits == 64);
	return integer_to_integer(&number, type, flags & SG_FLAG_SAT);
}

/* Cuts to the bits of a type and extends to 64 by its sign. */
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
const struct sg_instruction *sg_run_convert(struct sg_warp *warp, const struct sg_instruction *at)
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

/* Two .f32 to a pair: a is the upper half. selector: type of one half. */
const struct sg_instruction *sg_run_convert_packed(struct sg_warp *warp,
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
