/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grids on the interpreter: levels, contexts, collective helpers; and that the lanes of random
 * programs behave as the divergence analysis says.
 */
#include <errno.h>

#include "amount.h"
#include "assemble.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/map/map.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_programs.h"
#include "gpubpf_site.h"
#include "tap.h"

enum {
	MAX_RUNS = 256,
};

static uint64_t results[MAX_RUNS];

static uint64_t lane_value(void *data, enum gt_context_source source,
			   const struct gt_interp_thread *thread)
{
	(void)data;
	switch (source) {
	case GT_SOURCE_ADDRESS:
		return 0x1000 + 4 * thread->thread[0];
	case GT_SOURCE_VALUE:
		return 7 * thread->thread[0];
	case GT_SOURCE_TAKEN:
		return thread->thread[0] % 3 == 0;
	default:
		return 0;
	}
}

static const struct gt_interp_site site = TEST_SITE(lane_value);

/* Run a text on blocks of `threads` threads in x; "" or the error. */
static const char *run(const char *section_name, uint32_t threads, uint32_t blocks,
		       const char *text, const struct gt_interp_options *given)
{
	static char said[1024];
	struct gt_interp_options options = given ? *given : (struct gt_interp_options){0};
	struct gt_section section = {.kind = GT_KIND_HOST};
	struct gt_interp_grid grid = {.block_size = {threads, 1, 1},
				      .grid_size = {blocks, 1, 1},
				      .sms = 2,
				      .launch = 9,
				      .section = &section,
				      .site = &site,
				      .results = results};
	struct gt_bpf_program program = {0};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	memset(results, 0xee, sizeof(results));
	said[0] = '\0';
	if (gt_section_read(section_name, "p", &section, &diag) ||
	    gt_bpf_assemble(text, &program.insns, &program.count, &diag) ||
	    gt_interp_run_grid(&program, &options, &grid, &result, &diag))
		snprintf(said, sizeof(said), "%s: %s", diag.place, diag.text);
	gt_bpf_program_clear(&program);
	return said;
}

TEST("a program runs once per thread, warp or block by the level of its section")
{
	CHECK_STR(run("gpu/entry/*", 40, 2, "ldxw r0, [r1+0]\nexit", NULL), "");
	CHECK(results[0] == 0 && results[39] == 39 && results[40] == 0 && results[79] == 39);
	CHECK(results[80] == 0xeeeeeeeeeeeeeeee);
	CHECK_STR(run("gpu/entry.warp/*", 40, 2, "ldxw r0, [r1+60]\nexit", NULL), "");
	CHECK(results[0] == 0xffffffff && results[1] == 0xff && results[3] == 0xff);
	CHECK(results[4] == 0xeeeeeeeeeeeeeeee);
	CHECK_STR(run("gpu/block_begin", 40, 3, "ldxw r0, [r1+16]\nexit", NULL), "");
	CHECK(results[0] == 0 && results[2] == 2 && results[3] == 0xeeeeeeeeeeeeeeee);
	CHECK_STR(run("gpu/entry.block/*", 40, 1, "call 527\nexit", NULL), "");
	CHECK(results[0] == 0);
	CHECK_STR(run("gpu/exit.block/*", 40, 1, "call 527\nexit", NULL), "");
	CHECK(results[0] == 39);
}

TEST("a context describes its thread and its site in the kernel")
{
	static const struct {
		uint32_t offset;
		const char *load;
		uint64_t expected; /* of thread 33 of block 1 */
	} fields[] = {
		{0, "ldxw", 33},
		{12, "ldxw", 1},
		{16, "ldxw", 1},
		{28, "ldxw", 1},
		{32, "ldxw", 40},
		{44, "ldxw", 1},
		{48, "ldxw", 2},
		{64, "ldxdw", 9},
		{72, "ldxw", 3},
		{76, "ldxw", 2},
		{84, "ldxw", 4},
		{208, "ldxdw", 0xabcdef0123456789},
		{216, "ldxw", 77},
		{210, "ldxh", 0x2345},
		{224, "ldxdw", 0},
		{468, "ldxw", 55},
		{472, "ldxdw", 0x1000 + 4 * 33},
		{480, "ldxdw", 7 * 33},
		{500, "ldxw", 16},
		{504, "ldxw", 1},
	};
	char text[64];

	for (unsigned i = 0; i < gt_countof(fields); i++) {
		snprintf(text, sizeof(text), "%s r0, [r1+%u]\nexit", fields[i].load,
			 fields[i].offset);
		CHECK_STR(run("gpu/load", 40, 2, text, NULL), "");
		if (results[73] != fields[i].expected)
			TAP_FAIL("at %u is 0x%llx", fields[i].offset,
				 (unsigned long long)results[73]);
	}
}

