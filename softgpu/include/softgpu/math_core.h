/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mathematical functions for kernels, in plain C: the part of the device's mathematics that is no
 * single instruction. They also compile for the host, where a test compares them with the C
 * library. Double precision; results are within 4 units in the last place except where a function
 * says otherwise, and infinities, NaN and signed zeros are those of C17 annex F.
 *
 * The series are the textbook ones (Taylor, continued fractions, Lanczos) behind a reduction of
 * the argument. A sum that must not lose bits is carried as a pair: high + low, low being small.
 */
#pragma once

#ifdef __CUDA__
#define SOFTGPU_MATH static __inline__ __attribute__((device, unused))
#else
#define SOFTGPU_MATH static __inline__ __attribute__((unused))
#endif

#define SOFTGPU_LN2 0x1.62e42fefa39efp-1
#define SOFTGPU_LN2_LOW 0x1.abc9e3b39803fp-56
#define SOFTGPU_LOG2E 0x1.71547652b82fep+0
#define SOFTGPU_PI_2 0x1.921fb54442d18p+0
#define SOFTGPU_PI_2_LOW 0x1.1a62633145c07p-54
#define SOFTGPU_PI_2_LOWEST -0x1.f1976b7ed8fbcp-110
#define SOFTGPU_PI 0x1.921fb54442d18p+1
#define SOFTGPU_PI_LOW 0x1.1a62633145c07p-53
#define SOFTGPU_INFINITY __builtin_inf()
#define SOFTGPU_NAN __builtin_nan("")

struct softgpu_pair {
	double high, low;
};

SOFTGPU_MATH struct softgpu_pair softgpu_pair(double high, double low)
{
	struct softgpu_pair pair;

	pair.high = high;
	pair.low = low;
	return pair;
}

/* a + b exactly; |a| >= |b|. */
SOFTGPU_MATH struct softgpu_pair softgpu_sum(double a, double b)
{
	double sum = a + b;

	return softgpu_pair(sum, b - (sum - a));
}

/* a * b, low being exact but for the last bit. */
SOFTGPU_MATH struct softgpu_pair softgpu_product(struct softgpu_pair a, struct softgpu_pair b)
{
	double high = a.high * b.high;

	return softgpu_pair(high, __builtin_fma(a.high, b.high, -high) +
					  (a.high * b.low + a.low * b.high));
}

SOFTGPU_MATH unsigned long long softgpu_bits(double x)
{
	union {
		double value;
		unsigned long long bits;
	} u;

	u.value = x;
	return u.bits;
}

SOFTGPU_MATH double softgpu_from_bits(unsigned long long bits)
{
	union {
		double value;
		unsigned long long bits;
	} u;

	u.bits = bits;
	return u.value;
}

SOFTGPU_MATH double softgpu_abs(double x)
{
	return softgpu_from_bits(softgpu_bits(x) & 0x7fffffffffffffffULL);
}

SOFTGPU_MATH double softgpu_copysign(double x, double sign)
{
	return softgpu_from_bits((softgpu_bits(x) & 0x7fffffffffffffffULL) |
				 (softgpu_bits(sign) & 0x8000000000000000ULL));
}

SOFTGPU_MATH int softgpu_isnan(double x)
{
	return (softgpu_bits(x) << 1) > 0xffe0000000000000ULL;
}

SOFTGPU_MATH int softgpu_isinf(double x)
{
	return (softgpu_bits(x) << 1) == 0xffe0000000000000ULL;
}

SOFTGPU_MATH int softgpu_isfinite(double x)
{
	return (softgpu_bits(x) << 1) < 0xffe0000000000000ULL;
}

/* 2^n for -1022 <= n <= 1023. */
SOFTGPU_MATH double softgpu_power_of_two(int n)
{
	return softgpu_from_bits((unsigned long long)(n + 1023) << 52);
}

