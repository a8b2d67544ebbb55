/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Compare results of programs with those on the running kernel: all bits of r0, memory and maps.
 * The cases, every operation with many operands, and random programs, of which SHOW=1 prints those
 * that differ.
 */
#include <glob.h>
#include <inttypes.h>

#include "amount.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_cases.h"
#include "gpubpf_kernel_run.h"
#include "gpubpf_operations.h"
#include "gpubpf_programs.h"
#include "gpubpf_shown.h"
#include "tap.h"

enum {
	CLEARED = -RECORD / 8, /* slots of the stack that random programs use */
	PROGRAMS = 1500,
	RUNS = 3,
	KEYS = 8, /* that random programs insert into maps */
};

/* Whether a program reads uninitialized bytes of its stack: their values on the kernel are
 * arbitrary. */
static bool reads_early(const struct gt_facts *facts)
{
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		if (facts->subprograms[i].read_early)
			return true;
	return false;
}

/* Whether results of helpers differ between runs: random values, time, the processor. */
static bool is_nondeterministic(const struct gt_bpf_program *program)
{
	for (uint32_t at = 0; at < program->count; at++) {
		const struct bpf_insn *insn = &program->insns[at];

		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		    (insn->imm == GT_HELPER_get_prandom_u32 ||
		     insn->imm == GT_HELPER_ktime_get_ns ||
		     insn->imm == GT_HELPER_get_smp_processor_id ||
		     insn->imm == GT_HELPER_get_current_pid_tgid))
			return true;
	}
	return false;
}

/*
 * Whether a function gets a pointer to its caller's stack. Linux 6.18 then considers slots of the
 * stack dead that are read after the call, explores too few paths, and removes branches that are
 * taken: a program was seen to store to another address than its code says.
 */
static bool lends_stack(const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	for (uint32_t at = 0; at < program->count; at++)
		for (unsigned i = 1; i <= 5 && gt_bpf_is_subprogram_call(&program->insns[at]); i++)
			if (facts->insns[at].registers[i].type == GT_REG_STACK ||
			    facts->insns[at].registers[i].type == GT_REG_MIXED)
				return true;
	return false;
}

/* A program on both engines. */
struct engine_pair {
	struct gt_bpf_object object;
	struct gt_bpf_program program;
	struct gt_facts facts;
	struct kernel_question question;
	struct kernel_program kernel;
	void *maps[CASE_MAPS];
};

static void pair_close(struct engine_pair *pair)
{
	kernel_program_close(&pair->kernel);
	gt_facts_clear(&pair->facts);
	for (unsigned i = 0; i < CASE_MAPS; i++)
		free(pair->maps[i]);
}

/* Load a program on both. False: one rejects it, or results cannot be compared. */
static bool pair_open(struct engine_pair *pair, uint32_t memory_size)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .memory_size = memory_size};

	if (gt_verify(&pair->object, &pair->program, &options, &pair->facts, NULL, NULL))
		return false;
	if (is_nondeterministic(&pair->program) || reads_early(&pair->facts) ||
	    shows_addresses(&pair->program, &pair->facts))
		return false;
	pair->question = (struct kernel_question){.insns = pair->program.insns,
						  .count = pair->program.count,
						  .maps = pair->object.maps,
						  .map_count = pair->object.map_count,
						  .memory = true,
						  .memory_size = memory_size};
	return !kernel_program_open(&pair->question, &pair->kernel);
}

static int interpret(struct engine_pair *pair, uint8_t *memory, uint64_t *ret_r0)
{
	struct gt_interp_options options = {.object = &pair->object,
					    .map_memory = pair->maps,
					    .memory = memory,
					    .memory_size = pair->question.memory_size};
	struct gt_interp_result result;
	int error;

	for (uint32_t i = 0; i < pair->object.map_count; i++) {
		const struct gt_bpf_map *map = &pair->object.maps[i];

		free(pair->maps[i]);
		pair->maps[i] = calloc(1, gt_bpf_map_bytes(map, 1));
		gt_bpf_map_initialise(map, 1, pair->maps[i]);
	}
	error = gt_interp_run(&pair->program, &options, &result, NULL);
	if (!error)
		*ret_r0 = result.r0;
	return error;
}