TEST("a context is read only, and ends with its last field")
{
	CHECK_STR(run("gpu/load", 1, 1, "stw [r1+0], 1\nexit", NULL),
		  "insn 1: invalid write of 4 bytes at 0xa0000000000");
	CHECK_STR(run("gpu/entry/*", 1, 1, "ldxw r0, [r1+472]\nexit", NULL),
		  "insn 1: invalid read of 4 bytes at 0xa00000001d8");
}

TEST("lanes exchange values, all at the same time")
{
	CHECK_STR(run("gpu/load", 40, 1, "ldxw r1, [r1+12]\ncall 523\nexit", NULL), "");
	CHECK(results[0] == 31 * 32 / 2 && results[31] == results[0] && results[32] == 28);
	CHECK_STR(run("gpu/load", 40, 1, "ldxw r1, [r1+12]\nand r1, 1\ncall 521\nexit", NULL), "");
	CHECK(results[0] == 0xaaaaaaaa && results[33] == 0xaa);
	CHECK_STR(run("gpu/load", 40, 1, "ldxw r1, [r1+0]\nmov r2, 5\ncall 522\nexit", NULL), "");
	CHECK(results[0] == 5 && results[31] == 5 && results[39] == 37);
	/* Lanes that are not there have nothing: one keeps its own. */
	CHECK_STR(run("gpu/load", 40, 1, "ldxw r1, [r1+0]\nmov r2, 20\ncall 522\nexit", NULL), "");
	CHECK(results[0] == 20 && results[39] == 39);
	/* Twice, with what the first time gave. */
	CHECK_STR(run("gpu/load", 32, 1, "mov r1, 1\ncall 523\nmov r1, r0\ncall 523\nexit", NULL),
		  "");
	CHECK(results[7] == 1024);
}

TEST("the mask of lanes has the active lanes")
{
	CHECK_STR(run("gpu/load", 40, 1, "call 520\nexit", NULL), "");
	CHECK(results[0] == 0xffffffff && results[39] == 0xff);
	CHECK_STR(run("gpu/load", 32, 1,
		      "ldxw r2, [r1+12]\nmov r0, 0\njlt r2, 4, out\ncall 520\nout:\nexit", NULL),
		  "");
	CHECK(results[0] == 0 && results[4] == 0xfffffff0);
	CHECK_STR(run("gpu/load.warp", 40, 1, "call 520\nexit", NULL), "");
	CHECK(results[0] == 0xffffffff && results[1] == 0xff);
}

TEST("a program that runs once per warp reads the fields of its lanes by a helper")
{
	CHECK_STR(run("gpu/load.warp", 40, 1, "mov r1, 0\nmov r2, 6\ncall 524\nexit", NULL), "");
	CHECK(results[0] == 0x1000 + 24 && results[1] == 0x1000 + 4 * 38);
	CHECK_STR(run("gpu/load.warp", 40, 1, "mov r1, 4\nmov r2, 9\ncall 524\nexit", NULL), "");
	CHECK(results[0] == 9 && results[1] == 0);
	CHECK_STR(run("gpu/load.warp", 40, 1, "mov r1, 3\nmov r2, 40\ncall 524\nexit", NULL), "");
	CHECK(results[0] == 0);
	CHECK_STR(run("gpu/branch.warp", 8, 1, "ldxw r0, [r1+476]\nexit", NULL), "");
	CHECK(results[0] == 0x49);
	CHECK_STR(run("gpu/branch.warp", 8, 1, "mov r1, 3\nmov r2, 6\ncall 524\nexit", NULL), "");
	CHECK(results[0] == 1);
}

