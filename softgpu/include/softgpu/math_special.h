/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The error function, the normal distribution and the gamma function for kernels; see
 * math_core.h. Their results are within some 1e-12 of the true ones, relatively; lgamma's near its
 * zeros 1 and 2 absolutely.
 */
#pragma once

#include "math_angles.h"

/* e^(-x^2), the square carried as a pair. */
SOFTGPU_MATH double softgpu_exp_minus_square(double x)
{
	double square = x * x;

	return softgpu_exp_pair(-square, -__builtin_fma(x, x, -square));
}

/* erf by its series, 0 <= x < 2.5: every term is positive. */
SOFTGPU_MATH double softgpu_erf_series(double x)
{
	double term = x, sum = x, square = 2 * x * x;

	for (int n = 3; term > sum * 0x1p-55; n += 2) {
		term *= square / n;
		sum += term;
	}
	return sum * 0x1.20dd750429b6dp+0 * softgpu_exp_minus_square(x);
}

/* erfc(x) e^(x^2) by its continued fraction, x >= 1.2. */
SOFTGPU_MATH double softgpu_erfc_fraction(double x)
{
	double fraction = x;

	for (int n = 120; n > 0; n--)
		fraction = x + 0.5 * n / fraction;
	return 0x1.20dd750429b6dp-1 / fraction;
}

SOFTGPU_MATH double softgpu_erf(double x)
{
	double a = softgpu_abs(x);

	if (softgpu_isnan(x) || x == 0)
		return x;
	if (a < 0x1p-500)
		return x * 0x1.20dd750429b6dp+0;
	if (a > 6)
		return softgpu_copysign(1, x);
	if (a < 2.5)
		return softgpu_copysign(softgpu_erf_series(a), x);
	return softgpu_copysign(1 - softgpu_erfc_fraction(a) * softgpu_exp_minus_square(a), x);
}

SOFTGPU_MATH double softgpu_erfc(double x)
{
	if (softgpu_isnan(x))
		return x;
	if (x < 0.5)
		return 1 - softgpu_erf(x);
	if (x > 27.3)
		return 0;
	if (x < 1.2)
		return 1 - softgpu_erf_series(x);
	return softgpu_erfc_fraction(x) * softgpu_exp_minus_square(x);
}

SOFTGPU_MATH double softgpu_erfcx(double x)
{
	if (softgpu_isnan(x))
		return x;
	if (x >= 1.2)
		return x > 1e8 ? 0x1.20dd750429b6dp-1 / x : softgpu_erfc_fraction(x);
	return softgpu_erfc(x) / softgpu_exp_minus_square(x);
}

/* The y with erfc(y) = x, 0 < x <= 1, by Halley's method from a rational guess. */
SOFTGPU_MATH double softgpu_erfc_inverse(double x)
{
	double t = __builtin_sqrt(-2 * softgpu_log(x / 2));
	double y = 0.70710678118654752 *
		   (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));

	for (int step = 0; step < 4; step++) {
		double error = softgpu_erfc(y) - x;

		error /= 0x1.20dd750429b6dp+0 * softgpu_exp_minus_square(y);
		y += error / (1 - y * error);
	}
	return y;
}

SOFTGPU_MATH double softgpu_erfinv(double x)
{
	double a = softgpu_abs(x), y;

	if (!(a <= 1))
		return SOFTGPU_NAN;
	if (a == 1)
		return softgpu_copysign(SOFTGPU_INFINITY, x);
	if (a > 0.5)
		return softgpu_copysign(softgpu_erfc_inverse(1 - a), x);
	/* Newton's method on erf itself keeps small values precise. */
	y = x * 0x1.c5bf891b4ef6ap-1;
	if (a < 0x1p-30)
		return y;
	for (int step = 0; step < 6; step++)
		y -= (softgpu_erf(y) - x) / (0x1.20dd750429b6dp+0 * softgpu_exp_minus_square(y));
	return y;
}

