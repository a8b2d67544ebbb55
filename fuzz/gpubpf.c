/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Input: an eBPF program, or the random bytes of the program generator. Programs that the verifier
 * accepts run on the interpreter without a fault and within their bound, and can be translated.
 */
#include <errno.h>

#include "gpubpf/interp/interp.h"
#include "gpubpf/map/map.h"
#include "gpubpf/translate.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_MAPS};

static void interpret(const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	void *memories[RANDOM_MAPS];
	uint8_t memory[MEMORY];
	struct gt_interp_options options = {.object = &object,
					    .map_memory = memories,
					    .memory = memory,
					    .memory_size = MEMORY,
					    .max_executed = facts->bound};
	struct gt_interp_result result;

	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 37);
	for (unsigned i = 0; i < RANDOM_MAPS; i++) {
		memories[i] = calloc(1, gt_bpf_map_bytes(&random_maps[i], 1));
		if (!memories[i])
			abort();
		gt_bpf_map_initialise(&random_maps[i], 1, memories[i]);
	}
	if (gt_interp_run(program, &options, &result, NULL))
		abort();
	for (unsigned i = 0; i < RANDOM_MAPS; i++)
		free(memories[i]);
}

static void translate(const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	struct gt_translate_options options = {.sm = 90};
	struct gt_translate_job job = {
		.program = program,
		.facts = facts,
		.memory_size = MEMORY,
	};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (gt_target_ptx.translate(&options, &object, &job, &translation, NULL) ||
	    gt_target_ptx.finish(&options, &translation, &text, NULL))
		abort();
	gt_translation_clear(&translation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpf_insn insns[RANDOM_MAX_INSNS] = {{0}};
	struct gt_bpf_program program = {.insns = insns};
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = MEMORY,
					    .max_visited = 20000,
					    .lazy_precision = size % 2};
	struct gt_facts facts;
	struct gt_diag diag = {0};

	if (size < 1)
		return 0;
	if (data[0] & 1) {
		random_bytes = data + 1;
		random_left = size - 1;
		program.count = make_program(insns);
	} else {
		program.count = (uint32_t)((size - 1) / sizeof(*insns));
		if (program.count > RANDOM_MAX_INSNS)
			program.count = RANDOM_MAX_INSNS;
		memcpy(insns, data + 1, program.count * sizeof(*insns));
	}
	if (gt_verify(&object, &program, &options, &facts, NULL, &diag)) {
		if (!gt_diag_is_set(&diag))
			abort();
		return 0;
	}
	interpret(&program, &facts);
	translate(&program, &facts);
	gt_facts_clear(&facts);
	return 0;
}
