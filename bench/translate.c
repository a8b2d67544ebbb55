// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The cost of verifying and translating programs of 50, 500 and 5,000 instructions, and the size of
 * the code (translate-code.h; tests/unit/gpubpf/ptxgen/probes.c checks that it does not grow).
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gpubpf/translate.h"
#include "translate-code.h"

/* A counter of a map, a branch, arithmetic and the stack: 25 instructions of everything. */
static const struct bpf_insn part[] = {
	{BPF_STX | BPF_MEM | BPF_W, 10, 7, -4, 0},
	{BPF_LD | BPF_IMM | BPF_DW, 1, GT_BPF_IMM_MAP_INDEX, 0, 0},
	{0, 0, 0, 0, 0},
	{BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0},
	{BPF_ALU64 | BPF_ADD, 2, 0, 0, -4},
	{BPF_JMP | BPF_CALL, 0, 0, 0, 1},
	{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0},
	{BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1},
	{BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD},
	{BPF_LDX | BPF_MEM | BPF_DW, 3, 0, 0, 0},
	{BPF_ALU64 | BPF_ADD | BPF_X, 8, 3, 0, 0},
	{BPF_LDX | BPF_MEM | BPF_DW, 4, 6, 0, 0},
	{BPF_LDX | BPF_MEM | BPF_W, 5, 6, 8, 0},
	{BPF_ALU64 | BPF_XOR | BPF_X, 8, 4, 0, 0},
	{BPF_ALU64 | BPF_RSH | BPF_K, 4, 0, 0, 7},
	{BPF_ALU | BPF_MUL | BPF_X, 5, 4, 0, 0},
	{BPF_JMP | BPF_JGT | BPF_K, 5, 0, 1, 100},
	{BPF_ALU64 | BPF_ADD, 5, 0, 0, 3},
	{BPF_STX | BPF_MEM | BPF_DW, 10, 5, -16, 0},
	{BPF_ALU64 | BPF_AND | BPF_K, 4, 0, 0, 31},
	{BPF_LDX | BPF_MEM | BPF_DW, 5, 10, -16, 0},
	{BPF_ALU64 | BPF_ADD | BPF_X, 8, 5, 0, 0},
	{BPF_ALU64 | BPF_MOV | BPF_X, 7, 4, 0, 0},
	{BPF_ALU64 | BPF_OR | BPF_K, 7, 0, 0, 1},
	{BPF_STX | BPF_MEM | BPF_DW, 6, 8, 16, 0},
};

static uint32_t make_program(struct bpf_insn *insns, uint32_t wanted)
{
	uint32_t count = 0;

	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 8, 0, 0, 0};
	while (count + gt_countof(part) + 2 <= wanted) {
		memcpy(insns + count, part, sizeof(part));
		count += gt_countof(part);
	}
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 0, 8, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	return count;
}

static double now(void)
{
	return (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-6;
}

enum step {
	VERIFY,
	TO_PTX,
	TO_SPIRV,
	STEPS,
};

/* Milliseconds of processor time to translate a verified program once, or a negative number. */
static double translate(const struct gt_code_target *target, const struct gt_bpf_object *object,
			const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	struct gt_translate_options options = {.sm = 90};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_translate_job job = {.program = program, .facts = facts, .memory_size = 64};
	struct gt_diag diag = {0};
	double start = now(), ms;
	int error = target->translate(&options, object, &job, &translation, &diag);

	if (!error)
		error = target->finish(&options, &translation, &text, &diag);
	ms = now() - start;
	gt_translation_clear(&translation);
	if (error)
		fprintf(stderr, "translate: %s: %s\n", diag.place, diag.text);
	return error ? -1 : ms;
}

/* The time of each step, once. False: one failed. */
static bool take(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
		 double *ret_ms)
{
	struct gt_verify_options check = {.input = GT_INPUT_MEMORY, .memory_size = 64};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	double start = now();
	int error = gt_verify(object, program, &check, &facts, NULL, &diag);

	ret_ms[VERIFY] = now() - start;
	if (error)
		fprintf(stderr, "translate: %s: %s\n", diag.place, diag.text);
	ret_ms[TO_PTX] = error ? -1 : translate(&gt_target_ptx, object, program, &facts);
	ret_ms[TO_SPIRV] = error ? -1 : translate(&gt_target_spirv, object, program, &facts);
	gt_facts_clear(&facts);
	return ret_ms[TO_PTX] >= 0 && ret_ms[TO_SPIRV] >= 0;
}

static int measure_time(void)
{
	static const uint32_t sizes[] = {50, 500, 5000};
	struct gt_bpf_map map = {
		.name = "counts", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 64};
	struct gt_bpf_object object = {.maps = &map, .map_count = 1};

	for (size_t i = 0; i < gt_countof(sizes); i++) {
		gt_autofree struct bpf_insn *insns = calloc(sizes[i], sizeof(*insns));
		struct gt_bpf_program program = {.insns = insns};
		double best[STEPS] = {1e9, 1e9, 1e9}, ms[STEPS];

		program.count = make_program(insns, sizes[i]);
		for (int j = 0; j < 5; j++) {
			if (!take(&object, &program, ms))
				return 1;
			for (unsigned step = 0; step < STEPS; step++)
				best[step] = ms[step] < best[step] ? ms[step] : best[step];
		}
		printf("verify-and-translate-%u %.4f ms\n", sizes[i], best[VERIFY] + best[TO_PTX]);
		printf("translate-to-ptx-%u %.4f ms\n", sizes[i], best[TO_PTX]);
		printf("translate-to-spirv-%u %.4f ms\n", sizes[i], best[TO_SPIRV]);
		printf("spirv-over-ptx-%u %.2f times\n", sizes[i], best[TO_SPIRV] / best[TO_PTX]);
	}
	return 0;
}

static int print_code(const struct probe_code *code, void *user)
{
	const struct sass_code *figures[] = {&code->ours, &code->clang};

	(void)user;
	for (size_t i = 0; i < (code->has_clang ? 2 : 1); i++) {
		const char *by = i ? "-clang" : "";

		printf("%s-sm_%u-instructions%s %u SASS\n", code->name, code->sm, by,
		       figures[i]->instructions);
		printf("%s-sm_%u-registers%s %u registers\n", code->name, code->sm, by,
		       figures[i]->registers);
		if (figures[i]->stack)
			printf("%s-sm_%u-stack%s %u bytes\n", code->name, code->sm, by,
			       figures[i]->stack);
	}
	return 0;
}

int main(void)
{
	const char *missing = probe_tools_missing();

	if (measure_time())
		return 1;
	if (missing) {
		printf("probes skip %s\n", missing);
		return 0;
	}
	return measure_probes(print_code, NULL) ? 1 : 0;
}
