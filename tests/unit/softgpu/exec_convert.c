/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_reference.h"

struct type {
	const char *name;
	char shape;
	int bits;
	bool is_float, is_signed;
	int kind; /* of operands */
};

static const struct type types[] = {
	{"u8", 'h', 8, false, false, ANY_INTEGER},
	{"s8", 'h', 8, false, true, ANY_INTEGER},
	{"u16", 'h', 16, false, false, ANY_INTEGER},
	{"s16", 'h', 16, false, true, ANY_INTEGER},
	{"u32", 'w', 32, false, false, ANY_INTEGER},
	{"s32", 'w', 32, false, true, ANY_INTEGER},
	{"u64", 'l', 64, false, false, ANY_INTEGER},
	{"s64", 'l', 64, false, true, ANY_INTEGER},
	{"f16", 'h', 16, true, true, HALVES},
	{"f32", 'w', 32, true, true, INTEGRAL_FLOATS},
	{"f64", 'l', 64, true, true, INTEGRAL_DOUBLES},
};

enum {
	TYPE_COUNT = sizeof(types) / sizeof(types[0]),
	MOST = 1024,
};

struct conversion {
	const struct type *from, *to;
	enum rounding rounding;
	bool is_whole, saturates, flushes;
	char text[64];
	char shape[3];
};

static struct conversion conversions[MOST];
static struct operation operations[MOST];
static size_t count;

/* ---- what is expected ------------------------------------------------------------------ */

static int64_t extended(uint64_t bits, const struct type *type)
{
	if (type->bits == 64)
		return (int64_t)bits;
	bits &= (1ull << type->bits) - 1;
	if (type->is_signed && bits >> (type->bits - 1))
		bits |= ~0ull << type->bits;
	return (int64_t)bits;
}

static double float_value(uint64_t bits, const struct type *type)
{
	if (type->bits == 16)
		return half_value(F16, bits);
	return type->bits == 32 ? (double)float_of(bits) : double_of(bits);
}

/* The exact value of a source: 64 bits of fraction hold every integer. */
static long double exact(uint64_t bits, const struct type *type)
{
	if (type->is_float)
		return float_value(bits, type);
	return type->is_signed ? (long double)extended(bits, type)
			       : (long double)(uint64_t)extended(bits, type);
}

