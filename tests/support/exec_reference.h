/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Floating-point arithmetic by its definition: the nearest result and the sign of what is missing
 * give the result of every rounding. Formats of 16 bits are searched in a table of their values.
 */
#pragma once

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec_table.h"

enum rounding {
	NEAREST,
	TO_ZERO,
	DOWN,
	UP,
};

static inline uint64_t flushed(uint64_t bits)
{
	return fpclassify(float_of(bits)) == FP_SUBNORMAL ? bits & 0x80000000 : (uint32_t)bits;
}

static inline uint64_t saturated(uint64_t bits)
{
	float value = float_of(bits);

	if (isnan(value) || value <= 0)
		return 0;
	return value >= 1 ? 0x3f800000 : bits;
}

static inline uint64_t f32_result(float value)
{
	return isnan(value) ? 0x7fffffff : bits_of_float(value);
}

/* A number near the exact one, and the sign of exact - near, rounded: f32. */
static inline uint64_t rounded_f32(double near, double missing, enum rounding mode)
{
	float value = (float)near, low, high;
	int side = near > (double)value ? 1 : near < (double)value ? -1 : 0;

	if (!side)
		side = missing > 0 ? 1 : missing < 0 ? -1 : 0;
	if (!side)
		return f32_result(value);
	low = side > 0 ? value : nextafterf(value, -INFINITY);
	high = side > 0 ? nextafterf(value, INFINITY) : value;
	if (mode == DOWN || (mode == TO_ZERO && (high > 0)))
		return f32_result(low);
	return f32_result(high);
}

static inline uint64_t rounded_f64(double value, long double missing, enum rounding mode)
{
	double low, high;

	if (missing == 0 || isnan(value))
		return bits_of_double(value);
	low = missing > 0 ? value : nextafter(value, -INFINITY);
	high = missing > 0 ? nextafter(value, INFINITY) : value;
	if (mode == DOWN || (mode == TO_ZERO && high > 0))
		return bits_of_double(low);
	return bits_of_double(high);
}

/* What is lost in a sum of two numbers (Dekker). */
static inline double lost_in_sum(double a, double b, double sum)
{
	return fabs(a) < fabs(b) ? a - (sum - b) : b - (sum - a);
}

/* The zero that a sum of x and -x is. */
static inline bool is_negative_zero(double a, double b, enum rounding mode)
{
	return signbit(a) == signbit(b) ? signbit(a) : mode == DOWN;
}

static inline uint64_t sum_f32(double a, double b, enum rounding mode)
{
	double sum = a + b;

	if (!isfinite(sum))
		return f32_result((float)sum);
	if (sum == 0)
		return is_negative_zero(a, b, mode) ? 0x80000000 : 0;
	return rounded_f32(sum, lost_in_sum(a, b, sum), mode);
}

static inline uint64_t add_f32(uint64_t a, uint64_t b, enum rounding mode)
{
	if (mode == NEAREST)
		return f32_result(float_of(a) + float_of(b));
	return sum_f32((double)float_of(a), (double)float_of(b), mode);
}

static inline uint64_t sub_f32(uint64_t a, uint64_t b, enum rounding mode)
{
	return add_f32(a, b ^ 0x80000000, mode);
}

static inline uint64_t mul_f32(uint64_t a, uint64_t b, enum rounding mode)
{
	if (mode == NEAREST)
		return f32_result(float_of(a) * float_of(b));
	return rounded_f32((double)float_of(a) * (double)float_of(b), 0, mode);
}

static inline uint64_t fma_f32(uint64_t a, uint64_t b, uint64_t c, enum rounding mode)
{
	if (mode == NEAREST)
		return f32_result(fmaf(float_of(a), float_of(b), float_of(c)));
	return sum_f32((double)float_of(a) * (double)float_of(b), (double)float_of(c), mode);
}

static inline uint64_t div_f32(uint64_t a, uint64_t b, enum rounding mode)
{
	double x = (double)float_of(a), y = (double)float_of(b), near = x / y;

	if (mode == NEAREST || !isfinite(near) || near == 0 || !isfinite(y))
		return f32_result(float_of(a) / float_of(b));
	return rounded_f32(near, fma(-near, y, x) * (y < 0 ? -1 : 1), mode);
}

