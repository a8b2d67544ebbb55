/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions by table: each is executed for many operands, by all lanes and under a guard by
 * every other one, and compared with what a C function says.
 */
#pragma once

#include <math.h>

#include "exec_fixture.h"

/* Kinds of operands. */
enum {
	ANY_INTEGER,
	SMALL_SHIFT, /* the second and later ones are small numbers, also past the width */
	BYTES,       /* as ANY_INTEGER */
	FLOATS,      /* f32, special values among them */
	DOUBLES,
	HALVES, /* f16 */
	BFLOATS,
	MODERATE,        /* f32 of moderate size, for functions */
	MODERATE_DOUBLE, /* f64 */
	INTEGRAL_FLOATS, /* f32 near whole numbers and limits of integers */
	INTEGRAL_DOUBLES,
	PAIRS,    /* two f32 */
	MIXED,    /* f32 whose lower half is any f16, too */
	SIX_BITS, /* two numbers of 6 bits, in bytes */
};

struct operation {
	/* `$d $a $b $c $e` stand for the registers. */
	const char *text;
	/* Destination and sources: h w l for 16, 32, 64 bits, p for a predicate. */
	const char *shape;
	int kind;
	uint64_t (*expected)(uint64_t a, uint64_t b, uint64_t c, uint64_t e);
	/* Whether a result is near enough to the expected one; NULL: the same bits. */
	bool (*is_near)(uint64_t result, uint64_t expected);
	/* In place of expected, for tables that are made by loops. */
	uint64_t (*expected_with)(const void *data, uint64_t a, uint64_t b);
	const void *data;
};

enum {
	CASES = 1000,
	SENTINEL = 0x5a,
};

/* ---- operands -------------------------------------------------------------------------- */

static uint64_t random_state;

/* xorshift64*: the same numbers in every run. */
static uint64_t random_bits(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

static inline uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float float_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static uint64_t pick_integer(void)
{
	static const uint64_t special[] = {
		0,
		1,
		2,
		7,
		8,
		15,
		16,
		31,
		32,
		33,
		63,
		64,
		65,
		127,
		128,
		255,
		0x7fff,
		0x8000,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xffffffffffffffff,
		0xfffffffffffffffe,
		0xaaaaaaaaaaaaaaaa,
		0x0123456789abcdef,
		0x8000000080000000,
		0x8000800080008000,
		0x7f807f80ff01ff01,
	};
	uint64_t choice = random_bits();

	if (choice % 2)
		return special[choice / 2 % (sizeof(special) / sizeof(special[0]))];
	return random_bits() >> (choice / 2 % 64);
}

static uint32_t pick_float(void)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
		0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40000000, 0x3f000000,
		0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
		0x4b000000, 0x4b800001, 0x33800000, 0x34000000, 0x0b000000, 0x5f000000, 0x3effffff,
	};
	uint64_t choice = random_bits();

	if (choice % 3 == 0)
		return special[choice / 3 % (sizeof(special) / sizeof(special[0]))];
	if (choice % 3 == 1)
		return (uint32_t)random_bits();
	return bits_of_float((float)((double)(int64_t)random_bits() * 0x1p-60));
}

static uint64_t pick_double(void)
{
	static const uint64_t special[] = {
		0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
		0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff,
		0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
		0xfff0000000000000, 0x7ff8000000000000, 0x4330000000000000, 0x3ca0000000000000,
	};
	uint64_t choice = random_bits();

	if (choice % 4 == 0)
		return special[choice / 4 % (sizeof(special) / sizeof(special[0]))];
	if (choice % 4 == 1)
		return random_bits();
	return bits_of_double((double)(int64_t)random_bits() * 0x1p-60);
}

static uint16_t pick_half(void)
{
	static const uint16_t special[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xbc00,
					   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x3bff,
					   0x3c01, 0x1400, 0x6400, 0x7f80, 0xff80, 0x3f80, 0x0080};
	uint64_t choice = random_bits();

	return choice % 3 ? (uint16_t)random_bits()
			  : special[choice / 3 % (sizeof(special) / sizeof(special[0]))];
}

static double pick_whole(double scale)
{
	static const double limits[] = {0,
					127,
					128,
					255,
					256,
					32767,
					32768,
					65535,
					65536,
					2147483647.0,
					2147483648.0,
					4294967295.0,
					4294967296.0,
					9223372036854774784.0,
					9223372036854775808.0,
					18446744073709549568.0,
					18446744073709551616.0};
	static const double parts[] = {0, 0.25, 0.5, 0.75, 1, -0.25, -0.5, -1};
	double value = limits[random_bits() % 17] * scale + parts[random_bits() % 8];

	return random_bits() % 2 ? -value : value;
}