/* Run it on both with the same memory; print differences to `wrong`. */
static bool pair_run(struct engine_pair *pair, const uint8_t *memory, struct gt_strbuf *wrong)
{
	uint32_t size = pair->question.memory_size;
	gt_autofree uint8_t *ours = malloc(size + 1u), *theirs = malloc(size + 1u);
	uint64_t our_r0 = 0, their_r0 = 0;

	memcpy(ours, memory, size);
	memcpy(theirs, memory, size);
	if (interpret(pair, ours, &our_r0))
		gt_strbuf_puts(wrong, "the interpreter failed");
	else if (kernel_program_run(&pair->kernel, theirs, &their_r0))
		gt_strbuf_puts(wrong, "the kernel failed");
	else if (our_r0 != their_r0)
		gt_strbuf_printf(wrong, "r0 is 0x%" PRIx64 ", on Linux 0x%" PRIx64, our_r0,
				 their_r0);
	for (uint32_t i = 0; !wrong->length && i < size; i++)
		if (ours[i] != theirs[i])
			gt_strbuf_printf(wrong, "byte %u of the memory is %02x, on Linux %02x", i,
					 ours[i], theirs[i]);
	return !wrong->length;
}

/* ---- cases ----------------------------------------------------------------------------- */

static unsigned compared;

static void run_case(const char *path, struct bpf_case *one)
{
	struct engine_pair pair = {.object = {.maps = one->maps, .map_count = one->map_count}};
	gt_auto_strbuf wrong = GT_STRBUF_INIT;

	if (one->rejection[0] || one->linux_verdict[0] ||
	    gt_bpf_assemble(gt_strbuf_string(&one->text), &pair.program.insns, &pair.program.count,
			    NULL))
		return;
	if (pair_open(&pair, one->memory_size)) {
		compared++;
		if (!pair_run(&pair, one->memory, &wrong))
			TAP_FAIL("%s: %s: %s", path, one->title, gt_strbuf_string(&wrong));
	}
	pair_close(&pair);
	gt_bpf_program_clear(&pair.program);
}

TEST("every case that Linux runs has the same result there and on the interpreter")
{
	const char *data = getenv("TEST_DATA"), *reason = kernel_is_no_measure();
	gt_auto_strbuf pattern = GT_STRBUF_INIT;
	glob_t files = {0};

	if (reason)
		SKIP(reason);
	gt_strbuf_printf(&pattern, "%s/ebpf/*.cases", data ? data : "tests/data");
	CHECK(!glob(gt_strbuf_string(&pattern), 0, NULL, &files));
	for (size_t i = 0; i < files.gl_pathc; i++)
		CHECK(each_case(files.gl_pathv[i], run_case) > 0);
	globfree(&files);
	printf("# %u cases were run by both\n", compared);
	CHECK(compared > 300);
}

/* ---- operations ------------------------------------------------------------------------ */

static void run_operation(const struct bpf_insn *operation)
{
	static struct bpf_insn insns[OPERATION_INSNS];
	static uint64_t memory[OPERATION_MEMORY / 8];
	struct engine_pair pair = {.program = {.insns = insns}};
	gt_auto_strbuf wrong = GT_STRBUF_INIT;

	pair.program.count = operation_program(operation, insns);
	operation_memory(memory);
	if (!pair_open(&pair, sizeof(memory))) {
		if (kernel_knows(&pair.question))
			gt_strbuf_puts(&wrong, "it does not run on both");
	} else if (pair_run(&pair, (const uint8_t *)memory, &wrong)) {
		compared++;
	}
	if (wrong.length)
		TAP_FAIL("opcode 0x%02x offset %d imm 0x%x: %s", operation->code, operation->off,
			 (unsigned)operation->imm, gt_strbuf_string(&wrong));
	pair_close(&pair);
}

TEST("every operation on edge cases has the same result as on Linux")
{
	const char *reason = kernel_is_no_measure();

	if (reason)
		SKIP(reason);
	compared = 0;
	each_operation(run_operation);
	printf("# %u operations with %d pairs of numbers each\n", compared, OPERATION_PAIRS);
	CHECK(compared > 500);
}

/* ---- random programs ------------------------------------------------------------------- */

static void print_program(const struct gt_bpf_program *program)
{
	for (uint32_t i = 0; i < program->count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, program->insns, program->count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
		i += gt_bpf_is_wide(&program->insns[i]);
	}
}

