/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random OpenCL kernels with random eBPF programs at random kinds of sites: on an OpenCL device
 * (PoCL) they compute what they compute without them, and what was counted is what they executed.
 * PROGRAMS in the environment is the number of kernels, FIRST that of the first module.
 */
#include <inttypes.h>

#include "opencl_module.h"
#include "opencl_programs.h"

enum {
	DEFAULT_PROGRAMS = 50,
	A_MODULE = 10, /* kernels in one module */
	MAX_CHOSEN = 6,
	LAUNCH = 7,
};

/* What a program adds up in a run of a kernel. */
enum expected_sum {
	ANYTHING,
	THE_ITEMS,
	THE_GROUPS,
	THE_ATOMICS,
	THE_BARRIERS,
	THE_LAUNCH, /* for each work-item */
	THE_SCALE,  /* for each work-item */
};

static const struct counted_kind {
	const char *section, *read;
	enum expected_sum expected;
	bool needs_clock;
} kinds[] = {
	{"gpu/entry/*", NULL, THE_ITEMS},
	{"gpu/exit/*", NULL, THE_ITEMS},
	{"gpu/finish/*", NULL, THE_ITEMS},
	{"gpu/entry/*", "ldxdw r6, [r1+64]", THE_LAUNCH},
	{"gpu/entry/*", "ldxdw r6, [r1+224]", THE_SCALE},
	{"gpu/exit/*", "ldxdw r6, [r1+224]", THE_SCALE},
	{"gpu/entry.block/*", NULL, THE_GROUPS},
	{"gpu/exit.block/*", NULL, THE_GROUPS},
	{"gpu/block_begin", NULL, THE_GROUPS},
	{"gpu/block_end", NULL, THE_GROUPS},
	{"gpu/entry.warp/*", NULL, THE_GROUPS},
	{"gpu/exit.warp/*", NULL, THE_GROUPS},
	{"gpu/atomic", NULL, THE_ATOMICS},
	{"gpu/atomic.warp", NULL, THE_ATOMICS},
	{"gpu/barrier", NULL, THE_BARRIERS},
	{"gpu/barrier_end", NULL, THE_BARRIERS},
	{"gpu/exit.warp/*", "ldxw r6, [r1+60]", ANYTHING},
	{"gpu/load", NULL, ANYTHING},
	{"gpu/load_begin", NULL, ANYTHING},
	{"gpu/load", "ldxdw r6, [r1+480]", ANYTHING},
	{"gpu/load", "ldxdw r6, [r1+472]", ANYTHING},
	{"gpu/load/k1", NULL, ANYTHING},
	{"gpu/load.warp", "ldxw r6, [r1+60]", ANYTHING},
	{"gpu/load", "call 5\nmov r6, r0", ANYTHING, true},
	{"gpu/store", NULL, ANYTHING},
	{"gpu/store", "ldxdw r6, [r1+480]", ANYTHING},
	{"gpu/store", "ldxw r6, [r1+500]", ANYTHING},
	{"gpu/store/numbers", NULL, ANYTHING},
	{"gpu/memory", "ldxw r6, [r1+504]", ANYTHING},
	{"gpu/memory", "ldxw r6, [r1+508]", ANYTHING},
	{"gpu/atomic", "ldxdw r6, [r1+480]", ANYTHING},
	{"gpu/branch", "ldxw r6, [r1+472]", ANYTHING},
	{"gpu/branch.warp", "ldxw r6, [r1+476]", ANYTHING},
	{"gpu/loop", "ldxw r6, [r1+468]", ANYTHING},
	{"gpu/entry/*", "call 5\nmov r6, r0", ANYTHING, true},
	{"gpu/barrier", "ldxdw r6, [r1+224]", ANYTHING},
};

/* A module as it is compiled, and with programs; what they run on. */
struct random_module {
	struct gt_strbuf text, plain;
	struct patched_program patched;
	const struct counted_kind *chosen[MAX_CHOSEN];
	uint32_t group[3];
};

static void module_clear(struct random_module *module)
{
	gt_strbuf_free(&module->text);
	gt_strbuf_free(&module->plain);
	program_clear(&module->patched);
}

/*
 * PoCL 3.1 executes what is before a barrier in a branch twice for the first work-item in
 * work-groups of 1 × 32, also without programs.
 */
static bool has_branched_barriers(const struct random_module *module)
{
	return module->group[0] > 1;
}

static void choose_programs(struct random_module *module)
{
	struct patched_program *patched = &module->patched;
	uint32_t count = 1 + random_number(MAX_CHOSEN);

	while (patched->probes.count < count) {
		const struct counted_kind *kind = &CHOOSE(kinds);

		if (kind->needs_clock && !patched->clock)
			continue;
		patched->has_hidden |= kind->expected == THE_LAUNCH;
		module->chosen[patched->probes.count] = kind;
		add_probe(&patched->probes, kind->section, kind->read);
	}
	patched->hidden[0] = LAUNCH;
	patched->switchable = random_number(2);
	for (uint32_t i = 0; i < count; i++)
		patched->switches[i] = random_number(4) != 0;
}

