/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The mathematical functions that kernels are built with, against the C library's long double. */
#include "softgpu/math_special.h"
#include "tap.h"

#include <math.h>

#define SAMPLES 20000

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double random_between(double low, double high)
{
	return low + (high - low) * ((double)(random_bits() >> 11) * 0x1p-53);
}

/* Any finite double, all exponents alike. */
static double random_double(void)
{
	double x;

	do {
		x = softgpu_from_bits(random_bits());
	} while (!isfinite(x));
	return x;
}

static const double special[] = {
	0.0,
	-0.0,
	1,
	-1,
	2,
	-2,
	0.5,
	-0.5,
	3,
	10,
	1000,
	INFINITY,
	-INFINITY,
	NAN,
	0x1p-1074,
	-0x1p-1074,
	1e-310,
	0x1p-30,
	-0x1p-30,
	0x1.fffffffffffffp1023,
	-0x1.fffffffffffffp1023,
};
#define SPECIALS (sizeof(special) / sizeof(*special))

/* How far apart, in units of the last place of what is right; huge where the kinds differ. */
static double distance(double got, long double right)
{
	double rounded = (double)right;
	int exponent;

	if (isnan(got) || isnan(rounded))
		return isnan(got) && isnan(rounded) ? 0 : HUGE_VAL;
	if (isinf(got) || isinf(rounded))
		return got == rounded ? 0 : HUGE_VAL;
	if (rounded == 0 && got == 0)
		return signbit(got) == signbit(rounded) ? 0 : HUGE_VAL;
	frexpl(right, &exponent);
	if (exponent < -1021)
		exponent = -1021;
	return (double)(fabsl(got - right) / ldexpl(1, exponent - 53));
}

struct worst {
	double ulps, x, y;
};

static void note(struct worst *worst, double ulps, double x, double y)
{
	if (ulps > worst->ulps)
		*worst = (struct worst){ulps, x, y};
}

static struct worst search1(double (*function)(double), long double (*right)(long double),
			    double low, double high)
{
	struct worst worst = {0};

	for (size_t i = 0; i < SAMPLES + SPECIALS; i++) {
		double x = i < SPECIALS ? special[i]
			   : i % 4 == 3 ? random_double()
					: random_between(low, high);

		note(&worst, distance(function(x), right(x)), x, 0);
	}
	return worst;
}

static struct worst search2(double (*function)(double, double),
			    long double (*right)(long double, long double), double low, double high)
{
	struct worst worst = {0};

	for (size_t i = 0; i < SPECIALS * SPECIALS; i++) {
		double x = special[i / SPECIALS], y = special[i % SPECIALS];

		note(&worst, distance(function(x, y), right(x, y)), x, y);
	}
	for (size_t i = 0; i < SAMPLES; i++) {
		double x = i % 4 == 3 ? random_double() : random_between(low, high);
		double y = i % 5 == 4 ? random_double() : random_between(low, high);

		note(&worst, distance(function(x, y), right(x, y)), x, y);
	}
	return worst;
}

#define CHECK1(name, low, high, limit)                                                             \
	do {                                                                                       \
		struct worst worst_ = search1(softgpu_##name, name##l, low, high);                 \
		if (worst_.ulps > (limit))                                                         \
			TAP_FAIL("%s(%a) is %g units off", #name, worst_.x, worst_.ulps);          \
	} while (0)
#define CHECK2(name, low, high, limit)                                                             \
	do {                                                                                       \
		struct worst worst_ = search2(softgpu_##name, name##l, low, high);                 \
		if (worst_.ulps > (limit))                                                         \
			TAP_FAIL("%s(%a, %a) is %g units off", #name, worst_.x, worst_.y,          \
				 worst_.ulps);                                                     \
	} while (0)

TEST("exponentials are right within 4 units of the last place, for any double")
{
	CHECK1(exp, -745, 709, 4);
	CHECK1(exp2, -1074, 1023, 4);
	CHECK1(exp10, -320, 308, 4);
	CHECK1(expm1, -3, 3, 4);
}

TEST("logarithms are right within 4 units of the last place, for any double")
{
	CHECK1(log, 0, 10, 4);
	CHECK1(log2, 0, 10, 4);
	CHECK1(log10, 0, 10, 4);
	CHECK1(log1p, -1, 2, 4);
}

TEST("circular functions are right within 4 units of the last place, for any double")
{
	CHECK1(sin, -10, 10, 4);
	CHECK1(cos, -10, 10, 4);
	CHECK1(tan, -10, 10, 4);
	CHECK1(asin, -1, 1, 4);
	CHECK1(acos, -1, 1, 4);
	CHECK1(atan, -5, 5, 4);
	CHECK2(atan2, -5, 5, 4);
}

TEST("hyperbolic functions are right within 4 units of the last place, for any double")
{
	CHECK1(sinh, -5, 5, 4);
	CHECK1(cosh, -5, 5, 4);
	CHECK1(tanh, -5, 5, 4);
	CHECK1(asinh, -5, 5, 4);
	CHECK1(acosh, 1, 5, 4);
	CHECK1(atanh, -1, 1, 4);
}

TEST("powers and roots are right within 4 units of the last place, for any double")
{
	CHECK2(pow, 0, 20, 4);
	CHECK2(hypot, -5, 5, 4);
	CHECK1(cbrt, -10, 10, 4);
}

TEST("the error and gamma functions are right within some 1e-12")
{
	CHECK1(erf, -4, 4, 1000);
	CHECK1(erfc, -4, 27, 1000);
	CHECK1(tgamma, -5, 171, 10000);
}

TEST("the inverse error functions undo the error functions")
{
	double worst = 0;

	for (int i = 0; i < 2000; i++) {
		double x = random_between(-1, 1), y = random_between(0, 1) * pow(10, -(i % 300));

		worst = fmax(worst, fabs(softgpu_erf(softgpu_erfinv(x)) / x - 1));
		worst = fmax(worst, fabs(softgpu_erfc(softgpu_erfcinv(y)) / y - 1));
	}
	CHECK(worst < 1e-12);
}

TEST("the logarithm of the gamma function is right within some 1e-12 of its size or of 1")
{
	double worst = 0;

	for (int i = 0; i < SAMPLES; i++) {
		double x = random_between(-5, 100);
		long double right = lgammal(x);

		worst = fmax(worst, (double)fabsl(softgpu_lgamma(x) - right) /
					    fmax(1, fabs((double)right)));
	}
	CHECK(worst < 1e-12);
}

TEST("remainders, exponents and their parts are exact, for any double")
{
	for (int i = 0; i < SAMPLES; i++) {
		double x = i & 1 ? random_double() : random_between(-50, 50);
		double y = i & 2 ? random_double() : random_between(-5, 5);
		int quotient, right_quotient, n, right_n,
			power = (int)(random_bits() % 4200) - 2100;

		CHECK(softgpu_fmod(x, y) == fmod(x, y));
		CHECK(softgpu_remquo(x, y, &quotient) == remquo(x, y, &right_quotient));
		CHECK((abs(quotient) & 7) == (abs(right_quotient) & 7));
		CHECK(softgpu_frexp(x, &n) == frexp(x, &right_n) && n == right_n);
		CHECK(softgpu_scalbn(x, power) == scalbn(x, power));
	}
}

TEST_MAIN