static uint64_t pick(int kind, int index)
{
	switch (kind) {
	case SMALL_SHIFT:
		if (index)
			return random_bits() % 8 ? random_bits() % 70 : pick_integer();
		return pick_integer();
	case FLOATS:
		return pick_float();
	case DOUBLES:
		return pick_double();
	case HALVES:
	case BFLOATS:
		return pick_half() | (uint64_t)pick_half() << 16;
	case MODERATE:
		return bits_of_float((float)((double)(int64_t)random_bits() * 0x1p-60));
	case MODERATE_DOUBLE:
		return bits_of_double((double)(int64_t)random_bits() * 0x1p-60);
	case INTEGRAL_FLOATS:
		return random_bits() % 4 ? bits_of_float((float)pick_whole(1)) : pick_float();
	case PAIRS:
		return pick_float() | (uint64_t)pick_float() << 32;
	case MIXED:
		return random_bits() % 2 ? pick_float() : (pick_float() & ~0xffffull) | pick_half();
	case SIX_BITS:
		return random_bits() & 0x3f3f;
	case INTEGRAL_DOUBLES:
		return random_bits() % 4 ? bits_of_double(pick_whole(1)) : pick_double();
	default:
		return pick_integer();
	}
}

/* ---- the module ------------------------------------------------------------------------ */

/* The instruction with registers in place of $d … */
static void add_instruction(struct gt_strbuf *text, const struct operation *operation)
{
	static const char names[] = "dabce";

	for (const char *p = operation->text; *p; p++) {
		const char *name = p[0] == '$' ? strchr(names, p[1]) : NULL;

		if (!name) {
			gt_strbuf_putc(text, *p);
			continue;
		}
		gt_strbuf_printf(text, "%%%c%d", operation->shape[name - names],
				 (int)(name - names));
		p++;
	}
}

static void add_source(struct gt_strbuf *text, char shape, int index)
{
	gt_strbuf_printf(text, "	ld.global.u64 %%l9, [%%l8+%d];\n", 8 * (index - 1));
	switch (shape) {
	case 'h':
		gt_strbuf_printf(text, "	cvt.u16.u64 %%h%d, %%l9;\n", index);
		break;
	case 'w':
		gt_strbuf_printf(text, "	cvt.u32.u64 %%w%d, %%l9;\n", index);
		break;
	case 'p':
		gt_strbuf_printf(
			text, "	and.b64 %%l9, %%l9, 1;\n	setp.ne.u64 %%p%d, %%l9, 0;\n",
			index);
		break;
	default:
		gt_strbuf_printf(text, "	mov.b64 %%l%d, %%l9;\n", index);
		break;
	}
}

static void add_result(struct gt_strbuf *text, char shape)
{
	switch (shape) {
	case 'h':
		gt_strbuf_puts(text, "	cvt.u64.u16 %l9, %h0;\n");
		break;
	case 'w':
		gt_strbuf_puts(text, "	cvt.u64.u32 %l9, %w0;\n");
		break;
	case 'p':
		gt_strbuf_puts(text, "	selp.u64 %l9, 1, 0, %p0;\n");
		break;
	default:
		gt_strbuf_puts(text, "	mov.b64 %l9, %l0;\n");
		break;
	}
}

static void add_kernel(struct gt_strbuf *text, const struct operation *operation, size_t number,
		       bool guarded)
{
	bool is_block;

	gt_strbuf_printf(
		text,
		".visible .entry %s%zu(.param .u64 in, .param .u64 out, .param .u64 count)\n{\n"
		"	.reg .b16 %%h<10>;\n	.reg .b32 %%w<12>;\n	.reg .b64 %%l<12>;\n"
		"	.reg .pred %%p<12>;\n"
		"	ld.param.u64 %%l8, [in];\n	ld.param.u64 %%l10, [out];\n"
		"	ld.param.u32 %%w8, [count];\n"
		"	mov.u32 %%w9, %%ctaid.x;\n	mov.u32 %%w10, %%ntid.x;\n"
		"	mov.u32 %%w11, %%tid.x;\n	mad.lo.u32 %%w9, %%w9, %%w10, %%w11;\n"
		"	setp.ge.u32 %%p9, %%w9, %%w8;\n	@%%p9 bra DONE;\n"
		"	mad.wide.u32 %%l8, %%w9, 32, %%l8;\n"
		"	mad.wide.u32 %%l10, %%w9, 8, %%l10;\n"
		"	and.b32 %%w10, %%w9, 1;\n	setp.eq.u32 %%p8, %%w10, 0;\n"
		"	mov.b64 %%l0, %d;\n	mov.b32 %%w0, %d;\n	mov.b16 %%h0, %d;\n"
		"	setp.ne.u32 %%p0, %%w0, %%w0;\n",
		guarded ? "guarded" : "plain", number, SENTINEL, SENTINEL, SENTINEL);
	for (int i = 1; operation->shape[i]; i++)
		add_source(text, operation->shape[i], i);
	/* A block cannot have a guard: it is branched round. */
	is_block = operation->text[0] == '{';
	if (guarded)
		gt_strbuf_puts(text, is_block ? "	@!%p8 bra PAST;\n" : "	@%p8 ");
	add_instruction(text, operation);
	gt_strbuf_puts(text, is_block ? "\nPAST:\n" : ";\n");
	add_result(text, operation->shape[0]);
	gt_strbuf_puts(text, "	st.global.u64 [%l10], %l9;\nDONE:\n	ret;\n}\n");
}

