/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The code of the probes is not worse than that of clang for the same source. */
#include <stdlib.h>

#include "tap.h"
#include "translate-code.h"

enum {
	UNIT = 8, /* GPUs allocate registers to threads in units of 8 */
	MAX_CODES = 128,
};

static struct probe_code codes[MAX_CODES];
static unsigned count, compared;
static const char *missing;

static int keep(const struct probe_code *code, void *user)
{
	if (count == MAX_CODES)
		return -1;
	codes[count] = *code;
	codes[count].name = strdup(code->name);
	compared += code->has_clang;
	count++;
	return 0;
}

/* Measured once, for all tests. */
static const char *measure(void)
{
	static bool measured;
	int error;

	if (measured)
		return missing;
	measured = true;
	missing = probe_tools_missing();
	if (missing)
		return missing;
	error = measure_probes(keep, NULL);
	CHECK(!error);
	if (!error && !compared)
		missing = "this clang has no nvptx64 target";
	return missing;
}

static unsigned units(unsigned registers)
{
	return (registers + UNIT - 1) / UNIT;
}

#define MEASURE()                                                                                  \
	do {                                                                                       \
		if (measure())                                                                     \
			SKIP(missing);                                                             \
	} while (0)

TEST("no probe has more instructions than clang's code for sm_75, sm_90 and sm_120")
{
	MEASURE();
	CHECK(compared > 50);
	for (unsigned i = 0; i < count; i++)
		if (codes[i].has_clang && codes[i].ours.instructions > codes[i].clang.instructions)
			TAP_FAIL("%s for sm_%u: %u instructions, clang %u", codes[i].name,
				 codes[i].sm, codes[i].ours.instructions,
				 codes[i].clang.instructions);
}

TEST("no probe has a larger allocation of registers than clang's code")
{
	MEASURE();
	for (unsigned i = 0; i < count; i++)
		if (codes[i].has_clang &&
		    units(codes[i].ours.registers) > units(codes[i].clang.registers))
			TAP_FAIL("%s for sm_%u: %u registers, clang %u", codes[i].name, codes[i].sm,
				 codes[i].ours.registers, codes[i].clang.registers);
}

TEST("no probe needs memory for its stack")
{
	MEASURE();
	for (unsigned i = 0; i < count; i++)
		if (codes[i].ours.stack)
			TAP_FAIL("%s for sm_%u: %u bytes", codes[i].name, codes[i].sm,
				 codes[i].ours.stack);
}

TEST_MAIN
