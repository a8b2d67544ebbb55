/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remainders that a compiler has written as differences. */
#include "assemble.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/object/private.h"
#include "tap.h"

/* x is in r6, c in r7. The result is in r6. */
#define BEGIN "ldxdw r6, [r1]\nldxdw r7, [r1+8]\n"
#define END "\nmov r0, r6\nexit"

static uint64_t result_of(const struct gt_bpf_program *program, uint64_t x, uint64_t c)
{
	uint64_t memory[2] = {x, c};
	const struct gt_interp_options options = {.memory = (uint8_t *)memory,
						  .memory_size = sizeof(memory)};
	struct gt_interp_result result = {0};
	struct gt_diag diag = {0};

	if (gt_interp_run(program, &options, &result, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	return result.r0;
}

static bool has_remainder(const struct gt_bpf_program *program)
{
	for (uint32_t at = 0; at < program->count; at++)
		if (BPF_OP(program->insns[at].code) == BPF_MOD &&
		    (program->insns[at].code & 7) != BPF_JMP)
			return true;
	return false;
}

/* The instructions become a remainder, or do not, and have the same result in any case. */
static void check_text(const char *body, bool is_remainder)
{
	static const uint64_t values[] = {0,         1,          7,          9,           10,
					  123456789, 0xffffffff, 1ull << 32, 10ull << 32, ~0ull};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_bpf_program before = {0}, after = {0};
	struct gt_diag diag = {0};

	gt_strbuf_printf(&text, "%s%s%s", BEGIN, body, END);
	CHECK(!gt_bpf_assemble(gt_strbuf_string(&text), &before.insns, &before.count, &diag));
	CHECK(!gt_bpf_assemble(gt_strbuf_string(&text), &after.insns, &after.count, &diag));
	gt_object_find_remainders(after.insns, after.count);
	if (has_remainder(&after) != is_remainder)
		TAP_FAIL("%s: is %sa remainder", body, is_remainder ? "not " : "");
	for (unsigned i = 0; i < gt_countof(values); i++)
		for (unsigned k = 0; k < gt_countof(values); k++)
			CHECK_INT(result_of(&after, values[i], values[k]),
				  result_of(&before, values[i], values[k]));
	gt_bpf_program_clear(&before);
	gt_bpf_program_clear(&after);
}

TEST("x - x / c * c is a remainder, in 64 and in 32 bits, by constants and registers")
{
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, 10\nsub r6, r2", true);
	check_text("mov r2, r6\ndiv r2, r7\nmul r2, r7\nsub r6, r2", true);
	check_text("mov32 r2, r6\ndiv32 r2, 10\nmul32 r2, 10\nsub32 r6, r2", true);
	check_text("mov r2, r6\ndiv32 r2, r7\nmul32 r2, r7\nsub32 r6, r2", true);
	/* The quotient takes the place of x, and instructions between them. */
	check_text("mov r2, r6\ndiv r6, 10\nmov r4, 1\nmul r6, 10\nmov r5, r2\nsub r2, r6\n"
		   "mov r6, r2",
		   true);
}

TEST("another difference stays as it is")
{
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, 11\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, r7\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, 10\nmul32 r2, 10\nsub r6, r2", false);
	check_text("mov32 r2, r6\ndiv r2, 10\nmul r2, 10\nsub r6, r2", false);
	check_text("mov r2, r6\nsdiv r2, 10\nmul r2, 10\nsub r6, r2", false);
	check_text("mov r2, r7\ndiv r2, 10\nmul r2, 10\nsub r6, r2", false);
	/* A register has changed. */
	check_text("mov r2, r6\nadd r6, 1\ndiv r2, 10\nmul r2, 10\nsub r6, r2", false);
	check_text("mov r2, r6\nadd r2, 1\ndiv r2, 10\nmul r2, 10\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, 10\nadd r2, 1\nmul r2, 10\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, 10\nadd r2, 1\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, r7\nadd r7, 1\nmul r2, r7\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, r7\nmul r2, r7\nadd r7, 1\nsub r6, r2", false);
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, 10\nldxdw r6, [r1+8]\nsub r6, r2", false);
}

TEST("a difference into which a jump leads stays as it is")
{
	check_text("mov r2, 3\njeq r7, 0, into\nmov r2, r6\ndiv r2, 10\ninto:\nmul r2, 10\n"
		   "sub r6, r2",
		   false);
	check_text("mov r2, r6\ndiv r2, 10\nmul r2, 10\njeq r7, 0, into\nmov r6, 4\n"
		   "into:\nsub r6, r2",
		   false);
	check_text("mov r2, 3\njeq r7, 0, into\ninto:\nmov r2, r6\ndiv r2, 10\nmul r2, 10\n"
		   "sub r6, r2",
		   true);
}

TEST_MAIN
