/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that the agent makes and the program does not. */
#include <string.h>

#include "agent/own_call.h"
#include "tap.h"

static struct {
	uintptr_t arguments[GT_OWN_ARGUMENTS];
	uint64_t bytes; /* at the return address */
	bool is_aligned;
} seen;

static __attribute__((noinline)) int called(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
					    uintptr_t e, uintptr_t f, uintptr_t g, uintptr_t h)
{
	const uintptr_t arguments[] = {a, b, c, d, e, f, g, h};

	memcpy(seen.arguments, arguments, sizeof(arguments));
	memcpy(&seen.bytes, __builtin_return_address(0), sizeof(seen.bytes));
	seen.is_aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0;
	return -7;
}

/* Whether the arguments were these, and the call was marked. */
static bool was_called(const uintptr_t *arguments, size_t count)
{
	return !memcmp(seen.arguments, arguments, count * sizeof(*arguments)) && seen.is_aligned &&
	       (seen.bytes & GT_OWN_CALL_MASK) == GT_OWN_CALL_BYTES;
}

TEST("a function of the driver gets its arguments, and returns to the mark of the agent's calls")
{
	const uintptr_t expected[] = {1, 2, 3, 4, 5, 6, 7, UINTPTR_MAX};

	CHECK_INT(GT_OWN_CALL(called, 1, 2, 3, 4, 5, 6, 7, -1l), -7);
	CHECK(was_called(expected, 8));
	memset(&seen, 0, sizeof(seen));
	CHECK_INT(GT_OWN_CALL(called, 1, 2, 3), -7);
	CHECK(was_called(expected, 3));
}

TEST_MAIN
