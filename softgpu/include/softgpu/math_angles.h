/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Circular and hyperbolic functions for kernels; see math_core.h. */
#pragma once

#include "math_core.h"

/* The bits of 2/pi after the point: enough for the exponent of any double. */
#ifdef __CUDA__
static __attribute__((device, unused))
#else
static __attribute__((unused))
#endif
const unsigned long long softgpu_two_over_pi[20] = {
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

/* The high word of a 64 x 64 bit product. */
SOFTGPU_MATH unsigned long long softgpu_multiply_high(unsigned long long a, unsigned long long b)
{
	unsigned long long a0 = (unsigned int)a, a1 = a >> 32, b0 = (unsigned int)b, b1 = b >> 32;
	unsigned long long middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1;

	return a1 * b1 + (middle >> 32) + (((unsigned int)middle + other) >> 32);
}

/* 64 bits of 2/pi, the first one worth 2^-(first + 1). */
SOFTGPU_MATH unsigned long long softgpu_two_over_pi_bits(int first)
{
	int word = first >> 6, shift = first & 63;
	unsigned long long bits;

	if (first < 0)
		return first > -64 ? softgpu_two_over_pi[0] >> -first : 0;
	bits = softgpu_two_over_pi[word] << shift;
	return shift ? bits | softgpu_two_over_pi[word + 1] >> (64 - shift) : bits;
}

/*
 * x modulo pi/2 for any finite x >= 2^20, after Payne and Hanek: of the product of x and 2/pi
 * only the two bits before the point and the 126 after it matter, and only some bits of 2/pi
 * reach them.
 */
SOFTGPU_MATH int softgpu_reduce_large(double x, struct softgpu_pair *ret_rest)
{
	unsigned long long bits = softgpu_bits(x);
	unsigned long long mantissa = (bits & 0xfffffffffffffULL) | 0x10000000000000ULL;
	int first = (int)(bits >> 52 & 0x7ff) - 1075 - 2;
	unsigned long long a = softgpu_two_over_pi_bits(first);
	unsigned long long b = softgpu_two_over_pi_bits(first + 64);
	unsigned long long c = softgpu_two_over_pi_bits(first + 128);
	unsigned long long high, low, part;
	int quadrant, negative;
	double f, f_low;

	/* The product modulo 4, as a 128 bit fraction of 4. */
	low = mantissa * b;
	high = mantissa * a + softgpu_multiply_high(mantissa, b);
	part = softgpu_multiply_high(mantissa, c);
	low += part;
	high += low < part;
	quadrant = (int)(high >> 62);
	high = high << 2 | low >> 62;
	low <<= 2;
	negative = high >> 63;
	if (negative) {
		quadrant++;
		high = ~high;
		low = ~low;
	}
	/* high:low is now the fraction of a quadrant, at most a half. */
	f = (double)(high >> 11) * 0x1p-53;
	f_low = (double)((high & 0x7ff) << 52 | low >> 12) * 0x1p-116;
	ret_rest->high = f * SOFTGPU_PI_2;
	ret_rest->low = __builtin_fma(f, SOFTGPU_PI_2, -ret_rest->high) +
			(f * SOFTGPU_PI_2_LOW + f_low * SOFTGPU_PI_2);
	*ret_rest = softgpu_sum(ret_rest->high, ret_rest->low);
	if (negative)
		*ret_rest = softgpu_pair(-ret_rest->high, -ret_rest->low);
	return quadrant & 3;
}

/* x = quadrant * pi/2 + rest, |rest| <= pi/4; x is finite. */
SOFTGPU_MATH int softgpu_reduce(double x, struct softgpu_pair *ret_rest)
{
	double n, r, t, t_low, high;
	int quadrant;

	if (softgpu_abs(x) >= 0x1p20) {
		quadrant = softgpu_reduce_large(softgpu_abs(x), ret_rest);
		if (x > 0)
			return quadrant;
		*ret_rest = softgpu_pair(-ret_rest->high, -ret_rest->low);
		return -quadrant & 3;
	}
	n = __builtin_rint(x * (1 / SOFTGPU_PI_2));
	r = __builtin_fma(-n, SOFTGPU_PI_2, x);
	t = n * SOFTGPU_PI_2_LOW;
	t_low = __builtin_fma(n, SOFTGPU_PI_2_LOW, -t) + n * SOFTGPU_PI_2_LOWEST;
	high = r - t;
	*ret_rest = softgpu_sum(high, ((r - high) - t) - t_low);
	return (int)n & 3;
}

/* sin(x + low), |x| <= pi/4. */
SOFTGPU_MATH double softgpu_sin_kernel(struct softgpu_pair x)
{
	double z = x.high * x.high, sum = 1.0 / 355687428096000.0;

	sum = __builtin_fma(sum, z, -1.0 / 1307674368000.0);
	sum = __builtin_fma(sum, z, 1.0 / 6227020800.0);
	sum = __builtin_fma(sum, z, -1.0 / 39916800.0);
	sum = __builtin_fma(sum, z, 1.0 / 362880.0);
	sum = __builtin_fma(sum, z, -1.0 / 5040.0);
	sum = __builtin_fma(sum, z, 1.0 / 120.0);
	sum = __builtin_fma(sum, z, -1.0 / 6.0);
	return x.high + __builtin_fma(sum * z, x.high, x.low * (1 - 0.5 * z));
}

SOFTGPU_MATH double softgpu_cos_kernel(struct softgpu_pair x)
{
	double z = x.high * x.high, half = 0.5 * z, one = 1 - half, sum = 1.0 / 20922789888000.0;

	sum = __builtin_fma(sum, z, -1.0 / 87178291200.0);
	sum = __builtin_fma(sum, z, 1.0 / 479001600.0);
	sum = __builtin_fma(sum, z, -1.0 / 3628800.0);
	sum = __builtin_fma(sum, z, 1.0 / 40320.0);
	sum = __builtin_fma(sum, z, -1.0 / 720.0);
	sum = __builtin_fma(sum, z, 1.0 / 24.0);
	return one + (((1 - one) - half) + (z * z * sum - x.high * x.low));
}

SOFTGPU_MATH double softgpu_quadrant_sin(int quadrant, struct softgpu_pair rest)
{
	double result = quadrant & 1 ? softgpu_cos_kernel(rest) : softgpu_sin_kernel(rest);

	return quadrant & 2 ? -result : result;
}

SOFTGPU_MATH void softgpu_sincos(double x, double *sine, double *cosine)
{
	struct softgpu_pair rest;
	int quadrant;

	if (!softgpu_isfinite(x)) {
		*sine = *cosine = SOFTGPU_NAN;
		return;
	}
	quadrant = softgpu_reduce(x, &rest);
	*sine = x == 0 ? x : softgpu_quadrant_sin(quadrant, rest);
	*cosine = softgpu_quadrant_sin(quadrant + 1, rest);
}

SOFTGPU_MATH double softgpu_sin(double x)
{
	struct softgpu_pair rest;
	int quadrant;

	if (x == 0)
		return x;
	if (!softgpu_isfinite(x))
		return SOFTGPU_NAN;
	quadrant = softgpu_reduce(x, &rest);
	return softgpu_quadrant_sin(quadrant, rest);
}

SOFTGPU_MATH double softgpu_cos(double x)
{
	struct softgpu_pair rest;
	int quadrant;

	if (!softgpu_isfinite(x))
		return SOFTGPU_NAN;
	quadrant = softgpu_reduce(x, &rest);
	return softgpu_quadrant_sin(quadrant + 1, rest);
}

SOFTGPU_MATH double softgpu_tan(double x)
{
	double sine, cosine;

	softgpu_sincos(x, &sine, &cosine);
	return sine / cosine;
}

/* sin(pi x), cos(pi x): the reduction is exact. */
SOFTGPU_MATH void softgpu_sincospi(double x, double *sine, double *cosine)
{
	double n, t;
	struct softgpu_pair rest;
	int quadrant;

	if (!softgpu_isfinite(x)) {
		*sine = *cosine = SOFTGPU_NAN;
		return;
	}
	t = x - 2 * __builtin_rint(x * 0.5);
	n = __builtin_rint(2 * t);
	t = t - n * 0.5;
	rest.high = t * SOFTGPU_PI;
	rest.low = __builtin_fma(t, SOFTGPU_PI, -rest.high) + t * SOFTGPU_PI_LOW;
	quadrant = (int)n & 3;
	*sine = t == 0 && !(quadrant & 1) ? softgpu_copysign(0, x)
					  : softgpu_quadrant_sin(quadrant, rest);
	*cosine = t == 0 && (quadrant & 1) ? 0 : softgpu_quadrant_sin(quadrant + 1, rest);
}

/* atan(k/8) */
#ifdef __CUDA__
static __attribute__((device, unused))
#else
static __attribute__((unused))
#endif
const double softgpu_atan_eighths[9][2] = {
	{0, 0},
	{0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
	{0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
	{0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
	{0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
	{0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
	{0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
	{0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
	{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

/* atan(x + low) as a pair, 0 <= x <= 1. */
SOFTGPU_MATH struct softgpu_pair softgpu_atan_kernel(double x, double low)
{
	double k = __builtin_rint(x * 8), c = k * 0.125, d = __builtin_fma(x, c, 1);
	double t = ((x - c) + low) / d, z = t * t, sum = 1.0 / 17;
	int row = (int)k;

	sum = __builtin_fma(sum, z, -1.0 / 15);
	sum = __builtin_fma(sum, z, 1.0 / 13);
	sum = __builtin_fma(sum, z, -1.0 / 11);
	sum = __builtin_fma(sum, z, 1.0 / 9);
	sum = __builtin_fma(sum, z, -1.0 / 7);
	sum = __builtin_fma(sum, z, 1.0 / 5);
	sum = __builtin_fma(sum, z, -1.0 / 3);
	sum = sum * z * t;
	if (!row)
		return softgpu_sum(t, sum);
	return softgpu_sum(softgpu_atan_eighths[row][0], t + (sum + softgpu_atan_eighths[row][1]));
}

/* The angle of the point (x, y), both positive and finite, as a number from 0 to pi/2. */
SOFTGPU_MATH struct softgpu_pair softgpu_angle(double y, double x)
{
	double ratio, low;
	struct softgpu_pair angle;

	if (y <= x) {
		ratio = y / x;
		low = ratio < 0x1p-900 ? 0 : __builtin_fma(-ratio, x, y) / x;
		if (ratio < 0x1p-30)
			return softgpu_pair(ratio, 0);
		return softgpu_atan_kernel(ratio, low);
	}
	ratio = x / y;
	low = ratio < 0x1p-900 ? 0 : __builtin_fma(-ratio, y, x) / y;
	angle = softgpu_atan_kernel(ratio, low);
	return softgpu_sum(SOFTGPU_PI_2 - angle.high,
			   ((SOFTGPU_PI_2 - (SOFTGPU_PI_2 - angle.high)) - angle.high) +
				   (SOFTGPU_PI_2_LOW - angle.low));
}

SOFTGPU_MATH double softgpu_atan2(double y, double x)
{
	double a = softgpu_abs(x), b = softgpu_abs(y);
	struct softgpu_pair angle;

	if (softgpu_isnan(x) || softgpu_isnan(y))
		return SOFTGPU_NAN;
	if (softgpu_isinf(a) && softgpu_isinf(b))
		a = b = 1;
	if (b == 0 || softgpu_isinf(a)) {
		angle = softgpu_pair(0, 0);
	} else if (a == 0 || softgpu_isinf(b)) {
		return softgpu_copysign(SOFTGPU_PI_2, y);
	} else {
		int n;

		/* Scaled so that neither the quotient's error nor the quotient is lost. */
		softgpu_frexp(a > b ? a : b, &n);
		angle = softgpu_angle(softgpu_scalbn(b, -n), softgpu_scalbn(a, -n));
		if (angle.high < 0x1p-900 && !(softgpu_bits(x) >> 63))
			return softgpu_copysign(b / a, y);
	}
	if (softgpu_bits(x) >> 63)
		angle.high = SOFTGPU_PI - angle.high + (SOFTGPU_PI_LOW - angle.low);
	else
		angle.high += angle.low;
	return softgpu_copysign(angle.high, y);
}

SOFTGPU_MATH double softgpu_atan(double x)
{
	return softgpu_atan2(x, 1);
}

SOFTGPU_MATH double softgpu_asin(double x)
{
	if (!(softgpu_abs(x) <= 1))
		return SOFTGPU_NAN;
	return softgpu_atan2(x, __builtin_sqrt((1 - x) * (1 + x)));
}

SOFTGPU_MATH double softgpu_acos(double x)
{
	if (!(softgpu_abs(x) <= 1))
		return SOFTGPU_NAN;
	return softgpu_atan2(__builtin_sqrt((1 - x) * (1 + x)), x);
}

SOFTGPU_MATH double softgpu_sinh(double x)
{
	double size = softgpu_abs(x), t;

	if (size < 0x1p-28 || !softgpu_isfinite(x))
		return x;
	if (size < 20) {
		t = softgpu_expm1(size);
		t = 0.5 * (t + t / (t + 1));
	} else if (size < 709) {
		t = 0.5 * softgpu_exp(size);
	} else {
		t = softgpu_exp_pair(size - SOFTGPU_LN2, -SOFTGPU_LN2_LOW);
	}
	return softgpu_copysign(t, x);
}

SOFTGPU_MATH double softgpu_cosh(double x)
{
	double size = softgpu_abs(x), t;

	if (!softgpu_isfinite(x))
		return size;
	if (size >= 709)
		return softgpu_exp_pair(size - SOFTGPU_LN2, -SOFTGPU_LN2_LOW);
	t = softgpu_exp(size);
	return 0.5 * t + 0.5 / t;
}

SOFTGPU_MATH double softgpu_tanh(double x)
{
	double size = softgpu_abs(x), t;

	if (softgpu_isnan(x) || x == 0)
		return x;
	if (size > 22)
		return softgpu_copysign(1, x);
	t = softgpu_expm1(2 * size);
	return softgpu_copysign(t / (t + 2), x);
}

SOFTGPU_MATH double softgpu_asinh(double x)
{
	double a = softgpu_abs(x), result;

	if (a < 0x1p-28 || !softgpu_isfinite(x))
		return x;
	if (a > 0x1p28)
		result = softgpu_log(a) + SOFTGPU_LN2;
	else
		result = softgpu_log1p(a + a * a / (1 + __builtin_sqrt(1 + a * a)));
	return softgpu_copysign(result, x);
}

SOFTGPU_MATH double softgpu_acosh(double x)
{
	double t = x - 1;

	if (!(x >= 1))
		return SOFTGPU_NAN;
	if (x > 0x1p28)
		return softgpu_log(x) + SOFTGPU_LN2;
	return softgpu_log1p(t + __builtin_sqrt(2 * t + t * t));
}

SOFTGPU_MATH double softgpu_atanh(double x)
{
	double a = softgpu_abs(x);

	if (a > 1)
		return SOFTGPU_NAN;
	if (a < 0x1p-28)
		return x;
	return softgpu_copysign(0.5 * softgpu_log1p(2 * a / (1 - a)), x);
}