/* Run kernel k0 + number. False: it does not run. */
static bool run_random(struct random_module *module, struct gt_cl_program *program, int number,
		       bool is_patched, uint32_t out[OUT_WORDS])
{
	static const uint32_t groups[3] = {ITEMS / GROUP, 1, 1};
	uint64_t *hidden = module->patched.hidden;
	bool has_hidden = is_patched && module->patched.has_hidden;
	uint64_t scale = 1000;
	uint32_t in[ITEMS];
	struct gt_cl_argument arguments[] = {{in, sizeof(in), true},
					     {out, OUT_WORDS * sizeof(*out), true},
					     {&scale, sizeof(scale), false},
					     {hidden, sizeof(*hidden), false},
					     {hidden + 1, sizeof(*hidden), false}};
	struct gt_diag diag = {0};
	char name[16];

	for (uint32_t i = 0; i < ITEMS; i++)
		in[i] = i * 2654435761u;
	for (uint32_t i = 0; i < OUT_WORDS; i++)
		out[i] = i * 40503u;
	snprintf(name, sizeof(name), "k%d", number);
	if (!gt_cl_launch(program, name, groups, module->group, arguments, has_hidden ? 5 : 3,
			  &diag) &&
	    !gt_cl_wait(program, 0, &diag))
		return true;
	TAP_FAIL("%s: %s: %s", name, diag.place, diag.text);
	return false;
}

/* What is in that place of the zones of all work-items. */
static uint64_t sum_of_zones(const uint32_t *out, uint32_t place)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		sum += out[i * ZONE + place];
	return sum;
}

static uint64_t expected_sum(enum expected_sum expected, const uint32_t *out)
{
	switch (expected) {
	case THE_ITEMS:
		return ITEMS;
	case THE_GROUPS:
		return ITEMS / GROUP;
	case THE_ATOMICS:
		return sum_of_zones(out, ZONE_ATOMICS);
	case THE_BARRIERS:
		return sum_of_zones(out, ZONE_BARRIERS);
	case THE_LAUNCH:
		return (uint64_t)ITEMS * LAUNCH;
	case THE_SCALE:
		return (uint64_t)ITEMS * 1000;
	default:
		return 0;
	}
}

/* Whether the programs counted what a kernel with these results executed. */
static bool has_counted(const struct random_module *module, int seed, int number,
			const uint32_t *out)
{
	const struct patched_program *patched = &module->patched;

	for (uint32_t i = 0; i < patched->probes.count; i++) {
		const struct counted_kind *kind = module->chosen[i];
		uint64_t found = count_of(patched, i), expected;

		if (kind->expected == ANYTHING)
			continue;
		expected = patched->switchable && !patched->switches[i]
				   ? 0
				   : expected_sum(kind->expected, out);
		if (found == expected)
			continue;
		TAP_FAIL("module %d, kernel %d: %s counts %" PRIu64 ", not %" PRIu64, seed, number,
			 kind->section, found, expected);
		return false;
	}
	return true;
}

static void print_programs(const struct random_module *module)
{
	for (uint32_t i = 0; i < module->patched.probes.count; i++)
		printf("# %s %s\n", module->chosen[i]->section,
		       module->patched.switchable && !module->patched.switches[i] ? "off" : "on");
}

static bool run_both(struct random_module *module, int seed, int number,
		     struct gt_cl_program *plain, struct gt_cl_program *patched)
{
	static uint32_t expected[OUT_WORDS], found[OUT_WORDS];

	memset(module->patched.memory, 0, gt_bpf_map_bytes(&maps[0], 1));
	if (!run_random(module, plain, number, false, expected) ||
	    !run_random(module, patched, number, true, found))
		return false;
	for (uint32_t i = 0; i < OUT_WORDS; i++) {
		if (expected[i] == found[i])
			continue;
		print_programs(module);
		TAP_FAIL("module %d, kernel %d: word %u of work-item %u is %#x, not %#x", seed,
			 number, i % ZONE, i / ZONE, found[i], expected[i]);
		return false;
	}
	return has_counted(module, seed, number, found);
}

static struct gt_cl_program *load_module(struct gt_cl_device *device,
					 const struct gt_strbuf *module)
{
	struct gt_cl_program *program = NULL;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (gt_cl_program_load(device, module->data, module->length, &program, &log, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	return program;
}

/* The kernels of a module that differ; -1: there are no compilers. */
static int run_module(struct gt_cl_device *device, const struct gt_cycle_clock *clock, int seed)
{
	static const uint32_t shapes[][3] = {{32, 1, 1}, {8, 4, 1}, {16, 2, 1}, {1, 32, 1}};
	__attribute__((cleanup(module_clear))) struct random_module module = {0};
	gt_auto(cl_program) struct gt_cl_program *plain = NULL, *patched = NULL;
	struct gt_strbuf *written = &module.patched.image.fatbin;
	int wrong = 0;

	module.patched.clock = clock;
	memcpy(module.group, shapes[seed % gt_countof(shapes)], sizeof(module.group));
	put_opencl_program(&module.text, (uint64_t)seed, A_MODULE, has_branched_barriers(&module));
	choose_programs(&module);
	if (!compile_kernels(gt_strbuf_string(&module.text), &module.plain))
		return -1;
	patch_program(&module.patched, &module.plain);
	plain = load_module(device, &module.plain);
	patched = load_module(device, written->length ? written : &module.plain);
	for (int i = 0; i < A_MODULE && plain && patched; i++)
		wrong += !run_both(&module, seed, i, plain, patched);
	return plain && patched ? wrong : A_MODULE;
}

TEST("random OpenCL kernels with programs at their sites compute what they do without")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	int modules = (int)programs_wanted(DEFAULT_PROGRAMS) / A_MODULE;
	const char *given = getenv("FIRST");
	int first = given ? atoi(given) : 0, wrong = 0;
	struct gt_cycle_clock clock;
	bool has_clock = device && !gt_cl_device_clock(device, &clock, NULL);

	for (int i = 0; i < modules && wrong >= 0 && wrong < 3; i++)
		wrong = device ? wrong + run_module(device, has_clock ? &clock : NULL, first + i)
			       : -1;
	if (wrong < 0)
		SKIP(NO_DEVICE);
	CHECK(!wrong);
}

TEST_MAIN