SOFTGPU_MATH double softgpu_scalbn(double x, int n)
{
	/* In steps that stay normal; a first step below 2^-969 would round twice. */
	for (; n > 1023; n -= 1023) {
		x *= 0x1p1023;
		if (!softgpu_isfinite(x))
			return x;
	}
	for (; n < -1022; n += 969) {
		x *= 0x1p-969;
		if (x == 0)
			return x;
	}
	return x * softgpu_power_of_two(n);
}

/* x = m * 2^n with 0.5 <= |m| < 1; zero, infinity and NaN are their own m. */
SOFTGPU_MATH double softgpu_frexp(double x, int *n)
{
	unsigned long long bits = softgpu_bits(x);
	int exponent = (int)(bits >> 52 & 0x7ff), extra = 0;

	*n = 0;
	if (x == 0 || exponent == 0x7ff)
		return x;
	if (!exponent) {
		bits = softgpu_bits(x * 0x1p54);
		exponent = (int)(bits >> 52 & 0x7ff);
		extra = 54;
	}
	*n = exponent - 1022 - extra;
	return softgpu_from_bits((bits & 0x800fffffffffffffULL) | 0x3fe0000000000000ULL);
}

SOFTGPU_MATH int softgpu_ilogb(double x)
{
	int n;

	if (x == 0)
		return -__INT_MAX__ - 1; /* FP_ILOGB0 as CUDA has it */
	if (softgpu_isnan(x))
		return -__INT_MAX__ - 1;
	if (softgpu_isinf(x))
		return __INT_MAX__;
	softgpu_frexp(x, &n);
	return n - 1;
}

/* Exponentials */

/* e^t - 1 - t for |t| <= 0.36. */
SOFTGPU_MATH double softgpu_exp_tail(double t)
{
	double sum = 1.0 / 87178291200.0;

	sum = __builtin_fma(sum, t, 1.0 / 6227020800.0);
	sum = __builtin_fma(sum, t, 1.0 / 479001600.0);
	sum = __builtin_fma(sum, t, 1.0 / 39916800.0);
	sum = __builtin_fma(sum, t, 1.0 / 3628800.0);
	sum = __builtin_fma(sum, t, 1.0 / 362880.0);
	sum = __builtin_fma(sum, t, 1.0 / 40320.0);
	sum = __builtin_fma(sum, t, 1.0 / 5040.0);
	sum = __builtin_fma(sum, t, 1.0 / 720.0);
	sum = __builtin_fma(sum, t, 1.0 / 120.0);
	sum = __builtin_fma(sum, t, 1.0 / 24.0);
	sum = __builtin_fma(sum, t, 1.0 / 6.0);
	sum = __builtin_fma(sum, t, 0.5);
	return sum * t * t;
}

/* e^(x + low), low being small beside x. */
SOFTGPU_MATH double softgpu_exp_pair(double x, double low)
{
	double n, t, small;

	if (softgpu_isnan(x))
		return x;
	if (x > 710)
		return SOFTGPU_INFINITY;
	if (x < -746)
		return 0;
	n = __builtin_rint(x * SOFTGPU_LOG2E);
	t = __builtin_fma(n, -SOFTGPU_LN2, x);
	small = __builtin_fma(n, -SOFTGPU_LN2_LOW, low);
	return softgpu_scalbn(1 + (t + (small + softgpu_exp_tail(t + small))), (int)n);
}

SOFTGPU_MATH double softgpu_exp(double x)
{
	return softgpu_exp_pair(x, 0);
}

SOFTGPU_MATH double softgpu_exp2(double x)
{
	double n, t, product;

	if (softgpu_isnan(x))
		return x;
	if (x >= 1024)
		return SOFTGPU_INFINITY;
	if (x < -1076)
		return 0;
	n = __builtin_rint(x);
	t = x - n;
	product = t * SOFTGPU_LN2;
	t = __builtin_fma(t, SOFTGPU_LN2, -product) + t * SOFTGPU_LN2_LOW;
	return softgpu_scalbn(1 + (product + (t + softgpu_exp_tail(product))), (int)n);
}

