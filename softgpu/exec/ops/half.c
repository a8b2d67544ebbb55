/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic of .f16, .bf16 and their pairs. */
#include <errno.h>
#include <math.h>

#include "exec/decode/decode.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"

enum sg_half sg_half_format(enum gt_ptx_type type)
{
	switch (type) {
	case GT_PTX_TYPE_F16:
		return SG_HALF_F16;
	case GT_PTX_TYPE_BF16:
		return SG_HALF_BF16;
	case GT_PTX_TYPE_F16X2:
		return SG_HALF_F16X2;
	case GT_PTX_TYPE_BF16X2:
		return SG_HALF_BF16X2;
	default:
		return SG_HALF_NONE;
	}
}

static bool is_bfloat(enum sg_half format)
{
	return format == SG_HALF_BF16 || format == SG_HALF_BF16X2;
}

static bool is_pair(enum sg_half format)
{
	return format == SG_HALF_F16X2 || format == SG_HALF_BF16X2;
}

double sg_half_to_double(uint16_t bits, bool bfloat)
{
	return bfloat ? (double)sg_from_bf16(bits) : (double)sg_from_f16(bits);
}

/* Whether a fraction without its last bits `rest` is rounded up; `middle`: half of its last bit. */
static bool rounds_up(uint64_t fraction, uint64_t rest, uint64_t middle, bool negative,
		      uint32_t flags)
{
	if (flags & SG_FLAG_RZ)
		return false;
	if (flags & SG_FLAG_RM)
		return negative && rest;
	if (flags & SG_FLAG_RP)
		return !negative && rest;
	return rest > middle || (rest == middle && (fraction & 1));
}

uint32_t sg_round_double(double value, uint32_t flags, uint32_t exponent_bits,
			 uint32_t fraction_bits)
{
	uint64_t bits = sg_bits_f64(value), fraction = bits & 0xfffffffffffff;
	int32_t exponent = (int32_t)(bits >> 52 & 0x7ff), bias = (1 << (exponent_bits - 1)) - 1;
	bool negative = bits >> 63;
	uint32_t sign = (uint32_t)negative << (exponent_bits + fraction_bits);
	uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
	uint32_t shift = 52 - fraction_bits;
	uint64_t result, rest;
	int32_t scale = exponent - 1023 + bias;

	if (exponent == 0x7ff)
		return fraction ? infinity | ((1u << fraction_bits) - 1) : sign | infinity;
	if (exponent)
		fraction |= 1ull << 52;
	/* A subnormal result has the exponent of the smallest normal one. */
	if (scale < 1) {
		shift += (uint32_t)(1 - scale);
		scale = 1;
	}
	if (shift > 62)
		shift = 62;
	result = fraction >> shift;
	rest = fraction & ((1ull << shift) - 1);
	result += rounds_up(result, rest, 1ull << (shift - 1), negative, flags);
	/* The implicit bit adds one to the exponent, and so does a carry out of the fraction. */
	result += (uint64_t)(scale - 1) << fraction_bits;
	if (result >= infinity) {
		bool stays = (flags & SG_FLAG_RZ) || (negative && (flags & SG_FLAG_RP)) ||
			     (!negative && (flags & SG_FLAG_RM));

		result = stays ? infinity - 1 : infinity;
	}
	return sign | (uint32_t)result;
}

uint16_t sg_half_from_double(double value, bool bfloat, uint32_t flags)
{
	return (uint16_t)(bfloat ? sg_round_double(value, flags, 8, 7)
				 : sg_round_double(value, flags, 5, 10));
}

/* NaN counts as missing; -0 is less than +0. */
static double min_or_max(double a, double b, bool smaller)
{
	if (isnan(a))
		return b;
	if (isnan(b))
		return a;
	if (a == b)
		return signbit(a) == smaller ? a : b;
	return (a < b) == smaller ? a : b;
}

double sg_min_max(double a, double b, bool smaller, uint32_t flags)
{
	bool negative = signbit(a) != signbit(b);
	double result;

	if ((flags & SG_FLAG_NAN) && (isnan(a) || isnan(b)))
		return NAN;
	if (!(flags & SG_FLAG_ABS))
		return min_or_max(a, b, smaller);
	result = min_or_max(fabs(a), fabs(b), smaller);
	return (flags & SG_FLAG_XORSIGN) && negative ? -result : result;
}

static double compute(enum sg_half_operation operation, uint32_t flags, double a, double b,
		      double c)
{
	switch (operation) {
	case SG_HALF_ADD:
		return sg_fma_odd(a, 1, b);
	case SG_HALF_SUB:
		return sg_fma_odd(a, 1, -b);
	case SG_HALF_MUL:
		return a * b;
	case SG_HALF_FMA:
		return sg_fma_odd(a, b, c);
	case SG_HALF_MIN:
		return sg_min_max(a, b, true, flags);
	case SG_HALF_MAX:
		return sg_min_max(a, b, false, flags);
	case SG_HALF_EX2:
		return exp2(a);
	default:
		return tanh(a);
	}
}

