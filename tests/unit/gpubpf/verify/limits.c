/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What verification may take: the work of comparing states. */
#include <errno.h>

#include "assemble.h"
#include "gpubpf/verify/private.h"
#include "tap.h"

/* Verifies a program; its error. *ret_effort is what that took. */
static int verify_within(const char *text, uint64_t max_work, struct gt_verify_effort *ret_effort,
			 struct gt_diag *diag)
{
	const struct gt_bpf_object object = {0};
	const struct gt_verify_options options = {
		.input = GT_INPUT_MEMORY,
		.memory_size = 64,
		.max_work = max_work,
		.effort = ret_effort,
	};
	struct gt_bpf_program program = {0};
	struct gt_facts facts = {0};
	int error;

	CHECK_INT(gt_bpf_assemble(text, &program.insns, &program.count, diag), 0);
	error = gt_verify(&object, &program, &options, &facts, NULL, diag);
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
	return error;
}

/* Each iteration is compared with those before it, and differs from them in r1 and in a slot. */
static const char loops[] = "mov r0, 0\n"
			    "mov r1, 0\n"
			    "stdw [r10-512], 0\n"
			    "outer:\n"
			    "mov r2, 0\n"
			    "inner:\n"
			    "add r0, 1\n"
			    "stxdw [r10-504], r0\n"
			    "add r2, 1\n"
			    "jlt r2, 40, inner\n"
			    "add r1, 1\n"
			    "jlt r1, 40, outer\n"
			    "exit\n";

TEST("a program whose states take too much work to compare is too large, soon after the limit")
{
	/* An instruction compares at most the states that are kept at it, each with all frames. */
	const uint64_t step = GT_MAX_LOOP_STATES * (1 + GT_BPF_STACK_SLOTS / 8);
	struct gt_verify_effort whole, part;
	struct gt_diag diag = {0};
	uint64_t limit;

	CHECK_INT(verify_within(loops, 0, &whole, &diag), 0);
	CHECK_STR(diag.text, "");
	CHECK(whole.work > 20 * step);
	CHECK(whole.work < GT_MAX_WORK);
	CHECK_INT(verify_within(loops, whole.work, &part, &diag), 0);
	for (limit = step; limit < whole.work / 2; limit *= 2) {
		diag = (struct gt_diag){0};
		CHECK_INT(verify_within(loops, limit, &part, &diag), -E2BIG);
		CHECK(!strncmp(diag.text, "BPF program is too large. Processed ", 36));
		CHECK(part.work > limit && part.work <= limit + step);
		CHECK(part.visited < whole.visited);
	}
}

/* A loop to a limit of 64 bits from memory: no iteration has a state of those before it. */
static const char unknown_limit[] = "mov r0, 0\n"
				    "stdw [r10-512], 0\n"
				    "ldxdw r2, [r1+0]\n"
				    "loop:\n"
				    "add r0, 1\n"
				    "jne r0, r2, loop\n"
				    "exit\n";

/* A loop to a limit that it does not reach within the limit of instructions, with a large state. */
static const char far_limit[] = "mov r0, 0\n"
				"stdw [r10-512], 0\n"
				"lddw r2, 0x100000000\n"
				"loop:\n"
				"add r0, 1\n"
				"jne r0, r2, loop\n"
				"exit\n";

TEST("a program of six instructions reaches the default limit of work, before that of instructions")
{
	const uint64_t step = GT_MAX_LOOP_STATES * (1 + GT_BPF_STACK_SLOTS / 8);
	struct gt_verify_effort limited, unlimited;
	unsigned long long processed;
	struct gt_diag diag = {0};

	CHECK_INT(verify_within(far_limit, 0, &limited, &diag), -E2BIG);
	CHECK(limited.work > GT_MAX_WORK && limited.work <= GT_MAX_WORK + step);
	CHECK_INT(sscanf(diag.text, "BPF program is too large. Processed %llu insn", &processed),
		  1);
	CHECK(processed < 1000000); /* the default limit of instructions */
	CHECK_INT(verify_within(far_limit, UINT64_MAX, &unlimited, &diag), -E2BIG);
	CHECK_STR(diag.text, "BPF program is too large. Processed 1000001 insn");
	CHECK(unlimited.work > GT_MAX_WORK + step);
	CHECK(unlimited.visited > limited.visited);
}