SOFTGPU_MATH double softgpu_exp10(double x)
{
	const double ln10 = 0x1.26bb1bbb55516p+1, ln10_low = -0x1.f48ad494ea3e9p-53;
	double product = x * ln10, low;

	if (!softgpu_isfinite(product))
		return softgpu_exp_pair(product, 0);
	low = __builtin_fma(x, ln10, -product) + x * ln10_low;
	return softgpu_exp_pair(product, low);
}

SOFTGPU_MATH double softgpu_expm1(double x)
{
	double n, t, small, scale, tail;

	if (softgpu_isnan(x) || x == 0)
		return x;
	if (x > 710)
		return SOFTGPU_INFINITY;
	if (x < -40)
		return -1;
	n = __builtin_rint(x * SOFTGPU_LOG2E);
	t = __builtin_fma(n, -SOFTGPU_LN2, x);
	small = n * -SOFTGPU_LN2_LOW;
	tail = t + (small + softgpu_exp_tail(t + small));
	if (n > 1000)
		return softgpu_scalbn(1 + tail, (int)n);
	scale = softgpu_power_of_two((int)n);
	return __builtin_fma(scale, tail, scale - 1);
}

/* Logarithms */

/* Splits x > 0 into 2^n * m, m from sqrt(1/2) to sqrt(2). */
SOFTGPU_MATH double softgpu_log_reduce(double x, double *n)
{
	int exponent;
	double m = softgpu_frexp(x, &exponent);

	if (m < 0x1.6a09e667f3bcdp-1) {
		m *= 2;
		exponent--;
	}
	*n = exponent;
	return m;
}

/* 2/5 + 2/7 z + 2/9 z^2 … for z = s^2 <= 0.03; log((1+s)/(1-s)) is 2s + 2/3 s^3 + s^5 of it. */
SOFTGPU_MATH double softgpu_log_tail(double z)
{
	double sum = 2.0 / 25;

	sum = __builtin_fma(sum, z, 2.0 / 23);
	sum = __builtin_fma(sum, z, 2.0 / 21);
	sum = __builtin_fma(sum, z, 2.0 / 19);
	sum = __builtin_fma(sum, z, 2.0 / 17);
	sum = __builtin_fma(sum, z, 2.0 / 15);
	sum = __builtin_fma(sum, z, 2.0 / 13);
	sum = __builtin_fma(sum, z, 2.0 / 11);
	sum = __builtin_fma(sum, z, 2.0 / 9);
	sum = __builtin_fma(sum, z, 2.0 / 7);
	return __builtin_fma(sum, z, 2.0 / 5);
}

/* log(1 + f) + low for sqrt(1/2) <= 1 + f <= sqrt(2). */
SOFTGPU_MATH double softgpu_log_near_one(double f, double low)
{
	double s = f / (2 + f), half = 0.5 * f * f, z = s * s;
	double tail = __builtin_fma(softgpu_log_tail(z), z, 2.0 / 3) * z;

	return f - (half - (s * (half + tail) + low));
}

/* What log, log2, log10 and log1p give for x <= 0, infinity and NaN. */
SOFTGPU_MATH int softgpu_log_special(double x, double *result)
{
	if (softgpu_isnan(x))
		*result = x;
	else if (x == 0)
		*result = -SOFTGPU_INFINITY;
	else if (x < 0)
		*result = SOFTGPU_NAN;
	else if (softgpu_isinf(x))
		*result = x;
	else
		return 0;
	return 1;
}

SOFTGPU_MATH double softgpu_log(double x)
{
	double n, m, result;

	if (softgpu_log_special(x, &result))
		return result;
	m = softgpu_log_reduce(x, &n);
	result = softgpu_log_near_one(m - 1, n * SOFTGPU_LN2_LOW);
	return __builtin_fma(n, SOFTGPU_LN2, result);
}