static uint16_t flush(uint16_t bits, bool bfloat)
{
	return bits & (bfloat ? 0x7f80 : 0x7c00) ? bits : bits & 0x8000;
}

static uint16_t finish(uint16_t bits, bool bfloat, uint32_t flags)
{
	uint16_t one = bfloat ? 0x3f80 : 0x3c00, infinity = bfloat ? 0x7f80 : 0x7c00;
	bool is_nan = (bits & 0x7fff) > infinity;

	if (flags & SG_FLAG_FTZ)
		bits = flush(bits, bfloat);
	if (flags & SG_FLAG_SAT) {
		if (is_nan || (bits & 0x8000))
			return 0;
		return bits > one ? one : bits;
	}
	if ((flags & SG_FLAG_RELU) && !is_nan && (bits & 0x8000))
		return 0;
	return bits;
}

static uint16_t compute_one(enum sg_half_operation operation, bool bfloat, uint32_t flags,
			    uint16_t a, uint16_t b, uint16_t c)
{
	if (flags & SG_FLAG_FTZ) {
		a = flush(a, bfloat);
		b = flush(b, bfloat);
		c = flush(c, bfloat);
	}
	if (operation == SG_HALF_NEG)
		return a ^ 0x8000;
	if (operation == SG_HALF_ABS)
		return a & 0x7fff;
	return finish(sg_half_from_double(compute(operation, flags, sg_half_to_double(a, bfloat),
						  sg_half_to_double(b, bfloat),
						  sg_half_to_double(c, bfloat)),
					  bfloat, flags),
		      bfloat, flags);
}

uint32_t sg_half_compute(enum sg_half_operation operation, enum sg_half format, uint32_t flags,
			 uint32_t a, uint32_t b, uint32_t c)
{
	bool bfloat = is_bfloat(format);
	uint32_t low = compute_one(operation, bfloat, flags, (uint16_t)a, (uint16_t)b, (uint16_t)c);

	if (!is_pair(format))
		return low;
	return low | (uint32_t)compute_one(operation, bfloat, flags, (uint16_t)(a >> 16),
					   (uint16_t)(b >> 16), (uint16_t)(c >> 16))
			     << 16;
}

static uint32_t read_value(const struct sg_warp *warp, uint32_t slot, enum sg_half format,
			   uint32_t lane)
{
	const char *from = warp->frame + slot;

	return is_pair(format) ? ((const uint32_t *)(const void *)from)[lane]
			       : ((const uint16_t *)(const void *)from)[lane];
}

static void write_value(struct sg_warp *warp, uint32_t slot, enum sg_half format, uint32_t lane,
			uint32_t value)
{
	char *to = warp->frame + slot;

	if (is_pair(format))
		((uint32_t *)(void *)to)[lane] = value;
	else
		((uint16_t *)(void *)to)[lane] = (uint16_t)value;
}

static const struct sg_instruction *run_half(struct sg_warp *warp, const struct sg_instruction *at)
{
	enum sg_half format = (enum sg_half)at->size;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		write_value(warp, at->d, format, lane,
			    sg_half_compute((enum sg_half_operation)at->selector, format, at->flags,
					    read_value(warp, at->a, format, lane),
					    read_value(warp, at->b, format, lane),
					    read_value(warp, at->c, format, lane)));
	}
	return at + 1;
}

/* Compares by one of enum sg_comparison. */
static bool compare(enum sg_comparison comparison, double a, double b)
{
	switch (comparison) {
	case SG_COMPARE_EQUAL:
		return a == b;
	case SG_COMPARE_LESS:
		return a < b;
	case SG_COMPARE_LESS_EQUAL:
		return a <= b;
	case SG_COMPARE_DIFFERENT:
		return a < b || a > b;
	default:
		return !isnan(a) && !isnan(b);
	}
}

/* Compares one half of a and b; 0: the lower. */
static bool compare_half(const struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			 uint32_t half)
{
	enum sg_half format = (enum sg_half)at->size;
	uint16_t a = (uint16_t)(read_value(warp, at->a, format, lane) >> (16 * half));
	uint16_t b = (uint16_t)(read_value(warp, at->b, format, lane) >> (16 * half));
	bool bfloat = is_bfloat(format);

	if (at->flags & SG_FLAG_FTZ) {
		a = flush(a, bfloat);
		b = flush(b, bfloat);
	}
	return compare((enum sg_comparison)at->count, sg_half_to_double(a, bfloat),
		       sg_half_to_double(b, bfloat)) != !!(at->flags & SG_FLAG_NEGATE);
}

static uint32_t apply_boolean(const struct sg_warp *warp, const struct sg_instruction *at,
			      uint32_t compared)
{
	uint32_t c =
		*(const uint32_t *)(const void *)(warp->frame + at->c) ^ (uint32_t)at->immediate;

	switch (at->selector) {
	case SG_BOOLEAN_AND:
		return compared & c;
	case SG_BOOLEAN_OR:
		return compared | c;
	case SG_BOOLEAN_XOR:
		return compared ^ c;
	default:
		return compared;
	}
}