static uint64_t integer_of(long double value, const struct type *to, bool is_wide)
{
	long double most = ldexpl(1, to->bits - to->is_signed) - 1;
	long double least = to->is_signed ? -most - 1 : 0;

	if (isnan(value))
		return is_wide ? 1ull << (to->bits - 1) : 0;
	value = value > most ? most : value < least ? least : value;
	return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static long double whole(long double value, enum rounding rounding)
{
	switch (rounding) {
	case TO_ZERO:
		return truncl(value);
	case DOWN:
		return floorl(value);
	case UP:
		return ceill(value);
	default:
		return rintl(value);
	}
}

static uint64_t half_directed(double value, enum rounding rounding)
{
	uint64_t nearest = half_bits(F16, value);
	double found = half_value(F16, nearest);
	bool toward_zero = rounding == TO_ZERO || (rounding == DOWN && value > 0) ||
			   (rounding == UP && value < 0);

	if (rounding == NEAREST || isnan(value) || isinf(value) || found == value)
		return nearest;
	if (toward_zero)
		return fabs(found) > fabs(value) ? nearest - 1 : nearest;
	return fabs(found) < fabs(value) ? nearest + 1 : nearest;
}

static uint64_t float_bits(long double value, const struct conversion *conversion)
{
	double near = (double)value;
	long double missing = isfinite(near) ? value - near : 0;

	switch (conversion->to->bits) {
	case 16:
		return half_directed(near, conversion->rounding);
	case 32:
		if (conversion->rounding == NEAREST)
			return f32_result((float)value);
		return rounded_f32(near, (double)missing, conversion->rounding);
	default:
		if (conversion->rounding == NEAREST)
			return bits_of_double(near);
		return rounded_f64(near, missing, conversion->rounding);
	}
}

static uint64_t float_saturated(uint64_t bits, const struct type *to)
{
	double value = float_value(bits, to);
	uint64_t one = to->bits == 16 ? 0x3c00 : to->bits == 32 ? 0x3f800000 : 0x3ff0000000000000;

	return isnan(value) || value <= 0 ? 0 : value >= 1 ? one : bits;
}

static uint64_t converted(const void *data, uint64_t a, uint64_t b)
{
	const struct conversion *conversion = data;
	const struct type *from = conversion->from, *to = conversion->to;
	bool narrow = from->is_float && from->bits == 32;
	uint64_t bits;
	long double value = exact(conversion->flushes && narrow ? flushed(a) : a, from);

	if (conversion->is_whole)
		value = whole(value, conversion->rounding);
	if (!to->is_float && !from->is_float && !conversion->saturates)
		return (uint64_t)extended((uint64_t)extended(a, from), to);
	if (!to->is_float)
		return (uint64_t)extended(
			integer_of(value, to,
				   (from->is_float && from->bits == 64) || to->bits == 64),
			to);
	bits = float_bits(value, conversion);
	if (conversion->flushes && to->bits == 32)
		bits = flushed(bits);
	return conversion->saturates ? float_saturated(bits, to) : bits;
}

static bool same_number(uint64_t result, uint64_t expected, const struct type *to)
{
	return isnan(float_value(result, to)) && isnan(float_value(expected, to));
}

static bool same_f64(uint64_t result, uint64_t expected)
{
	return same_number(result, expected, &types[TYPE_COUNT - 1]);
}

/* ---- the table ------------------------------------------------------------------------- */

static void add(const struct type *from, const struct type *to, const char *words,
		struct conversion conversion)
{
	struct conversion *made = &conversions[count];

	*made = conversion;
	made->from = from;
	made->to = to;
	snprintf(made->text, sizeof(made->text), "cvt%s.%s.%s $d, $a", words, to->name, from->name);
	snprintf(made->shape, sizeof(made->shape), "%c%c", to->shape, from->shape);
	operations[count++] =
		(struct operation){.text = made->text,
				   .shape = made->shape,
				   .kind = from->kind,
				   .expected_with = converted,
				   .is_near = to->is_float && to->bits == 64 ? same_f64 : NULL,
				   .data = made};
}

static const char *const float_words[] = {".rn", ".rz", ".rm", ".rp"};
static const char *const whole_words[] = {".rni", ".rzi", ".rmi", ".rpi"};

static void add_roundings(const struct type *from, const struct type *to, const char *const *words,
			  const char *more, struct conversion conversion)
{
	for (int i = 0; i < 4; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%s%s", words[i], more);
		conversion.rounding = (enum rounding)i;
		add(from, to, text, conversion);
	}
}

/* Whether every integer of a type is one of another. */
static bool holds(const struct type *type, const struct type *other)
{
	if (other->is_signed && !type->is_signed)
		return false;
	return type->bits - type->is_signed >= other->bits - other->is_signed;
}

static void add_pair(const struct type *from, const struct type *to)
{
	bool narrows = from->is_float && to->is_float && to->bits < from->bits;

	if (!from->is_float && !to->is_float) {
		add(from, to, "", (struct conversion){0});
		/* Where every value fits, .sat is no PTX. */
		if (!holds(to, from))
			add(from, to, ".sat", (struct conversion){.saturates = true});
	} else if (!to->is_float) {
		add_roundings(from, to, whole_words, "", (struct conversion){.is_whole = true});
		if (from->bits == 32)
			add_roundings(from, to, whole_words, ".ftz",
				      (struct conversion){.is_whole = true, .flushes = true});
	} else if (!from->is_float || narrows) {
		add_roundings(from, to, float_words, "", (struct conversion){0});
		add_roundings(from, to, float_words, ".sat",
			      (struct conversion){.saturates = true});
	} else if (from->bits < to->bits) {
		add(from, to, "", (struct conversion){0});
		add(from, to, ".sat", (struct conversion){.saturates = true});
	} else {
		add_roundings(from, to, whole_words, "", (struct conversion){.is_whole = true});
		add_roundings(from, to, whole_words, ".sat",
			      (struct conversion){.is_whole = true, .saturates = true});
	}
}

TEST("every conversion rounds, saturates and extends as PTX specifies")
{
	for (int from = 0; from < TYPE_COUNT; from++)
		for (int to = 0; to < TYPE_COUNT; to++)
			add_pair(&types[from], &types[to]);
	add(&types[9], &types[10], ".ftz", (struct conversion){.flushes = true});
	add(&types[10], &types[9], ".rn.ftz", (struct conversion){.flushes = true});
	CHECK(count > 400 && count < MOST);
	run_operations(PTX_HEADER_90, operations, count);
}

static uint64_t expected_packed(const void *data, uint64_t a, uint64_t b)
{
	bool is_bfloat = data != NULL;
	enum format format = is_bfloat ? BF16 : F16;

	return half_bits(format, (double)float_of(b)) | half_bits(format, (double)float_of(a))
								<< 16;
}

static uint64_t expected_bfloat(const void *data, uint64_t a, uint64_t b)
{
	return data ? f32_result((float)half_value(BF16, a)) : half_bits(BF16, (double)float_of(a));
}

static uint64_t expected_wide(const void *data, uint64_t a, uint64_t b)
{
	return data ? (uint32_t)(int8_t)a : (uint16_t)a;
}

/* 8 bits: 4 of exponent and 3 of fraction, or 5 and 2. */
static double small_value(bool is_e4m3, int bits)
{
	int width = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15, exponent = (bits & 127) >> width;
	double fraction = (double)(bits & ((1 << width) - 1)) / (1 << width), value;

	if (is_e4m3 ? (bits & 127) == 127 : (bits & 127) > 124)
		return NAN;
	if (!is_e4m3 && (bits & 127) == 124)
		return bits & 128 ? -INFINITY : INFINITY;
	value = exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);
	return bits & 128 ? -value : value;
}