/* Count the functions that start at an instruction or before it. */
static uint32_t functions_to(const struct gt_bpf_program *program, uint32_t insn)
{
	uint8_t begins[RANDOM_MAX_INSNS] = {1};
	uint32_t count = 0;

	for (uint32_t at = 0; at < program->count; at++)
		if (gt_bpf_is_subprogram_call(&program->insns[at]))
			begins[gt_bpf_jump_target(program->insns, at)] = 1;
	for (uint32_t at = 0; at <= insn; at++)
		count += begins[at];
	return count;
}

/* Copy a program, clearing the stack at the start of each function. Returns its slots. */
static uint32_t clear_stacks(const struct gt_bpf_program *program, struct bpf_insn *insns)
{
	uint32_t count = 0, before = 0;

	for (uint32_t at = 0; at < program->count; at++) {
		uint32_t functions = functions_to(program, at);

		for (int slot = 1; functions > before && slot <= CLEARED; slot++)
			insns[count++] =
				operation_insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * slot, 0);
		before = functions;
		insns[count] = program->insns[at];
		if (gt_bpf_is_subprogram_call(&insns[count])) {
			uint32_t target = (uint32_t)gt_bpf_jump_target(program->insns, at);

			target += CLEARED * (functions_to(program, target) - 1);
			insns[count].imm = (int32_t)target - (int32_t)count - 1;
		}
		count++;
	}
	return count;
}

/* Read the values of arrays and hashes, or clear them. */
static void compare_maps(struct engine_pair *pair, struct gt_strbuf *wrong)
{
	for (uint32_t i = 0; i < pair->object.map_count; i++) {
		const struct gt_bpf_map *map = &pair->object.maps[i];
		int fd = pair->kernel.fds[i];

		for (uint64_t key = 0;
		     key < KEYS && gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_RING; key++) {
			uint8_t value[MAP_VALUE] = {0}, zeros[MAP_VALUE] = {0};
			bool there = !kernel_value(BPF_MAP_LOOKUP_ELEM, fd, &key, value);
			int64_t offset = gt_bpf_map_lookup(map, pair->maps[i], 0, &key);

			if (there != (offset >= 0))
				gt_strbuf_printf(wrong,
						 "map %u: key %" PRIu64 " is there on %s only; ", i,
						 key, there ? "Linux" : "the interpreter");
			else if (there && memcmp((uint8_t *)pair->maps[i] + offset, value,
						 sizeof(value)) != 0)
				gt_strbuf_printf(wrong,
						 "map %u: the value of %" PRIu64 " differs; ", i,
						 key);
			if (gt_bpf_map_kind(map->type)->shape == GT_BPF_MAP_HASH)
				kernel_value(BPF_MAP_DELETE_ELEM, fd, &key, NULL);
			else
				kernel_value(BPF_MAP_UPDATE_ELEM, fd, &key, zeros);
		}
	}
}

static bool run_random(struct engine_pair *pair, unsigned number)
{
	for (unsigned run = 0; run < RUNS; run++) {
		gt_auto_strbuf wrong = GT_STRBUF_INIT;
		uint8_t memory[MEMORY];

		make_memory(memory);
		if (pair_run(pair, memory, &wrong))
			compare_maps(pair, &wrong);
		if (!wrong.length)
			continue;
		TAP_FAIL("program %u: %s", number, gt_strbuf_string(&wrong));
		print_program(&pair->program);
		return false;
	}
	return true;
}

TEST("random programs have the same results as on Linux: r0, memory and maps")
{
	const char *reason = kernel_is_no_measure();
	unsigned programs = programs_wanted(PROGRAMS);
	bool fine = true;

	if (reason)
		SKIP(reason);
	compared = 0;
	random_seed();
	random_for_linux = true;
	for (unsigned i = 0; i < programs && fine; i++) {
		struct bpf_insn made[RANDOM_MAX_INSNS],
			insns[RANDOM_MAX_INSNS + CLEARED * (RANDOM_FUNCTIONS + 1)];
		struct gt_bpf_program program = {.insns = made, .count = make_program(made)};
		struct engine_pair pair = {
			.object = {.maps = random_maps, .map_count = RANDOM_LINUX_MAPS},
			.program = {.insns = insns}};

		pair.program.count = clear_stacks(&program, insns);
		if (pair_open(&pair, MEMORY) && !lends_stack(&pair.program, &pair.facts)) {
			compared++;
			fine = run_random(&pair, i);
		}
		pair_close(&pair);
	}
	printf("# %u of %u programs were run by both, %d times each\n", compared, programs, RUNS);
	CHECK(compared > programs / 6);
}

TEST_MAIN