/* p: the comparison; q: its negation. Of pairs, p: of the lower halves, q: of the upper ones. */
const struct sg_instruction *sg_run_half_compare(struct sg_warp *warp,
						 const struct sg_instruction *at)
{
	uint32_t low = 0, high = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		low |= (uint32_t)compare_half(warp, at, lane, 0) << lane;
		if (is_pair((enum sg_half)at->size))
			high |= (uint32_t)compare_half(warp, at, lane, 1) << lane;
	}
	if (!is_pair((enum sg_half)at->size))
		high = ~low;
	low = apply_boolean(warp, at, low);
	high = apply_boolean(warp, at, high);
	sg_write_predicate(warp, at->e, high);
	sg_write_predicate(warp, at->d, low);
	return at + 1;
}

/* A true half of the result is 1.0, or all ones if space is 0. */
const struct sg_instruction *sg_run_half_set(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);
	uint32_t yes = at->space == SG_HALF_F16X2 ? 0x3c00 : at->space ? 0x3f80 : 0xffff;
	uint32_t low = 0, high = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		low |= (uint32_t)compare_half(warp, at, lane, 0) << lane;
		high |= (uint32_t)compare_half(warp, at, lane, 1) << lane;
	}
	low = apply_boolean(warp, at, low);
	high = apply_boolean(warp, at, high);
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		d[lane] = (low >> lane & 1 ? yes : 0) | (high >> lane & 1 ? yes << 16 : 0);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

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

/* Reads the modifiers of a form on halves as flags; false if one is not known. */
static bool read_half_modifiers(const struct gt_ptx_form *form, uint32_t *ret_flags)
{
	static const struct {
		enum gt_ptx_modifier_id id;
		uint32_t flag;
	} modifiers[] = {
		{GT_PTX_MOD_FTZ, SG_FLAG_FTZ},
		{GT_PTX_MOD_SAT, SG_FLAG_SAT},
		{GT_PTX_MOD_RELU, SG_FLAG_RELU},
		{GT_PTX_MOD_NAN_RESULT, SG_FLAG_NAN},
		{GT_PTX_MOD_XORSIGN, SG_FLAG_XORSIGN},
		{GT_PTX_MOD_ABS, SG_FLAG_ABS},
		{GT_PTX_MOD_RN, 0},
		{GT_PTX_MOD_APPROX, 0},
	};

	*ret_flags = 0;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;
		size_t m = 0;

		while (m < gt_countof(modifiers) && modifiers[m].id != id)
			m++;
		if (m < gt_countof(modifiers))
			*ret_flags |= modifiers[m].flag;
		else if (gt_ptx_modifier_type(id) == GT_PTX_TYPE_NONE)
			return false;
	}
	return true;
}

/* Returns the operation on lanes for a form without flags, or SG_LANE_NONE. */
static enum sg_lane_op find_lane_operation(enum sg_half_operation operation, enum sg_half format,
					   uint32_t flags)
{
	static const enum sg_lane_op operations[][4] = {
		[SG_HALF_F16] = {SG_LANE_add_f16, SG_LANE_sub_f16, SG_LANE_mul_f16,
				 SG_LANE_fma_f16},
		[SG_HALF_BF16] = {SG_LANE_add_bf16, SG_LANE_sub_bf16, SG_LANE_mul_bf16,
				  SG_LANE_fma_bf16},
		[SG_HALF_F16X2] = {SG_LANE_add_f16x2, SG_LANE_sub_f16x2, SG_LANE_mul_f16x2,
				   SG_LANE_fma_f16x2},
		[SG_HALF_BF16X2] = {SG_LANE_add_bf16x2, SG_LANE_sub_bf16x2, SG_LANE_mul_bf16x2,
				    SG_LANE_fma_bf16x2},
	};

	return flags || operation > SG_HALF_FMA ? SG_LANE_NONE : operations[format][operation];
}

int sg_decode_half(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction step = {0};
	uint32_t *sources[] = {&step.a, &step.b, &step.c}, row = 0;
	enum sg_lane_op op;
	int error;

	while (row < gt_countof(half_operations) && half_operations[row].opcode != form->opcode)
		row++;
	if (row == gt_countof(half_operations) || type == GT_PTX_TYPE_NONE ||
	    !read_half_modifiers(form, &step.flags))
		return sg_decode_bad_form(decoder);
	if (decoder->instruction->operand_count != half_operations[row].sources + 1)
		return sg_decode_bad_operand(decoder, half_operations[row].sources);
	error = sg_decode_destination(decoder, 0, type, &step.d);
	for (uint32_t i = 0; i < half_operations[row].sources && !error; i++)
		error = sg_decode_source(decoder, i + 1, type, sources[i]);
	if (error)
		return error;
	step.selector = (uint8_t)half_operations[row].operation;
	step.size = (uint8_t)sg_half_format(type);
	op = find_lane_operation(half_operations[row].operation, sg_half_format(type), step.flags);
	return op != SG_LANE_NONE ? sg_decode_emit_lanes(decoder, op, &step)
				  : sg_decode_emit_step(decoder, run_half, &step);
}
