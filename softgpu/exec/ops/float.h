/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of PTX for floating point that C does not have: flushing of subnormal numbers, saturation
 * to [0, 1], rounding towards a side, the formats of 16 bits.
 */
#pragma once

#include <fenv.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "exec/engine/engine.h"

#define SG_NAN_F32 0x7fffffffu
#define SG_NAN_F16 0x7fffu
#define SG_NAN_BF16 0x7fffu

static inline uint32_t sg_bits_f32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float sg_float_f32(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t sg_bits_f64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double sg_float_f64(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Subnormal numbers become zeros of their sign (.ftz). */
static inline uint32_t sg_flush_bits(uint32_t bits)
{
	return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

static inline float sg_flush_f32(float value)
{
	return sg_float_f32(sg_flush_bits(sg_bits_f32(value)));
}

static inline double sg_flush_f64(double value)
{
	uint64_t bits = sg_bits_f64(value);

	return sg_float_f64((bits & 0x7ff0000000000000) == 0 ? bits & 0x8000000000000000 : bits);
}

static inline float sg_canonical_f32(float value)
{
	uint32_t bits = sg_bits_f32(value);

	return sg_float_f32((bits & 0x7fffffff) > 0x7f800000 ? SG_NAN_F32 : bits);
}

static inline double sg_canonical_f64(double value)
{
	return value;
}

/* .sat: NaN is 0. */
static inline float sg_saturate_f32(float value)
{
	value = value > 0.0f ? value : 0.0f;
	return value < 1.0f ? value : 1.0f;
}

static inline double sg_saturate_f64(double value)
{
	value = value > 0.0 ? value : 0.0;
	return value < 1.0 ? value : 1.0;
}

/* ---- rounding -------------------------------------------------------------------------- */

/* Sets the rounding mode of flags (enum sg_flag); returns the previous one for sg_rounding_end. */
static inline uint32_t sg_rounding_begin(uint32_t flags)
{
#ifdef __SSE2__
	uint32_t before = _mm_getcsr();
	uint32_t mode = flags & SG_FLAG_RZ   ? 0x6000
			: flags & SG_FLAG_RM ? 0x2000
			: flags & SG_FLAG_RP ? 0x4000
					     : 0;

	_mm_setcsr((before & ~0x6000u) | mode);
#else
	uint32_t before = (uint32_t)fegetround();

	fesetround(flags & SG_FLAG_RZ   ? FE_TOWARDZERO
		   : flags & SG_FLAG_RM ? FE_DOWNWARD
		   : flags & SG_FLAG_RP ? FE_UPWARD
					: FE_TONEAREST);
#endif
	return before;
}

static inline void sg_rounding_end(uint32_t before)
{
#ifdef __SSE2__
	_mm_setcsr(before);
#else
	fesetround((int)before);
#endif
}

/* Keeps the compiler from moving computations over this point. */
#define sg_rounding_barrier(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

/* ---- 16 bits --------------------------------------------------------------------------- */

static inline float sg_from_f16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
	uint32_t normal = (rest << 13) + 0x38000000;
	uint32_t special = (rest << 13) | 0x7f800000;
	uint32_t subnormal = sg_bits_f32((float)(int32_t)rest * 0x1p-24f);
	uint32_t bits = rest < 0x400 ? subnormal : rest < 0x7c00 ? normal : special;

	return sg_float_f32(sign | bits);
}

static inline float sg_from_bf16(uint16_t half)
{
	return sg_float_f32((uint32_t)half << 16);
}

/* Rounded to nearest even. */
static inline uint16_t sg_to_f16(float value)
{
	uint32_t bits = sg_bits_f32(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
	uint32_t normal = (rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13;
	/* Adding 0.5 puts the last bit of a subnormal result at the last bit of the sum. */
	uint32_t subnormal = sg_bits_f32(sg_float_f32(rest) + 0.5f) - 0x3f000000;
	uint32_t result = rest < 0x38800000    ? subnormal
			  : rest < 0x477ff000  ? normal
			  : rest <= 0x7f800000 ? 0x7c00
					       : SG_NAN_F16;

	return (uint16_t)(rest > 0x7f800000 ? result : sign | result);
}

static inline uint16_t sg_to_bf16(float value)
{
	uint32_t bits = sg_bits_f32(value);
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? SG_NAN_BF16 : rounded);
}

/*
 * a × b + c rounded to odd, so that rounding it once more, to a format of at most 24 bits, gives
 * the correctly rounded result. a, b, c have at most 24 bits. (Boldo and Melquiond 2008.)
 */
static inline double sg_fma_odd(double a, double b, double c)
{
	double product = a * b, sum = product + c, part = sum - product;
	double lost = (product - (sum - part)) + (c - part);
	uint64_t bits = sg_bits_f64(sum);

	if (lost == 0 || lost != lost || (bits & 1))
		return sum;
	/* Towards zero first where the sum was rounded away from it. */
	if ((lost < 0) == (sum > 0))
		bits--;
	return sg_float_f64(bits | 1);
}

/* Rounds a double to a format by flags (enum sg_flag); returns its bits. */
uint32_t sg_round_double(double value, uint32_t flags, uint32_t exponent_bits,
			 uint32_t fraction_bits);
