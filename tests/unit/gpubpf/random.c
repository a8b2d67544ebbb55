/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs: those that the verifier accepts run on the interpreter, which checks every
 * access, without a fault, within the verifier's bound, and in agreement with its facts. PROGRAMS=N
 * and SEED=N select other programs, SHOW=1 prints those that are rejected.
 */
#include <errno.h>

#include "amount.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/map/map.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_claims.h"
#include "gpubpf_layout.h"
#include "gpubpf_loops.h"
#include "tap.h"

enum {
	PROGRAMS = 10000,
	LOOP_PROGRAMS = 1500,
	RUNS = 4,   /* of an accepted program */
	BROKEN = 2, /* mutations of an accepted program */
};

static struct gt_bpf_map maps[RANDOM_MAPS];
static struct gt_bpf_object object = {.maps = maps, .map_count = RANDOM_MAPS};

/* Of a few programs (sanitizers watch all of it), the map with one value has the largest one. */
static void choose_maps(unsigned number)
{
	memcpy(maps, random_maps, sizeof(maps));
	if (number % (IS_SANITIZED ? 150 : 15) == 7)
		maps[MAP_ONE].value_size = GT_BPF_MAX_VALUE;
}

/* Statistics of programs, and of the bounds of accepted ones. */
struct tally {
	unsigned programs, accepted;
	uint64_t executed, bound; /* sums of the longest runs, and of the bounds */
	unsigned exact;           /* that reached their bound */
	unsigned widened;         /* that have widened loops */
	uint64_t max_visited;     /* by the verifier */
};

static void print_program(const struct gt_bpf_program *program)
{
	for (unsigned i = 0; i < program->count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, program->insns, program->count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
		i += gt_bpf_is_wide(&program->insns[i]);
	}
}

/* Half of the runs have their memories at addresses of a random layout. */
static bool check_run(const struct gt_bpf_program *program, const struct gt_facts *facts,
		      uint64_t *executed)
{
	static struct claims claims;
	struct layout layout;
	void *memories[RANDOM_MAPS];
	uint8_t memory[MEMORY];
	struct gt_interp_options options = {.object = &object,
					    .map_memory = memories,
					    .memory = memory,
					    .memory_size = MEMORY,
					    .max_executed = facts->bound,
					    .visit = claims_visit,
					    .visit_data = &claims};
	struct gt_interp_result result = {0};
	struct gt_diag diag = {0};
	int error;

	layout_make(&layout, &options);
	if (below(2))
		options.addresses = layout.addresses;
	claims_begin(&claims, &options, program, facts);
	make_memory(memory);
	for (unsigned i = 0; i < RANDOM_MAPS; i++) {
		memories[i] = calloc(1, gt_bpf_map_bytes(&maps[i], 1));
		gt_bpf_map_initialise(&maps[i], 1, memories[i]);
	}
	error = gt_interp_run(program, &options, &result, &diag);
	for (unsigned i = 0; i < RANDOM_MAPS; i++)
		free(memories[i]);
	if (result.executed > *executed)
		*executed = result.executed;
	if (!error && !claims.wrong[0])
		return true;
	TAP_FAIL("%s: %s %s", diag.place, diag.text, claims.wrong);
	print_program(program);
	return false;
}

/* False if a program does not behave as verified. */
static bool check_program(const struct gt_bpf_program *program, struct tally *tally, bool *accepted)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = MEMORY,
					    .max_visited = tally->max_visited,
					    .widens = tally->programs / 2 % 2,
					    .lazy_precision = tally->programs % 2};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	uint64_t executed = 0;
	bool fine = true;
	int error;

	choose_maps(tally->programs);
	error = gt_verify(&object, program, &options, &facts, NULL, &diag);

	tally->programs++;
	*accepted = !error;
	if (error) {
		CHECK(gt_diag_is_set(&diag));
		CHECK(error == -EACCES || error == -E2BIG);
		if (getenv("SHOW")) {
			printf("# %s: %s\n", diag.place, diag.text);
			print_program(program);
		}
		return true;
	}
	tally->accepted++;
	for (unsigned run = 0; run < RUNS && fine; run++)
		fine = check_run(program, &facts, &executed);
	tally->executed += executed;
	tally->bound += facts.bound;
	tally->exact += executed == facts.bound;
	tally->widened += facts.widened != 0;
	gt_facts_clear(&facts);
	return fine;
}

static void print_tally(const char *what, const struct tally *tally)
{
	printf("# %u of %u %s were accepted, %u with widened loops; they executed %.0f %% of their "
	       "bounds, %u all of it\n",
	       tally->accepted, tally->programs, what, tally->widened,
	       tally->bound ? 100.0 * (double)tally->executed / (double)tally->bound : 0,
	       tally->exact);
}

/* False if a program, or a mutation of an accepted one, does not behave as verified. */
static bool check_programs(unsigned (*make)(struct bpf_insn *insns), unsigned programs,
			   struct tally *made, struct tally *broken)
{
	random_seed();
	for (unsigned i = 0; i < programs; i++) {
		struct bpf_insn insns[RANDOM_MAX_INSNS], others[RANDOM_MAX_INSNS];
		struct gt_bpf_program program = {.insns = insns, .count = make(insns)};
		struct gt_bpf_program other = {.insns = others, .count = program.count};
		bool accepted;

		if (!check_program(&program, made, &accepted))
			return false;
		for (unsigned j = 0; accepted && j < BROKEN; j++) {
			bool ignored;

			memcpy(others, insns, program.count * sizeof(*insns));
			break_program(others, program.count);
			if (!check_program(&other, broken, &ignored))
				return false;
		}
	}
	return true;
}

TEST("accepted programs stay in bounds, end within their bound, and agree with their facts")
{
	unsigned programs = programs_wanted(PROGRAMS);
	struct tally made = {.max_visited = 20000}, broken = made;

	if (!check_programs(make_program, programs, &made, &broken))
		return;
	print_tally("programs", &made);
	print_tally("mutations of these", &broken);
	CHECK(made.accepted > programs / 5 * 2);
	CHECK(broken.accepted < broken.programs);
}

TEST("values in loops are in the ranges of all iterations, and iterations in their bound")
{
	unsigned programs = programs_wanted(LOOP_PROGRAMS);
	struct tally made = {.max_visited = 3000}, broken = made;

	if (!check_programs(make_loop_program, programs, &made, &broken))
		return;
	print_tally("programs with loops", &made);
	print_tally("mutations of these", &broken);
	CHECK(made.widened > programs / 20);
	CHECK(made.exact > programs / 50);
}

TEST_MAIN