static inline uint64_t sqrt_f32(uint64_t a, enum rounding mode)
{
	double x = (double)float_of(a), near = sqrt(x);

	if (mode == NEAREST || !isfinite(near) || near == 0)
		return f32_result(sqrtf(float_of(a)));
	return rounded_f32(near, fma(-near, near, x), mode);
}

/* A finite exact result that the nearest double overflows. */
static inline bool has_overflowed(double a, double b, double result)
{
	return isinf(result) && isfinite(a) && isfinite(b);
}

static inline uint64_t overflow_f64(double infinite, enum rounding mode)
{
	return rounded_f64(infinite, infinite > 0 ? -1 : 1,
			   mode == NEAREST ? (infinite > 0 ? UP : DOWN) : mode);
}

static inline uint64_t add_f64(uint64_t a, uint64_t b, enum rounding mode)
{
	double x = double_of(a), y = double_of(b), sum = x + y;

	if (has_overflowed(x, y, sum))
		return overflow_f64(sum, mode);
	if (mode == NEAREST || !isfinite(sum))
		return bits_of_double(sum);
	if (sum == 0)
		return is_negative_zero(x, y, mode) ? 0x8000000000000000 : 0;
	return rounded_f64(sum, lost_in_sum(x, y, sum), mode);
}

static inline uint64_t sub_f64(uint64_t a, uint64_t b, enum rounding mode)
{
	return add_f64(a, b ^ 0x8000000000000000, mode);
}

static inline uint64_t mul_f64(uint64_t a, uint64_t b, enum rounding mode)
{
	double x = double_of(a), y = double_of(b), product = x * y;

	if (has_overflowed(x, y, product))
		return overflow_f64(product, mode);
	if (mode == NEAREST || !isfinite(product))
		return bits_of_double(product);
	if (product == 0 && signbit(product) && x != 0 && y != 0)
		return mode == DOWN ? 0x8000000000000001 : 0x8000000000000000;
	if (product == 0 && x != 0 && y != 0)
		return mode == UP;
	return rounded_f64(product, fmal(x, y, -(long double)product), mode);
}

static inline uint64_t div_f64(uint64_t a, uint64_t b, enum rounding mode)
{
	double x = double_of(a), y = double_of(b), near = x / y;

	if (y != 0 && has_overflowed(x, y, near))
		return overflow_f64(near, mode);
	if (mode == NEAREST || !isfinite(near) || !isfinite(y) || x == 0)
		return bits_of_double(near);
	if (near == 0 && signbit(near))
		return mode == DOWN ? 0x8000000000000001 : 0x8000000000000000;
	if (near == 0)
		return mode == UP;
	return rounded_f64(near, fmal(-(long double)near, y, x) * (y < 0 ? -1 : 1), mode);
}

static inline uint64_t sqrt_f64(uint64_t a, enum rounding mode)
{
	double x = double_of(a), near = sqrt(x);

	if (mode == NEAREST || !isfinite(near) || near == 0)
		return bits_of_double(near);
	return rounded_f64(near, fmal(-(long double)near, near, x), mode);
}

/* By the processor's own rounding. */
static inline uint64_t fma_f64(uint64_t a, uint64_t b, uint64_t c, enum rounding mode)
{
	static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
	volatile double x = double_of(a), y = double_of(b), z = double_of(c), result;
	int before = fegetround();

	fesetround(modes[mode]);
	result = fma(x, y, z);
	fesetround(before);
	return bits_of_double(result);
}

enum choice {
	KEEP_NAN = 1,
	XOR_SIGN = 2,
};

static inline uint64_t chosen_f32(uint64_t a, uint64_t b, bool smaller, int how)
{
	float x = float_of(a), y = float_of(b), result;
	bool negative = signbit(x) != signbit(y);

	if (how & XOR_SIGN) {
		x = fabsf(x);
		y = fabsf(y);
	}
	if (isnan(x) || isnan(y))
		result = how & KEEP_NAN ? NAN : isnan(x) ? y : x;
	else if (x == y)
		result = (signbit(x) != 0) == smaller ? x : y;
	else
		result = (x < y) == smaller ? x : y;
	return f32_result(how & XOR_SIGN && negative ? -result : result);
}