TEST("maps have a copy per multiprocessor, warp or thread, up to the last")
{
	struct gt_bpf_map map = {.key_size = 4, .value_size = 8, .max_entries = 1};
	struct gt_bpf_object object = {.maps = &map, .map_count = 1};
	static const char count[] = "stw [r10-8], 0\nmov r2, r10\nadd r2, -8\nldmap r1, 0\n"
				    "call 1\njeq r0, 0, out\nmov r1, 1\nlock add [r0], r1\n"
				    "mov r0, 1\nout:\nexit";
	static const struct {
		uint32_t type, copies;
		uint64_t first, last; /* counts, in the first and the last copy */
		uint64_t outside;
	} cases[] = {
		{2, 1, 120, 120, 0},   {6, 2, 80, 40, 0},    {1540, 6, 32, 8, 0},
		{1540, 3, 32, 32, 48}, {1502, 120, 1, 1, 0}, {1502, 100, 1, 1, 20},
	};

	for (unsigned i = 0; i < gt_countof(cases); i++) {
		uint32_t copies = cases[i].copies;
		void *memory;
		struct gt_interp_options options = {
			.object = &object, .map_memory = &memory, .map_copies = &copies};
		uint64_t none = 0;

		map.type = cases[i].type;
		memory = calloc(1, gt_bpf_map_bytes(&map, copies));
		gt_bpf_map_initialise(&map, copies, memory);
		CHECK_STR(run("gpu/load", 40, 3, count, &options), "");
		CHECK(((uint64_t *)memory)[0] == cases[i].first);
		CHECK(((uint64_t *)memory)[copies - 1] == cases[i].last);
		for (unsigned thread = 0; thread < 120; thread++)
			none += !results[thread];
		CHECK(none == cases[i].outside);
		free(memory);
	}
}

TEST("invalid sizes of a grid are rejected")
{
	CHECK_STR(run("gpu/load", 0, 1, "mov r0, 0\nexit", NULL),
		  ": invalid grid of 1x1x1 blocks of 0x1x1 threads");
	CHECK_STR(run("gpu/load", 1025, 1, "mov r0, 0\nexit", NULL),
		  ": invalid grid of 1x1x1 blocks of 1025x1x1 threads");
}

TEST("a site outside the bounds of the context's fields is rejected")
{
	struct gt_interp_site wide = site;
	struct gt_section section;
	struct gt_interp_grid grid = {.block_size = {1, 1, 1},
				      .grid_size = {1, 1, 1},
				      .section = &section,
				      .site = &wide};
	struct bpf_insn exit = {.code = BPF_JMP | BPF_EXIT};
	struct gt_bpf_program program = {.insns = &exit, .count = 1};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	CHECK(!gt_section_read("gpu/load", "p", &section, NULL));
	wide.width = GT_MAX_ACCESS_WIDTH;
	CHECK(!gt_interp_run_grid(&program, &(struct gt_interp_options){0}, &grid, &result, NULL));
	wide.width++;
	CHECK(gt_interp_run_grid(&program, &(struct gt_interp_options){0}, &grid, &result, &diag) ==
	      -EINVAL);
	CHECK_STR(diag.text, "invalid width 33 of the site: at most 32");
}

/* ---- random programs -------------------------------------------------------------------- */

enum {
	PROGRAMS = 4000,
	LANES = 32,
	MAX_VISITS = 2000,
	MAX_EXECUTED = 1000000,
};

/* The instructions that all lanes execute together, in order, with the registers. */
struct record {
	const struct gt_facts *facts;
	unsigned counts[LANES], filled;
	struct {
		uint32_t insn, lane;
		uint64_t registers[GT_BPF_REGISTERS];
	} visits[MAX_VISITS]; /* of the lane that came there first */
	char wrong[1024];
};

static void visit(void *data, uint64_t number, uint32_t insn,
		  const uint64_t registers[GT_BPF_REGISTERS])
{
	struct record *record = data;
	const struct gt_insn_facts *facts = &record->facts->insns[insn];
	unsigned at;

	if (facts->divergent || record->counts[number] == MAX_VISITS)
		return;
	at = record->counts[number]++;
	if (at == record->filled) {
		record->filled++;
		record->visits[at].insn = insn;
		record->visits[at].lane = (uint32_t)number;
		memcpy(record->visits[at].registers, registers,
		       sizeof(record->visits[at].registers));
		return;
	}
	if (record->visits[at].insn != insn && !record->wrong[0])
		snprintf(record->wrong, sizeof(record->wrong),
			 "insn %u is not divergent, and lane %u does insn %u instead of lane %u",
			 insn, record->visits[at].lane, record->visits[at].insn, (unsigned)number);
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (!facts->registers[i].varying && facts->registers[i].type == GT_REG_SCALAR &&
		    record->visits[at].registers[i] != registers[i] && !record->wrong[0])
			snprintf(record->wrong, sizeof(record->wrong),
				 "insn %u: r%u does not vary, and is 0x%llx in lane %u and in lane "
				 "%u 0x%llx",
				 insn, i, (unsigned long long)record->visits[at].registers[i],
				 record->visits[at].lane, (unsigned)number,
				 (unsigned long long)registers[i]);
}