/* The nearest finite one by search, of two as near the even one. */
static int small_bits(bool is_e4m3, double value)
{
	int best = 0, most = is_e4m3 ? 0x7e : 0x7b;

	if (isnan(value))
		return 0x7f;
	for (int i = 1; i <= most; i++) {
		double near = fabs(small_value(is_e4m3, best) - fabs(value));
		double here = fabs(small_value(is_e4m3, i) - fabs(value));

		if (here < near || (here == near && i % 2 == 0))
			best = i;
	}
	if (fabs(value) > small_value(is_e4m3, most))
		best = most;
	return best | (signbit(value) ? 128 : 0);
}

static uint64_t expected_small(const void *data, uint64_t a, uint64_t b)
{
	const char *how = data;
	bool is_e4m3 = how[0] == '4';
	uint64_t low, high;

	switch (how[1]) {
	case 'f':
		low = (uint64_t)small_bits(is_e4m3, (double)float_of(b));
		high = (uint64_t)small_bits(is_e4m3, (double)float_of(a));
		return low | high << 8;
	case 'h':
		low = (uint64_t)small_bits(is_e4m3, half_value(F16, a));
		high = (uint64_t)small_bits(is_e4m3, half_value(F16, a >> 16));
		return low | high << 8;
	default:
		low = half_bits(F16, small_value(is_e4m3, (int)(a & 255)));
		high = half_bits(F16, small_value(is_e4m3, (int)(a >> 8 & 255)));
		return low | high << 16;
	}
}

static bool nans_alike(uint64_t result, uint64_t expected)
{
	return isnan(float_of(result)) && isnan(float_of(expected));
}

TEST("pairs, bfloat16 and registers wider than the type convert")
{
	static const char here[1];
	static const struct operation rows[] = {
		{"cvt.rn.f16x2.f32 $d, $a, $b", "www", FLOATS, .expected_with = expected_packed},
		{"cvt.rn.bf16x2.f32 $d, $a, $b", "www", FLOATS, .expected_with = expected_packed,
		 .data = here},
		{"cvt.rn.bf16.f32 $d, $a", "hw", FLOATS, .expected_with = expected_bfloat},
		{"cvt.f32.bf16 $d, $a", "wh", BFLOATS, .expected_with = expected_bfloat,
		 .data = here, .is_near = nans_alike},
		{"cvt.u32.u16 $d, $a", "ww", ANY_INTEGER, .expected_with = expected_wide},
		{"cvt.s32.s8 $d, $a", "ww", ANY_INTEGER, .expected_with = expected_wide,
		 .data = here},
		{"cvt.s8.s32 $d, $a", "ww", ANY_INTEGER, .expected_with = expected_wide,
		 .data = here},
	};

	run_operations(PTX_HEADER_90, rows, sizeof(rows) / sizeof(rows[0]));
}

TEST("8-bit formats are converted from and to other types")
{
#define SMALL(words, shape, kind, how)                                                             \
	{                                                                                          \
		words, shape, kind, .expected_with = expected_small, .data = how                   \
	}
	static const struct operation rows[] = {
		SMALL("cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "hww", FLOATS, "4f"),
		SMALL("cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "hww", MODERATE, "4f"),
		SMALL("cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b", "hww", FLOATS, "5f"),
		SMALL("cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b", "hww", MODERATE, "5f"),
		SMALL("cvt.rn.satfinite.e4m3x2.f16x2 $d, $a", "hw", HALVES, "4h"),
		SMALL("cvt.rn.satfinite.e5m2x2.f16x2 $d, $a", "hw", HALVES, "5h"),
		SMALL("cvt.rn.f16x2.e4m3x2 $d, $a", "wh", ANY_INTEGER, "4r"),
		SMALL("cvt.rn.f16x2.e5m2x2 $d, $a", "wh", ANY_INTEGER, "5r"),
	};

	run_operations(".version 8.1\n.target sm_89\n.address_size 64\n", rows,
		       sizeof(rows) / sizeof(rows[0]));
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