SOFTGPU_MATH double softgpu_log1p(double x)
{
	double n, m, u, result;

	if (x == 0)
		return x;
	if (softgpu_log_special(1 + x, &result))
		return result;
	if (softgpu_abs(x) < 0.29)
		return softgpu_log_near_one(x, 0);
	/* What 1 + x loses is made up for by the derivative. */
	u = 1 + x;
	m = softgpu_log_reduce(u, &n);
	result = n * SOFTGPU_LN2_LOW + (x >= 1 ? 1 - (u - x) : x - (u - 1)) / u;
	return __builtin_fma(n, SOFTGPU_LN2, softgpu_log_near_one(m - 1, result));
}

/* log(m) as a pair, m from sqrt(1/2) to sqrt(2), correct to some 65 bits. */
SOFTGPU_MATH struct softgpu_pair softgpu_log_pair(double m)
{
	double f = m - 1, d = m + 1, d_low = m >= 1 ? 1 - (d - m) : m - (d - 1);
	double s_high = f / d, z, rest;
	struct softgpu_pair s, cube, sum;

	s = softgpu_pair(s_high, (__builtin_fma(-s_high, d, f) - s_high * d_low) / d);
	z = s_high * s_high;
	/* 2/3 s^3 as a pair; from s^5 on doubles suffice. */
	cube = softgpu_product(softgpu_product(s, s), s);
	cube = softgpu_product(cube, softgpu_pair(2.0 / 3, 0x1.5555555555555p-55));
	rest = softgpu_log_tail(z) * z * z * s_high;
	sum = softgpu_sum(2 * s.high, cube.high);
	return softgpu_sum(sum.high, sum.low + (2 * s.low + (cube.low + rest)));
}

SOFTGPU_MATH double softgpu_log2(double x)
{
	double n, m, result;
	struct softgpu_pair l;

	if (softgpu_log_special(x, &result))
		return result;
	m = softgpu_log_reduce(x, &n);
	l = softgpu_log_pair(m);
	l = softgpu_product(l, softgpu_pair(SOFTGPU_LOG2E, 0x1.777d0ffda0d24p-56));
	return n + l.high + ((n == 0 ? 0 : l.high - ((n + l.high) - n)) + l.low);
}

SOFTGPU_MATH double softgpu_log10(double x)
{
	const double log10_2 = 0x1.34413509f79ffp-2, log10_2_low = -0x1.9dc1da994fd21p-59;
	double n, m, result;
	struct softgpu_pair l, e;

	if (softgpu_log_special(x, &result))
		return result;
	m = softgpu_log_reduce(x, &n);
	l = softgpu_log_pair(m);
	l = softgpu_product(l, softgpu_pair(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57));
	e = softgpu_product(softgpu_pair(n, 0), softgpu_pair(log10_2, log10_2_low));
	if (n == 0)
		return l.high + l.low;
	return e.high + (l.high + (e.low + l.low));
}

/* Powers */

/* |x|^y for finite x > 0 and finite y. */
SOFTGPU_MATH double softgpu_pow_positive(double x, double y)
{
	double n, m, high;
	struct softgpu_pair l, e, product;

	m = softgpu_log_reduce(x, &n);
	l = softgpu_log_pair(m);
	e = softgpu_product(softgpu_pair(n, 0), softgpu_pair(SOFTGPU_LN2, SOFTGPU_LN2_LOW));
	if (n != 0) {
		struct softgpu_pair sum = softgpu_sum(e.high, l.high);

		l = softgpu_sum(sum.high, sum.low + (e.low + l.low));
	}
	high = l.high * y;
	if (high > 800 || high < -800)
		return high > 0 ? SOFTGPU_INFINITY : 0;
	product = softgpu_product(l, softgpu_pair(y, 0));
	return softgpu_exp_pair(product.high, product.low);
}