/* A random program after a prologue that loads the lane from the context into r3. */
static bool check_lanes(const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	static struct record record;
	static uint64_t memory[MEMORY / 8];
	struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_MAPS};
	void *maps[RANDOM_MAPS];
	struct gt_interp_options options = {.object = &object,
					    .map_memory = maps,
					    .memory = (uint8_t *)memory,
					    .memory_size = MEMORY,
					    .visit = visit,
					    .visit_data = &record,
					    .max_executed = MAX_EXECUTED};
	struct gt_interp_grid grid = {.block_size = {LANES, 1, 1}, .grid_size = {1, 1, 1}};
	struct gt_interp_result result;
	struct gt_diag diag = {0};
	int error;

	memset(&record, 0, sizeof(record));
	record.facts = facts;
	for (unsigned i = 0; i < RANDOM_MAPS; i++) {
		maps[i] = calloc(1, gt_bpf_map_bytes(&random_maps[i], 1));
		gt_bpf_map_initialise(&random_maps[i], 1, maps[i]);
	}
	make_memory((uint8_t *)memory);
	error = gt_interp_run_grid(program, &options, &grid, &result, &diag);
	/* A loop with may_goto may take long: its beginning is compared. */
	if (error && error != -ELOOP)
		snprintf(record.wrong, sizeof(record.wrong), "%s: %s", diag.place, diag.text);
	for (unsigned i = 0; i < RANDOM_MAPS; i++)
		free(maps[i]);
	for (unsigned i = 1; i < LANES && !error && !record.wrong[0]; i++)
		if (record.counts[i] != record.counts[0])
			snprintf(record.wrong, sizeof(record.wrong),
				 "lane %u does %u instructions that all do, and lane 0 %u", i,
				 record.counts[i], record.counts[0]);
	if (!record.wrong[0])
		return true;
	TAP_FAIL("%s", record.wrong);
	for (uint32_t i = 0; i < program->count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, program->insns, program->count, i);
		printf("# %u: %s%s\n", i, gt_strbuf_string(&text),
		       facts->insns[i].divergent ? " ; some" : "");
		i += gt_bpf_is_wide(&program->insns[i]);
	}
	return false;
}

/* Prepends "call helper" and r3 = r0 to a program; r1 and r2 are preserved. */
static uint32_t add_lane(struct bpf_insn *insns, uint32_t count)
{
	static const struct bpf_insn before[] = {
		{BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_X, 7, 2, 0, 0},
		{BPF_JMP | BPF_CALL, 0, 0, 0, GT_HELPER_get_lane_id},
		{BPF_ALU64 | BPF_MOV | BPF_X, 3, 0, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_X, 4, 0, 0, 0},
		{BPF_ALU64 | BPF_AND | BPF_K, 4, 0, 0, 3},
		{BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_X, 2, 7, 0, 0},
	};

	memmove(insns + gt_countof(before), insns, count * sizeof(*insns));
	memcpy(insns, before, sizeof(before));
	return count + gt_countof(before);
}

TEST("lanes of random programs converge and have uniform values where the verifier says so")
{
	struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_MAPS};
	struct gt_verify_options options = {
		.input = GT_INPUT_MEMORY, .memory_size = MEMORY, .max_visited = 20000};
	unsigned programs = programs_wanted(PROGRAMS);
	unsigned accepted = 0, parted = 0, same = 0;

	random_seed();
	for (unsigned i = 0; i < programs; i++) {
		struct bpf_insn insns[RANDOM_MAX_INSNS + 16];
		struct gt_bpf_program program = {.insns = insns};
		struct gt_facts facts = {0};
		bool fine, parts = false;

		program.count = add_lane(insns, make_program(insns));
		if (gt_verify(&object, &program, &options, &facts, NULL, NULL))
			continue;
		accepted++;
		for (uint32_t at = 0; at < facts.insn_count; at++) {
			parts |= facts.insns[at].diverges;
			same += facts.insns[at].reached && !facts.insns[at].divergent;
		}
		parted += parts;
		fine = check_lanes(&program, &facts);
		gt_facts_clear(&facts);
		if (!fine)
			return;
	}
	printf("# %u of %u programs were accepted, in %u lanes may diverge; %u instructions are "
	       "done "
	       "by all\n",
	       accepted, programs, parted, same);
	CHECK(accepted > programs / 5 && parted > accepted / 20);
}

TEST_MAIN
