/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random PTX programs with random eBPF programs at random kinds of sites: they compute what C does,
 * as without them, and what was counted is what the walk in C executes.
 */
#include "exec_programs.h"
#include "patch_probes.h"

enum {
	DEFAULT_PROGRAMS = 2000,
	A_MODULE = 20, /* programs in one module */
};

/* Sections, the scalar that their programs add, and how often a walk of all threads adds it. */
static const struct counted_kind {
	const char *section, *read;
	uint64_t (*expected)(void);
} * chosen[MAX_PROBES];

static uint64_t expect_threads(void)
{
	return THREADS;
}

static uint64_t expect_variables(void)
{
	return THREADS * VARIABLES;
}

static uint64_t expect_accesses(void)
{
	return 2 * expect_variables();
}

static uint64_t expect_bytes(void)
{
	return 4 * expect_accesses();
}

static uint64_t expect_branches(void)
{
	return walked.branches;
}

static uint64_t expect_taken(void)
{
	return walked.taken;
}

static uint64_t expect_loops(void)
{
	return walked.loops;
}

static uint64_t expect_loop_ends(void)
{
	return walked.entries;
}

static uint64_t expect_trips(void)
{
	return walked.trips;
}

/* Lanes 0 to 31 and 32 to 44 are two groups wherever they do not diverge, as at the start. */
static uint64_t expect_warps(void)
{
	return (THREADS + 31) / 32;
}

static uint64_t expect_block(void)
{
	return 1;
}

static const struct counted_kind kinds[] = {
	{"gpu/entry/*", NULL, expect_threads},
	{"gpu/exit/*", NULL, expect_threads},
	{"gpu/finish/*", NULL, expect_threads},
	{"gpu/load", NULL, expect_variables},
	{"gpu/store", NULL, expect_variables},
	{"gpu/memory", NULL, expect_accesses},
	{"gpu/memory", "ldxw r6, [r1+500]", expect_bytes},
	{"gpu/branch", NULL, expect_branches},
	{"gpu/branch", "ldxw r6, [r1+472]", expect_taken},
	{"gpu/loop", NULL, expect_loops},
	{"gpu/loop_end", NULL, expect_loop_ends},
	{"gpu/loop_end", "call 534\nmov r6, r0", expect_trips},
	{"gpu/entry.warp/*", NULL, expect_warps},
	{"gpu/entry.block/*", NULL, expect_block},
	{"gpu/exit.block/*", NULL, expect_block},
};

static void choose_programs(struct patched_module *patched)
{
	uint32_t count = 1 + random_number(5);

	for (uint32_t i = 0; i < count; i++) {
		chosen[i] = &kinds[random_number(gt_countof(kinds))];
		add_probe(patched, chosen[i]->section, chosen[i]->read);
	}
}

static void set_symbols(struct sg_module *module, const char *prefix, const uint64_t *array)
{
	struct sg_variable_info info;
	char name[64];

	snprintf(name, sizeof(name), "%smap_0", prefix);
	if (!sg_module_variable(module, name, &info))
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(array), 1}, 16);
}

/* Programs first … first + A_MODULE - 1 as kernels of one patched module; those that differ. */
static int run_programs(struct device *device, int first)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	auto_patched patched = {0};
	static uint32_t expected[A_MODULE][THREADS * VARIABLES];
	static struct program_counts counts[A_MODULE];
	uint32_t *memory = device_memory(device, sizeof(expected[0]));
	uint64_t *array = device_memory(device, gt_bpf_map_bytes(&maps[0], 1));
	struct gt_patch_options options = {0};
	struct sg_module *module;
	int wrong = 0;

	gt_strbuf_puts(&text, PTX_HEADER);
	for (int i = 0; i < A_MODULE; i++) {
		struct program_node *program;

		node_count = 0;
		state = 88172645463325252u + ((uint64_t)first + (uint64_t)i) * 104729;
		program = make_list(0, false);
		write_kernel(&text, program, i);
		set_up(expected[i], (uint64_t)first + (uint64_t)i);
		walked = (struct program_counts){0};
		for (int thread = 0; thread < THREADS; thread++)
			walk(program, expected[i] + thread * VARIABLES);
		counts[i] = walked;
	}
	choose_programs(&patched);
	/* In every other module, bodies are functions. */
	options.call_sites = options.call_instructions = first / A_MODULE % 2;
	if (!patch_text(&patched, gt_strbuf_string(&text), options))
		return A_MODULE;
	CHECK(!patched.result.rejected);
	module = device_load(device, gt_strbuf_string(&patched.result.text));
	if (!module)
		return A_MODULE;
	set_symbols(module, patched.result.prefix, array);
	for (int i = 0; i < A_MODULE; i++) {
		bool same;
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		set_up(memory, (uint64_t)first + (uint64_t)i);
		memset(array, 0, gt_bpf_map_bytes(&maps[0], 1));
		device_run(device, module, name, 1, THREADS, address_of(memory));
		same = !memcmp(memory, expected[i], sizeof(expected[i]));
		walked = counts[i];
		for (uint32_t k = 0; k < patched.count; k++)
			same = same && array[k] == chosen[k]->expected();
		if (!same && ++wrong < 3)
			TAP_FAIL("program %d differs, with %s", first + i, chosen[0]->section);
	}
	sg_module_free(module);
	return wrong;
}

TEST("random programs with programs at their sites compute and count what C does")
{
	const char *wanted = getenv("PROGRAMS");
	int programs = wanted ? atoi(wanted) : DEFAULT_PROGRAMS, wrong = 0;

	for (int first = 0; first < programs && wrong < 3; first += A_MODULE) {
		auto_device device = {0};

		device_open(&device);
		wrong += run_programs(&device, first);
	}
	CHECK(!wrong);
}

TEST_MAIN
