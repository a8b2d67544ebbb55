/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_reference.h"

/* The sign of a NaN does not matter. */
static bool floats_alike(uint64_t result, uint64_t expected)
{
	return floats_within(result, expected, 0);
}

static bool halves_alike(uint64_t result, uint64_t expected)
{
	return isnan(half_value(F16, result)) && isnan(half_value(F16, expected));
}

static bool near_half(uint64_t result, uint64_t expected)
{
	int64_t distance = (int64_t)result - (int64_t)expected;

	return halves_alike(result, expected) || (distance <= 1 && distance >= -1);
}

/* The upper 32 bits; the lower are 0. */
static bool upper_word(uint64_t result, uint64_t expected)
{
	int64_t distance = (int64_t)(result >> 32) - (int64_t)(expected >> 32);

	return (uint32_t)result == 0 && distance <= 1 && distance >= -1;
}

#define OPERATION OPERATION_FUNCTION
#include "exec_float.def"
#undef OPERATION

static const struct operation operations[] = {
#define OPERATION OPERATION_ROW
#include "exec_float.def"
#undef OPERATION
};

TEST("floating-point instructions round, flush, saturate and treat NaN as PTX specifies")
{
	run_operations(PTX_HEADER_90, operations, sizeof(operations) / sizeof(operations[0]));
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