/* ---- running --------------------------------------------------------------------------- */

static uint64_t cut(uint64_t bits, char shape)
{
	switch (shape) {
	case 'h':
		return (uint16_t)bits;
	case 'w':
		return (uint32_t)bits;
	case 'p':
		return bits & 1;
	default:
		return bits;
	}
}

static uint64_t expect(const struct operation *operation, const uint64_t s[4])
{
	if (operation->expected_with)
		return operation->expected_with(operation->data, s[0], s[1]);
	return operation->expected(s[0], s[1], s[2], s[3]);
}

static void run_operation(struct device *device, struct sg_module *module,
			  const struct operation *operation, size_t number, bool guarded,
			  const uint64_t *in, uint64_t *out)
{
	char name[32];
	int failures = 0;

	snprintf(name, sizeof(name), "%s%zu", guarded ? "guarded" : "plain", number);
	/* No multiple of a warp, so that the last one is partly empty. */
	if (device_run(device, module, name, (CASES + 127) / 128, 128, address_of(in),
		       address_of(out), CASES))
		return;
	for (int i = 0; i < CASES; i++) {
		const uint64_t *s = in + 4 * i;
		bool runs = !guarded || i % 2 == 0;
		uint64_t expected = runs                         ? expect(operation, s)
				    : operation->shape[0] == 'p' ? 0
								 : SENTINEL;

		expected = cut(expected, operation->shape[0]);

		if (out[i] == expected ||
		    (runs && operation->is_near && operation->is_near(out[i], expected)))
			continue;
		if (++failures > 3)
			break;
		TAP_FAIL("%s%s: of 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64
			 " gives 0x%" PRIx64 ", not 0x%" PRIx64,
			 guarded ? "@p " : "", operation->text, s[0], s[1], s[2], s[3], out[i],
			 expected);
	}
}

static inline void run_operations(const char *header, const struct operation *operations,
				  size_t count)
{
	auto_device device;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint64_t *in, *out;

	device_open(&device);
	in = device_memory(&device, CASES * 32);
	out = device_memory(&device, CASES * 8);
	gt_strbuf_puts(&text, header);
	for (size_t i = 0; i < count; i++) {
		add_kernel(&text, &operations[i], i, false);
		add_kernel(&text, &operations[i], i, true);
	}
	module = device_load(&device, gt_strbuf_string(&text));
	random_state = 0x9e3779b97f4a7c15;
	for (size_t i = 0; module && i < count; i++) {
		for (int j = 0; j < 4 * CASES; j++)
			in[j] = pick(operations[i].kind, j % 4);
		run_operation(&device, module, &operations[i], i, false, in, out);
		run_operation(&device, module, &operations[i], i, true, in, out);
	}
}

/* ---- nearness -------------------------------------------------------------------------- */

/* NaNs are alike whatever their bits; else numbers of the same sign at most n apart. */
static inline bool floats_within(uint64_t result, uint64_t expected, int64_t n)
{
	int64_t distance;

	if (isnan(float_of(result)) || isnan(float_of(expected)))
		return isnan(float_of(result)) && isnan(float_of(expected));
	if ((result ^ expected) & 0x80000000)
		return ((result | expected) & 0x7fffffff) <= (uint64_t)n;
	distance = (int64_t)result - (int64_t)expected;
	return distance <= n && -distance <= n;
}

static inline bool near_float(uint64_t result, uint64_t expected)
{
	return floats_within(result, expected, 2);
}

static inline bool same_double(uint64_t result, uint64_t expected)
{
	return result == expected || (isnan(double_of(result)) && isnan(double_of(expected)));
}

static inline bool near_double(uint64_t result, uint64_t expected)
{
	int64_t distance = (int64_t)(result - expected);

	return same_double(result, expected) || (distance <= 1 && distance >= -1);
}

/*
 * Tables are .def files of OPERATION(id, text, shape, kind, near, expression of a b c e), that are
 * read twice: for the functions, then for the rows.
 */
#define OPERATION_FUNCTION(id, words, letters, inputs, near, ...)                                  \
	static uint64_t expected_##id(uint64_t a, uint64_t b, uint64_t c, uint64_t e)              \
	{                                                                                          \
		(void)a, (void)b, (void)c, (void)e;                                                \
		return (uint64_t)(__VA_ARGS__);                                                    \
	}
#define OPERATION_ROW(id, words, letters, inputs, near, ...)                                       \
	{words, letters, inputs, expected_##id, near},