static inline uint64_t chosen_f64(uint64_t a, uint64_t b, bool smaller)
{
	double x = double_of(a), y = double_of(b);

	if (isnan(x) || isnan(y))
		return bits_of_double(isnan(x) ? y : x);
	if (x == y)
		return (signbit(x) != 0) == smaller ? a : b;
	return (x < y) == smaller ? a : b;
}

/* ---- 16 bits --------------------------------------------------------------------------- */

enum format {
	F16,
	BF16,
};

static inline double half_value(enum format format, uint64_t bits)
{
	int width = format == F16 ? 10 : 7, bias = format == F16 ? 15 : 127;
	int most = format == F16 ? 31 : 255;
	int exponent = (int)(bits >> width & (uint64_t)most);
	double fraction = (double)(bits & ((1u << width) - 1)) / (1 << width), value;

	if (exponent == most)
		value = fraction == 0 ? INFINITY : NAN;
	else if (exponent)
		value = ldexp(1 + fraction, exponent - bias);
	else
		value = ldexp(fraction, 1 - bias);
	return bits & 0x8000 ? -value : value;
}

/* The nearest of all values, by search; of two as near the even one. missing: as above. */
static inline uint64_t half_rounded(enum format format, double near, double missing)
{
	uint64_t infinity = format == F16 ? 0x7c00 : 0x7f80, low = 0, high = infinity;
	double size = fabs(near), middle;
	uint64_t sign = signbit(near) ? 0x8000 : 0;

	missing = signbit(near) ? -missing : missing;
	if (isnan(near))
		return 0x7fff;
	while (high - low > 1) {
		uint64_t guess = (low + high) / 2;

		if (half_value(format, guess) <= size)
			low = guess;
		else
			high = guess;
	}
	/* Infinity counts as the number that would be next. */
	middle = high == infinity
			 ? half_value(format, low) +
				   (half_value(format, low) - half_value(format, low - 1)) / 2
			 : (half_value(format, low) + half_value(format, high)) / 2;
	if (size > middle || (size == middle && missing > 0))
		return sign | high;
	if (size < middle || missing < 0)
		return sign | low;
	return sign | (low & 1 ? high : low);
}

static inline uint64_t half_bits(enum format format, double value)
{
	return half_rounded(format, value, 0);
}

enum half_operation {
	ADD,
	SUB,
	MUL,
	FMA,
};

static inline uint64_t half_result(enum half_operation operation, enum format format, uint64_t a,
				   uint64_t b, uint64_t c)
{
	double x = half_value(format, a), y = half_value(format, b), z = half_value(format, c);
	double left = operation == MUL || operation == FMA ? x * y : x;
	double right = operation == ADD ? y : operation == SUB ? -y : operation == FMA ? z : -0.0;
	double sum = operation == MUL ? left : left + right;

	return half_rounded(format, sum,
			    isfinite(sum) && operation != MUL ? lost_in_sum(left, right, sum) : 0);
}

static inline uint64_t pair_result(enum half_operation operation, enum format format, uint64_t a,
				   uint64_t b, uint64_t c)
{
	return half_result(operation, format, a, b, c) |
	       half_result(operation, format, a >> 16, b >> 16, c >> 16) << 16;
}

static inline uint64_t half_saturated(uint64_t bits)
{
	double value = half_value(F16, bits);

	return isnan(value) || value <= 0 ? 0 : value >= 1 ? 0x3c00 : bits;
}

static inline uint64_t half_relu(uint64_t bits)
{
	return !isnan(half_value(F16, bits)) && bits & 0x8000 ? 0 : bits;
}

static inline uint64_t half_chosen(enum format format, uint64_t a, uint64_t b, bool smaller)
{
	double x = half_value(format, a), y = half_value(format, b);

	if (isnan(x) || isnan(y))
		return isnan(x) ? (isnan(y) ? 0x7fff : b & 0xffff) : a & 0xffff;
	if (x == y)
		return (signbit(x) != 0) == smaller ? a & 0xffff : b & 0xffff;
	return (x < y) == smaller ? a & 0xffff : b & 0xffff;
}