SOFTGPU_MATH double softgpu_erfcinv(double x)
{
	if (!(x >= 0 && x <= 2))
		return SOFTGPU_NAN;
	if (x == 0)
		return SOFTGPU_INFINITY;
	if (x == 2)
		return -SOFTGPU_INFINITY;
	if (x > 0.5 && x < 1.5)
		return softgpu_erfinv(1 - x);
	return x < 1 ? softgpu_erfc_inverse(x) : -softgpu_erfc_inverse(2 - x);
}

SOFTGPU_MATH double softgpu_normcdf(double x)
{
	return 0.5 * softgpu_erfc(x * -0x1.6a09e667f3bcdp-1);
}

SOFTGPU_MATH double softgpu_normcdfinv(double x)
{
	return -0x1.6a09e667f3bcdp+0 * softgpu_erfcinv(2 * x);
}

/* Lanczos's sum for g = 7 with nine terms: gamma(x + 1) is sqrt(2 pi) t^(x+1/2) e^-t of it. */
SOFTGPU_MATH double softgpu_lanczos(double x)
{
	return 0.99999999999980993 + 676.5203681218851 / (x + 1) - 1259.1392167224028 / (x + 2) +
	       771.32342877765313 / (x + 3) - 176.61502916214059 / (x + 4) +
	       12.507343278686905 / (x + 5) - 0.13857109526572012 / (x + 6) +
	       9.9843695780195716e-6 / (x + 7) + 1.5056327351493116e-7 / (x + 8);
}

SOFTGPU_MATH double softgpu_tgamma(double x)
{
	double t, power, product = 1;

	if (softgpu_isnan(x) || (softgpu_isinf(x) && x > 0))
		return x;
	if (x == 0)
		return softgpu_copysign(SOFTGPU_INFINITY, x);
	if (x < 0 && (softgpu_isinf(x) || __builtin_floor(x) == x))
		return SOFTGPU_NAN;
	if (x < 0.5) {
		double sine, cosine;

		if (x < -184)
			return softgpu_copysign(0, (long long)__builtin_floor(x) & 1 ? -1 : 1);
		softgpu_sincospi(x, &sine, &cosine);
		if (x < -170) {
			t = softgpu_tgamma(1 - x - 20);
			for (int n = 0; n < 20; n++)
				product *= 1 - x - 20 + n;
			return SOFTGPU_PI / sine / t / product;
		}
		return SOFTGPU_PI / (sine * softgpu_tgamma(1 - x));
	}
	if (x > 171.7)
		return SOFTGPU_INFINITY;
	if (x < 24 && __builtin_floor(x) == x) {
		for (int n = 2; n < x; n++)
			product *= n;
		return product;
	}
	x -= 1;
	t = x + 7.5;
	/* The power in halves: whole, it overflows before the result does. */
	power = softgpu_pow(t, 0.5 * (x + 0.5));
	return 0x1.40d931ff62706p+1 * power * softgpu_exp(-t) * power * softgpu_lanczos(x);
}

SOFTGPU_MATH double softgpu_lgamma(double x)
{
	double t;

	if (softgpu_isnan(x))
		return x;
	if (softgpu_isinf(x) || (x <= 0 && __builtin_floor(x) == x))
		return SOFTGPU_INFINITY;
	if (x == 1 || x == 2)
		return 0;
	if (x < 0.5) {
		double sine, cosine;

		if (softgpu_abs(x) < 0x1p-60)
			return -softgpu_log(softgpu_abs(x));
		softgpu_sincospi(x, &sine, &cosine);
		return softgpu_log(SOFTGPU_PI / softgpu_abs(sine)) - softgpu_lgamma(1 - x);
	}
	if (x < 20)
		return softgpu_log(softgpu_tgamma(x));
	if (x > 1e17)
		return x * (softgpu_log(x) - 1);
	/* Stirling's series. */
	t = 1 / (x * x);
	t = (1.0 / 12 - t * (1.0 / 360 - t * (1.0 / 1260 - t * (1.0 / 1680 - t / 1188)))) / x;
	return (x - 0.5) * softgpu_log(x) - x + (0x1.d67f1c864beb5p-1 + t);
}