TEST("the passes over a program that is too large visit at most 2.25 times the limit of "
     "instructions")
{
	struct gt_verify_effort effort;
	struct gt_diag diag = {0};

	/* One pass is precise, one is lazy, and one widens the loop. */
	CHECK_INT(verify_within(unknown_limit, UINT64_MAX, &effort, &diag), -E2BIG);
	CHECK_STR(diag.text, "BPF program is too large. Processed 1000001 insn");
	CHECK(effort.visited > 2000000 && effort.visited < 2250010);
}

/*
 * Four paths come to one point with r3 from 0 to 7, 100, 5 and 6 in this order: first the path that
 * falls through, then the branches, the last one first. Only the last two are in the state of the
 * first, and the second one is the reason for which the first is compared by r3 alone.
 */
#define PATHS_TO_JOIN                                                                              \
	"ldxb r2, [r1+0]\n"                                                                        \
	"ldxb r4, [r1+1]\n"                                                                        \
	"mov r0, 0\n"                                                                              \
	"mov r5, 0\n"                                                                              \
	"mov r5, 1\n"                                                                              \
	"mov r5, 2\n"                                                                              \
	"mov r5, 3\n"                                                                              \
	"jeq r2, 1, last\n"                                                                        \
	"jeq r2, 2, third\n"                                                                       \
	"jeq r2, 3, next\n"                                                                        \
	"mov r3, r4\n"                                                                             \
	"and r3, 7\n"                                                                              \
	"ja join\n"                                                                                \
	"next:\n"                                                                                  \
	"mov r3, 100\n"                                                                            \
	"ja join\n"                                                                                \
	"third:\n"                                                                                 \
	"mov r3, 5\n"                                                                              \
	"ja join\n"                                                                                \
	"last:\n"                                                                                  \
	"mov r3, 6\n"

static const char ranges[] = PATHS_TO_JOIN "join:\n"
					   "mov r5, 0\n"
					   "mov r5, 1\n"
					   "mov r5, 2\n"
					   "mov r5, 3\n"
					   "mov r5, 4\n"
					   "jgt r3, 200, end\n"
					   "mov r0, 1\n"
					   "end:\n"
					   "exit\n";

TEST("a state within an explored one is pruned after another one was not")
{
	struct gt_verify_effort effort;
	struct gt_diag diag = {0};

	CHECK_INT(verify_within(ranges, 0, &effort, &diag), 0);
	/* 50 where the paths with 5 and 6 are explored beyond the point. */
	CHECK_INT(effort.visited, 46);
}

/* The same with the number in a slot. */
static const char slot_ranges[] = PATHS_TO_JOIN "join:\n"
						"stxdw [r10-16], r3\n"
						"mov r3, 0\n"
						"mov r5, 1\n"
						"mov r5, 2\n"
						"mov r5, 3\n"
						"jeq r4, 9, here\n"
						"here:\n"
						"mov r5, 4\n"
						"ldxdw r3, [r10-16]\n"
						"jgt r3, 200, end\n"
						"mov r0, 1\n"
						"end:\n"
						"exit\n";

TEST("a state with a slot within that of an explored one is pruned after another one was not")
{
	struct gt_verify_effort effort;
	struct gt_diag diag = {0};

	CHECK_INT(verify_within(slot_ranges, 0, &effort, &diag), 0);
	/* 82 where the paths with 5 and 6 are explored beyond the point. */
	CHECK_INT(effort.visited, 62);
}

TEST_MAIN
