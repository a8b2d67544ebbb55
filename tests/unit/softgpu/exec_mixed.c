/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic and conversions that the targets since sm_80 brought. */
#include "exec_reference.h"

#define LOW(x) ((x)&0xffffffff)
#define HIGH(x) ((x) >> 32)
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(uint32_t)(x))
#define HEADER_100 ".version 8.8\n.target sm_100a\n.address_size 64\n"

static uint64_t both(uint64_t low, uint64_t high)
{
	return high << 32 | low;
}

static uint64_t widened(enum format format, uint64_t bits)
{
	return bits_of_float((float)half_value(format, bits));
}

enum tf32_rounding {
	EVEN,
	AWAY,
	CUT,
};

/* By arithmetic: ten bits of fraction, and the exponents of .f32. */
static uint64_t tf32(uint64_t bits, enum tf32_rounding rounding)
{
	double value = float_of(bits), unit, whole;

	if (isnan(value))
		return 0x7fffffff;
	if (isinf(value) || value == 0)
		return U32(bits);
	unit = ldexp(1, (ilogb(value) < -126 ? -126 : ilogb(value)) - 10);
	whole = rounding == EVEN   ? rint(value / unit)
		: rounding == AWAY ? round(value / unit)
				   : trunc(value / unit);
	return bits_of_float(copysignf((float)(whole * unit), (float)value));
}

/* a above b, what c has above both. */
static uint64_t packed(uint64_t a, uint64_t b, uint64_t c, int bits, bool is_signed)
{
	int64_t most = (1ll << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
	int64_t values[2] = {S32(b), S32(a)};
	uint64_t result = c << (2 * bits);

	for (int i = 0; i < 2; i++) {
		int64_t value = values[i] < least ? least : values[i] > most ? most : values[i];

		result |= ((uint64_t)value & ((1ull << bits) - 1)) << (i * bits);
	}
	return result;
}

#define OPERATION OPERATION_FUNCTION
#include "exec_mixed.def"
#undef OPERATION

static const struct operation operations[] = {
#define OPERATION OPERATION_ROW
#include "exec_mixed.def"
#undef OPERATION
};

TEST("pairs of .f32, mixed and triple sources, .tf32 and packed integers are as PTX specifies")
{
	run_operations(HEADER_100, operations, sizeof(operations) / sizeof(operations[0]));
}

/* ---- numbers of 4 and 6 bits ----------------------------------------------------------- */

struct tiny {
	int fraction, bias, bits;
};

static const struct tiny e2m3 = {3, 1, 6}, e3m2 = {2, 3, 6}, e2m1 = {1, 1, 4};

static double tiny_value(const struct tiny *tiny, int bits)
{
	int sign = 1 << (tiny->bits - 1), rest = bits & (sign - 1);
	int exponent = rest >> tiny->fraction, fraction = rest & ((1 << tiny->fraction) - 1);
	double value =
		exponent ? (1 + fraction * pow(2, -tiny->fraction)) * pow(2, exponent - tiny->bias)
			 : fraction * pow(2, 1 - tiny->bias - tiny->fraction);

	return bits & sign ? -value : value;
}

/* The nearest of all there are; of two as near, the even one; NaN is the largest. */
static uint64_t tiny_bits(const struct tiny *tiny, double value)
{
	int sign = 1 << (tiny->bits - 1), best = 0;

	if (isnan(value))
		return (uint64_t)sign - 1;
	if (fabs(value) > tiny_value(tiny, sign - 1))
		return (uint64_t)(signbit(value) ? 2 * sign - 1 : sign - 1);
	for (int i = 1; i < sign; i++) {
		double old = fabs(fabs(value) - tiny_value(tiny, best));
		double distance = fabs(fabs(value) - tiny_value(tiny, i));

		if (distance < old || (distance == old && i % 2 == 0))
			best = i;
	}
	return (uint64_t)(signbit(value) ? best | sign : best);
}

static uint64_t expected_tiny(const void *data, uint64_t a, uint64_t b)
{
	const struct tiny *tiny = data;
	uint64_t low = tiny_bits(tiny, float_of(b)), high = tiny_bits(tiny, float_of(a));

	return low | high << (tiny->bits == 4 ? 4 : 8);
}

static uint64_t expected_from_tiny(const void *data, uint64_t a, uint64_t b)
{
	const struct tiny *tiny = data;
	int place = tiny->bits == 4 ? 4 : 8, mask = (1 << tiny->bits) - 1;

	(void)b;
	return half_bits(F16, tiny_value(tiny, (int)a & mask)) |
	       half_bits(F16, tiny_value(tiny, (int)(a >> place) & mask)) << 16;
}

TEST("4-bit and 6-bit formats are converted from and to other types")
{
#define TINY(words, shape, kind, function, how)                                                    \
	{                                                                                          \
		words, shape, kind, .expected_with = function, .data = &how                        \
	}
	static const struct operation rows[] = {
		TINY("cvt.rn.satfinite.e2m3x2.f32 $d, $a, $b", "hww", FLOATS, expected_tiny, e2m3),
		TINY("cvt.rn.satfinite.e2m3x2.f32 $d, $a, $b", "hww", MODERATE, expected_tiny,
		     e2m3),
		TINY("cvt.rn.satfinite.e3m2x2.f32 $d, $a, $b", "hww", MODERATE, expected_tiny,
		     e3m2),
		TINY("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $a, $b; mov.b16 $d, {t, 0}; }",
		     "hww", MODERATE, expected_tiny, e2m1),
		TINY("cvt.rn.f16x2.e2m3x2 $d, $a", "wh", SIX_BITS, expected_from_tiny, e2m3),
		TINY("cvt.rn.f16x2.e3m2x2 $d, $a", "wh", SIX_BITS, expected_from_tiny, e3m2),
		TINY("{ .reg .b8 t, u; mov.b16 {t, u}, $a; cvt.rn.f16x2.e2m1x2 $d, t; }", "wh",
		     ANY_INTEGER, expected_from_tiny, e2m1),
	};

	run_operations(HEADER_100, rows, sizeof(rows) / sizeof(rows[0]));
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
