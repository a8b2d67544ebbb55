/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_table.h"

static int64_t clamped(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int64_t floor_divided(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* By four products of 32 bits. */
static uint64_t high_product(uint64_t a, uint64_t b)
{
	uint64_t low_a = (uint32_t)a, high_a = a >> 32, low_b = (uint32_t)b, high_b = b >> 32;
	uint64_t middle = high_a * low_b + (low_a * low_b >> 32);
	uint64_t other = low_a * high_b + (uint32_t)middle;

	return high_a * high_b + (middle >> 32) + (other >> 32);
}

static int64_t signed_bits(uint64_t value, uint64_t bits)
{
	uint64_t sign = 1ull << (bits - 1);

	value &= sign * 2 - 1;
	return (int64_t)((value ^ sign) - sign);
}

static uint64_t pair_of(uint64_t low, uint64_t high)
{
	return (high & 0xffff) << 16 | (low & 0xffff);
}

static uint64_t largest3(int64_t a, int64_t b, int64_t c)
{
	int64_t most = a > b ? a : b;

	return (uint64_t)(most > c ? most : c);
}

static uint64_t looked_up(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
	uint64_t result = 0;

	for (int i = 0; i < 32; i++)
		result |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
	return result;
}

static uint64_t funnel(uint64_t a, uint64_t b, uint64_t shift)
{
	uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff);

	return both >> (uint32_t)shift;
}

static int highest_bit(uint64_t value)
{
	int bit = -1;

	for (int i = 0; i < 64; i++)
		if (value >> i & 1)
			bit = i;
	return bit;
}

static uint64_t reversed(uint64_t value, int bits)
{
	uint64_t result = 0;

	for (int i = 0; i < bits; i++)
		result |= (value >> i & 1) << (bits - 1 - i);
	return result;
}

/* As PTX's description of bfe says it, bit by bit. */
static uint64_t extracted(uint64_t a, uint64_t place, uint64_t length, uint64_t last,
			  bool is_signed)
{
	uint64_t end = place + length - 1 < last ? place + length - 1 : last, result = 0;
	uint64_t sign = is_signed && length ? a >> end & 1 : 0;

	for (uint64_t i = 0; i <= last; i++)
		result |= (i < length && place + i <= last ? a >> (place + i) & 1 : sign) << i;
	return result;
}

static uint64_t inserted(uint64_t a, uint64_t b, uint64_t place, uint64_t length, uint64_t last)
{
	for (uint64_t i = 0; i < length && place + i <= last; i++)
		b = (b & ~(1ull << (place + i))) | (a >> i & 1) << (place + i);
	return b;
}

static uint64_t nth_set(uint64_t mask, int64_t base, int64_t offset)
{
	int64_t count = llabs(offset), step = offset > 0 ? 1 : -1;

	if (offset == 0)
		return mask >> base & 1 ? (uint64_t)base : UINT64_MAX;
	for (int64_t i = base; i >= 0 && i < 32; i += step)
		if ((mask >> i & 1) && --count == 0)
			return (uint64_t)i;
	return UINT64_MAX;
}

static uint64_t mask_of(uint64_t start, uint64_t width)
{
	uint64_t mask = 0;

	for (uint64_t i = start; i < start + width && i < 32; i++)
		mask |= 1ull << i;
	return mask;
}

static uint64_t byte_of(uint64_t a, uint64_t b, uint64_t index)
{
	return (index < 4 ? a : b) >> (8 * (index % 4)) & 255;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t result = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t byte = byte_of(a, b, c >> (4 * i) & 7);

		if (c >> (4 * i + 3) & 1)
			byte = byte >= 128 ? 255 : 0;
		result |= byte << (8 * i);
	}
	return result;
}

static uint64_t backward(uint64_t a, uint64_t b, uint64_t start)
{
	uint64_t result = 0;

	for (uint64_t i = 0; i < 4; i++)
		result |= byte_of(a, b, (start - i) & 7) << (8 * i);
	return result;
}

static uint64_t edge_clamped(uint64_t a, uint64_t edge, bool is_left)
{
	uint64_t result = 0;

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t index = is_left ? (i < edge ? edge : i) : (i > edge ? edge : i);

		result |= byte_of(a, 0, index) << (8 * i);
	}
	return result;
}

static uint64_t dot4(uint64_t a, uint64_t b, bool a_signed, bool b_signed)
{
	int64_t sum = 0;

	for (int i = 0; i < 4; i++) {
		int64_t left = (int64_t)byte_of(a, 0, (uint64_t)i);
		int64_t right = (int64_t)byte_of(b, 0, (uint64_t)i);

		sum += (a_signed ? signed_bits((uint64_t)left, 8) : left) *
		       (b_signed ? signed_bits((uint64_t)right, 8) : right);
	}
	return (uint64_t)sum;
}

static uint64_t dot2(uint64_t a, uint64_t b, bool a_signed, bool b_signed)
{
	int64_t sum = 0;

	for (int i = 0; i < 2; i++) {
		int64_t left = (int64_t)(a >> (16 * i) & 0xffff);
		int64_t right = (int64_t)(b >> (8 * i) & 255);

		sum += (a_signed ? signed_bits((uint64_t)left, 16) : left) *
		       (b_signed ? signed_bits((uint64_t)right, 8) : right);
	}
	return (uint64_t)sum;
}

static uint64_t absolute_differences(uint64_t a, uint64_t b)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 4; i++)
		sum += (uint64_t)llabs((int64_t)byte_of(a, 0, i) - (int64_t)byte_of(b, 0, i));
	return sum;
}

static uint64_t averages(uint64_t a, uint64_t b)
{
	uint64_t result = 0;

	for (uint64_t i = 0; i < 4; i++)
		result |= (byte_of(a, 0, i) + byte_of(b, 0, i) + 1) / 2 << (8 * i);
	return result;
}

enum byte_operation {
	ADD_BYTES,
	ADD_BYTES_CLAMPED, /* signed */
	SUB_BYTES,
	MAX_BYTES,
	MIN_BYTES,
	GREATER_BYTES,
};

static int64_t byte_result(int64_t a, int64_t b, enum byte_operation operation)
{
	switch (operation) {
	case ADD_BYTES:
		return a + b;
	case ADD_BYTES_CLAMPED:
		return clamped(a + b, -128, 127);
	case SUB_BYTES:
		return a - b;
	case MAX_BYTES:
		return a > b ? a : b;
	case MIN_BYTES:
		return a < b ? a : b;
	default:
		return a > b;
	}
}

static uint64_t each_byte(uint64_t a, uint64_t b, enum byte_operation operation, bool is_signed)
{
	uint64_t result = 0;

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t left = byte_of(a, 0, i), right = byte_of(b, 0, i);
		int64_t value = is_signed ? byte_result(signed_bits(left, 8), signed_bits(right, 8),
							operation)
					  : byte_result((int64_t)left, (int64_t)right, operation);

		result |= ((uint64_t)value & 255) << (8 * i);
	}
	return result;
}

#define OPERATION OPERATION_FUNCTION
#include "exec_integer.def"
#undef OPERATION

static const struct operation operations[] = {
#define OPERATION OPERATION_ROW
#include "exec_integer.def"
#undef OPERATION
};

TEST("integer and bit instructions compute what C does, also with inactive lanes")
{
	run_operations(PTX_HEADER_90, operations, sizeof(operations) / sizeof(operations[0]));
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
