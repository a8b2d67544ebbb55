/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"
#include "exec/ops/float.h"

static inline u16 sg_add_f16(u16 a, u16 b)
{
	return sg_to_f16(sg_from_f16(a) + sg_from_f16(b));
}

static inline u16 sg_sub_f16(u16 a, u16 b)
{
	return sg_to_f16(sg_from_f16(a) - sg_from_f16(b));
}

static inline u16 sg_mul_f16(u16 a, u16 b)
{
	return sg_to_f16(sg_from_f16(a) * sg_from_f16(b));
}

/* Rounds to odd: a rounded sum and its rounding error; the result is rounded once more. */
static inline f32 sg_make_odd(f32 sum, f32 lost)
{
	u32 bits = sg_bits_f32(sum), away = sum != 0 && (lost < 0) == (sum > 0);
	u32 odd = (bits & 1) ? bits : (bits - away) | 1;

	return sg_float_f32(lost < 0 || lost > 0 ? odd : bits);
}

/* The product has 22 bits and is exact; all values are in the range of .f32. */
static inline u16 sg_fma_f16(u16 a, u16 b, u16 c)
{
	f32 product = sg_from_f16(a) * sg_from_f16(b), addend = sg_from_f16(c);
	f32 sum = product + addend, part = sum - product;

	return sg_to_f16(sg_make_odd(sum, (product - (sum - part)) + (addend - part)));
}

static inline u16 sg_add_bf16(u16 a, u16 b)
{
	return sg_to_bf16(sg_from_bf16(a) + sg_from_bf16(b));
}

static inline u16 sg_sub_bf16(u16 a, u16 b)
{
	return sg_to_bf16(sg_from_bf16(a) - sg_from_bf16(b));
}

/* Converts a double to .bf16 through .f32, rounded to odd. */
static inline u16 sg_double_to_bf16(f64 value)
{
	f32 near = (f32)value;
	f64 lost = value - (f64)near;

	return sg_to_bf16(sg_make_odd(near, lost > 0 ? 1.0f : lost < 0 ? -1.0f : 0.0f));
}

static inline u16 sg_mul_bf16(u16 a, u16 b)
{
	return sg_double_to_bf16((f64)sg_from_bf16(a) * (f64)sg_from_bf16(b));
}

static inline u16 sg_fma_bf16(u16 a, u16 b, u16 c)
{
	return sg_double_to_bf16(
		sg_fma_odd((f64)sg_from_bf16(a), (f64)sg_from_bf16(b), (f64)sg_from_bf16(c)));
}

#define SG_PAIR2(function, a, b)                                                                   \
	(function((u16)(a), (u16)(b)) | (u32)function((u16)((a) >> 16), (u16)((b) >> 16)) << 16)
#define SG_PAIR3(function, a, b, c)                                                                \
	(function((u16)(a), (u16)(b), (u16)(c)) |                                                  \
	 (u32)function((u16)((a) >> 16), (u16)((b) >> 16), (u16)((c) >> 16)) << 16)

#define SG_BINARY SG_DEFINE_BINARY
#define SG_TERNARY SG_DEFINE_TERNARY
#include "exec/lanes/half.def"
