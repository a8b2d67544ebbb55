/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs: whatever the verifier accepts runs on the interpreter, which checks every
 * access, without a fault and within the verifier's bound.
 */
#include <errno.h>

#include "../../fuzz/gpubpf_programs.h"
#include "gpubpf/interp.h"
#include "gpubpf/maps.h"
#include "gpubpf/verify.h"
#include "tap.h"

enum {
	PROGRAMS = 10000,
};

static struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_MAPS};

static void print_program(const struct gt_bpf_program *program)
{
	for (unsigned i = 0; i < program->count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, program->insns, program->count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
		i += gt_bpf_is_wide(&program->insns[i]);
	}
}

static bool check_run(const struct gt_bpf_program *program, const struct gt_facts *facts,
		      unsigned number)
{
	void *memories[RANDOM_MAPS];
	uint8_t memory[MEMORY];
	struct gt_interp_options options = {.object = &object,
					    .map_memory = memories,
					    .memory = memory,
					    .memory_size = MEMORY,
					    .max_executed = facts->bound};
	struct gt_interp_result result = {0};
	struct gt_diag diag = {0};
	int error;

	make_memory(memory);
	for (unsigned i = 0; i < RANDOM_MAPS; i++) {
		memories[i] = calloc(1, gt_map_bytes(&random_maps[i], 1));
		gt_map_initialise(&random_maps[i], 1, memories[i]);
	}
	error = gt_interp_run(program, &options, &result, &diag);
	for (unsigned i = 0; i < RANDOM_MAPS; i++)
		free(memories[i]);
	if (!error)
		return true;
	TAP_FAIL("program %u: %s: %s", number, diag.place, diag.text);
	print_program(program);
	return false;
}

TEST("programs that are accepted never reach outside, and end within their bound")
{
	const char *wanted = getenv("PROGRAMS");
	unsigned programs = wanted ? (unsigned)atoi(wanted) : PROGRAMS, accepted = 0;
	struct gt_verify_options options = {
		.input = GT_INPUT_MEMORY, .memory_size = MEMORY, .max_visited = 20000};

	random_seed();
	for (unsigned i = 0; i < programs; i++) {
		struct bpf_insn insns[LONGEST];
		struct gt_bpf_program program = {.insns = insns, .count = make_program(insns)};
		struct gt_facts facts = {0};
		struct gt_diag diag = {0};
		int error = gt_verify(&object, &program, &options, &facts, NULL, &diag);
		bool fine = true;

		if (error) {
			CHECK(gt_diag_is_set(&diag));
			CHECK(error == -EACCES || error == -E2BIG);
			if (getenv("SHOW")) {
				printf("# %u: %s: %s\n", i, diag.place, diag.text);
				print_program(&program);
			}
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
	CHECK(accepted > programs / 2);
}

TEST_MAIN
