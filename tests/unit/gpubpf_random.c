/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs: whatever the verifier accepts runs on the interpreter, which checks every
 * access, without a fault, within the verifier's bound, and with registers that its facts hold.
 */
#include <errno.h>

#include "gpubpf/interp.h"
#include "gpubpf/verify.h"
#include "gpubpf_programs.h"
#include "tap.h"

enum {
	PROGRAMS = 10000,
};

static bool check_run(const struct gt_bpf_program *program, const struct gt_facts *facts,
		      unsigned number)
{
	uint8_t memory[MEMORY];
	struct gt_interp_options options = {.memory = memory, .memory_size = MEMORY};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	make_memory(memory);
	options.max_executed = facts->bound;
	if (!gt_interp_run(program, &options, &result, &diag))
		return true;
	TAP_FAIL("program %u: %s: %s", number, diag.place, diag.text);
	for (unsigned i = 0; i < program->count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, program->insns, program->count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
	}
	return false;
}

TEST("programs that are accepted never reach outside, and end within their bound")
{
	const char *wanted = getenv("PROGRAMS");
	unsigned programs = wanted ? (unsigned)atoi(wanted) : PROGRAMS, accepted = 0;
	struct gt_verify_options options = {
		.input = GT_INPUT_MEMORY, .memory_size = MEMORY, .max_visited = 20000};

	for (unsigned i = 0; i < programs; i++) {
		struct bpf_insn insns[LONGEST];
		struct gt_bpf_program program = {.insns = insns, .count = make_program(insns)};
		struct gt_facts facts = {0};
		struct gt_diag diag = {0};
		int error = gt_verify(NULL, &program, &options, &facts, NULL, &diag);
		bool fine = true;

		if (error) {
			CHECK(gt_diag_is_set(&diag));
			CHECK(error == -EACCES || error == -E2BIG);
			continue;
		}
		accepted++;
		for (unsigned run = 0; run < 4 && fine; run++)
			fine = check_run(&program, &facts, i);
		gt_facts_clear(&facts);
		if (!fine)
			return;
	}
	printf("# %u of %u programs were accepted\n", accepted, programs);
	CHECK(accepted > programs / 50);
}

TEST_MAIN