SOFTGPU_MATH double softgpu_pow(double x, double y)
{
	double size = softgpu_abs(x), result;
	int whole, odd;

	if (y == 0 || x == 1)
		return 1;
	if (softgpu_isnan(x) || softgpu_isnan(y))
		return SOFTGPU_NAN;
	whole = __builtin_rint(y) == y;
	odd = whole && softgpu_abs(y) < 0x1p53 && ((long long)y & 1);
	if (softgpu_isinf(y)) {
		if (size == 1)
			return 1;
		return (size > 1) == (y > 0) ? SOFTGPU_INFINITY : 0;
	}
	if (x == 0 || softgpu_isinf(x))
		result = (x == 0) == (y > 0) ? 0 : SOFTGPU_INFINITY;
	else if (x < 0 && !whole)
		return SOFTGPU_NAN;
	else
		result = softgpu_pow_positive(size, y);
	return odd ? softgpu_copysign(result, x) : result;
}

SOFTGPU_MATH double softgpu_cbrt(double x)
{
	double n, m, root, result;
	int third;

	if (x == 0 || !softgpu_isfinite(x))
		return x;
	m = softgpu_log_reduce(softgpu_abs(x), &n);
	third = (int)n / 3;
	m *= softgpu_power_of_two((int)n - 3 * third);
	root = softgpu_exp(softgpu_log(m) / 3);
	root -= __builtin_fma(root * root, root, -m) / (3 * root * root);
	result = softgpu_scalbn(root, third);
	return softgpu_copysign(result, x);
}

/* sqrt(x^2 + y^2) for |x| >= |y|, without overflow on the way. */
SOFTGPU_MATH double softgpu_hypot(double x, double y)
{
	double a = softgpu_abs(x), b = softgpu_abs(y), square;
	int n;

	if (softgpu_isinf(a) || softgpu_isinf(b))
		return SOFTGPU_INFINITY;
	if (softgpu_isnan(a) || softgpu_isnan(b))
		return SOFTGPU_NAN;
	if (a < b) {
		double swap = a;

		a = b;
		b = swap;
	}
	if (b == 0)
		return a;
	softgpu_frexp(a, &n);
	a = softgpu_scalbn(a, -n);
	b = softgpu_scalbn(b, -n);
	square = a * a;
	square += __builtin_fma(a, a, -square) + b * b;
	return softgpu_scalbn(__builtin_sqrt(square), n);
}

SOFTGPU_MATH double softgpu_fmod(double x, double y)
{
	double a = softgpu_abs(x), b = softgpu_abs(y);
	int na, nb;

	if (softgpu_isnan(x) || softgpu_isnan(y) || softgpu_isinf(x) || y == 0)
		return SOFTGPU_NAN;
	if (a < b)
		return x;
	if (softgpu_isinf(y))
		return x;
	softgpu_frexp(a, &na);
	softgpu_frexp(b, &nb);
	/* Long division, a bit a step: every difference is exact. */
	for (int n = na - nb; n >= 0; n--) {
		double multiple = softgpu_scalbn(b, n);

		if (a >= multiple)
			a -= multiple;
	}
	return softgpu_copysign(a, x);
}

SOFTGPU_MATH double softgpu_remquo(double x, double y, int *quotient)
{
	double b = softgpu_abs(y), rest;
	int low = 0;

	*quotient = 0;
	if (softgpu_isnan(x) || softgpu_isnan(y) || softgpu_isinf(x) || y == 0)
		return SOFTGPU_NAN;
	if (softgpu_isinf(y))
		return x;
	/* Of the quotient its last three bits are wanted: x modulo 8y holds them. */
	rest = softgpu_abs(b < 0x1p1019 ? softgpu_fmod(x, 8 * b) : x);
	for (int bit = 4; bit; bit >>= 1) {
		double multiple = b * bit;

		if (rest >= multiple) {
			rest -= multiple;
			low += bit;
		}
	}
	if (rest > b - rest || (rest == b - rest && (low & 1))) {
		rest -= b;
		low++;
	}
	*quotient = (softgpu_bits(x) ^ softgpu_bits(y)) >> 63 ? -low : low;
	if (rest == 0)
		return softgpu_copysign(0, x);
	return x < 0 ? -rest : rest;
}
