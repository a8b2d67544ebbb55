/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random linked programs (linked_programs.h) with random programs that count at their sites. */
#pragma once

#include "amount.h"
#include "linked_programs.h"
#include "patch_probes.h"

static inline uint64_t expect_threads(const struct linked_counts *counts)
{
	return counts->runs;
}

static inline uint64_t expect_loads(const struct linked_counts *counts)
{
	return counts->loads;
}

static inline uint64_t expect_stores(const struct linked_counts *counts)
{
	return counts->stores;
}

static inline uint64_t expect_accesses(const struct linked_counts *counts)
{
	return counts->loads + counts->stores;
}

static inline uint64_t expect_bytes(const struct linked_counts *counts)
{
	return counts->bytes;
}

static inline uint64_t expect_branches(const struct linked_counts *counts)
{
	return counts->walked.branches;
}

static inline uint64_t expect_taken(const struct linked_counts *counts)
{
	return counts->walked.taken;
}

static inline uint64_t expect_loops(const struct linked_counts *counts)
{
	return counts->walked.loops;
}

static inline uint64_t expect_loop_ends(const struct linked_counts *counts)
{
	return counts->walked.entries;
}

static inline uint64_t expect_trips(const struct linked_counts *counts)
{
	return counts->walked.trips;
}

/* Lanes 0 to 31 and 32 to 44 are two groups wherever they do not diverge, as at the start. */
static inline uint64_t expect_warps(const struct linked_counts *counts)
{
	return (THREADS + 31) / 32;
}

static inline uint64_t expect_block(const struct linked_counts *counts)
{
	return 1;
}

/* Sections without the name, the scalar that their programs add, and how often a walk adds it. */
static const struct counted_kind {
	const char *section, *read;
	uint64_t (*expected)(const struct linked_counts *counts);
	enum counted_in {
		IN_ALL,       /* the statements of kernels and what they call */
		IN_KERNELS,   /* of kernels alone */
		IN_FUNCTIONS, /* of functions that the section names */
	} in;
} kinds[] = {
	{"entry", NULL, expect_threads, IN_KERNELS},
	{"exit", NULL, expect_threads, IN_KERNELS},
	{"finish", NULL, expect_threads, IN_KERNELS},
	{"entry.warp", NULL, expect_warps, IN_KERNELS},
	{"entry.block", NULL, expect_block, IN_KERNELS},
	{"exit.block", NULL, expect_block, IN_KERNELS},
	{"load", NULL, expect_loads, IN_ALL},
	{"store", NULL, expect_stores, IN_ALL},
	{"memory", NULL, expect_accesses, IN_ALL},
	{"memory", "ldxw r6, [r1+500]", expect_bytes, IN_ALL},
	{"branch", NULL, expect_branches, IN_ALL},
	{"branch", "ldxw r6, [r1+472]", expect_taken, IN_ALL},
	{"loop", NULL, expect_loops, IN_ALL},
	{"loop_end", NULL, expect_loop_ends, IN_ALL},
	{"loop_end", "call 534\nmov r6, r0", expect_trips, IN_ALL},
	{"call", NULL, expect_threads, IN_FUNCTIONS},
	{"return", NULL, expect_threads, IN_FUNCTIONS},
};

enum {
	ANY_NAME = MAX_NAMES,
};

static struct linked_test {
	struct patched_module probes; /* the programs alone */
	const struct counted_kind *kinds[MAX_PROBES];
	uint32_t names[MAX_PROBES];    /* that their sections have */
	char sections[MAX_PROBES][32]; /* sections refer to them */
	uint32_t selected;             /* the only kernel that the options select, or ANY_NAME */
	struct gt_strbuf texts[MAX_PARTS];
	struct gt_patch_part parts[MAX_PARTS];
	enum gt_patch_scope scope;
	struct gt_ptx_module *loaded[MAX_PARTS]; /* of patched texts */
	struct linked_memory *memory;            /* of the device */
	uint64_t *array;
} test;

static inline void clear_test(void)
{
	patched_clear(&test.probes);
	for (uint32_t i = 0; i < MAX_PARTS; i++) {
		gt_strbuf_free(&test.texts[i]);
		gt_patch_result_clear(&test.parts[i].result);
		gt_ptx_free(test.parts[i].module);
		gt_ptx_free(test.loaded[i]);
	}
	test = (struct linked_test){.memory = test.memory, .array = test.array};
}

/* ---- making ---------------------------------------------------------------------------- */

/* Add a program for the functions, or for the kernels, of a name. */
static inline void choose_program(const struct counted_kind *kind, uint32_t name)
{
	uint32_t i = test.probes.count;

	test.kinds[i] = kind;
	test.names[i] = name;
	snprintf(test.sections[i], sizeof(test.sections[i]), "gpu/%s/%s", kind->section,
		 name == ANY_NAME ? "*" : linked_name(name));
	add_probe(&test.probes, test.sections[i], kind->read);
}

static inline void choose_programs(void)
{
	uint32_t count = 1 + random_number(4);
	/* Side modules are made where not all kernels match. */
	bool is_of_one = random_number(3);
	uint32_t kernel = random_number(linked.kernels);

	for (uint32_t i = 0; i < count; i++) {
		const struct counted_kind *kind = &kinds[random_number(gt_countof(kinds))];
		uint32_t name = ANY_NAME;

		if (kind->in == IN_FUNCTIONS && random_number(3))
			name = linked.kernels + random_number(linked.names - linked.kernels);
		else if (kind->in != IN_FUNCTIONS && is_of_one)
			name = kernel;
		else if (kind->in != IN_FUNCTIONS && random_number(2))
			name = random_number(linked.kernels);
		choose_program(kind, name);
	}
	test.selected = random_number(6) ? (uint32_t)ANY_NAME : random_number(linked.kernels);
}

/* The walk of every kernel from this seed on; false: it takes too long. */
static inline bool make_program(uint64_t seed)
{
	static const struct program_callees random_callees = {
		.methods = LINKED_METHODS, .walk = walk_call, .write = write_call};

	callees = random_callees;
	state = 88172645463325252u + seed * 104729;
	make_linked();
	for (uint32_t kernel = 0; kernel < linked.kernels; kernel++)
		if (!walk_kernel(kernel, seed))
			return false;
	for (uint32_t part = 0; part < linked.parts; part++)
		write_part(&test.texts[part], part);
	return true;
}

/* Parse the texts and patch them. */
static inline int patch_parts(struct gt_diag *diag)
{
	const char *kernel = test.selected == ANY_NAME ? NULL : linked_name(test.selected);
	struct gt_patch_options options = {
		.object = &object,
		.programs = test.probes.programs,
		.program_count = test.probes.count,
		.kernels = &kernel,
		.kernel_count = kernel != NULL,
		.whole = !random_number(8),
	};

	options.call_sites = options.call_instructions = random_number(2);
	return gt_patch_modules(test.parts, linked.parts, NULL, &options, diag);
}

/* Every site is patched or has a reason. */
static inline void check_results(void)
{
	for (uint32_t i = 0; i < linked.parts; i++) {
		const struct gt_patch_result *result = &test.parts[i].result;
		uint32_t rejected = 0;

		gt_vec_each (rejection, &result->rejections)
			rejected += rejection->sites;
		CHECK(result->found == result->patched + result->rejected);
		CHECK(rejected == result->rejected);
		if (result->scope != GT_PATCH_NONE)
			test.scope = result->scope;
	}
}

static inline int parse_parts(struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; i < linked.parts && !error; i++)
		error = gt_ptx_parse(gt_strbuf_string(&test.texts[i]), test.texts[i].length,
				     &test.parts[i].module, diag);
	return error;
}

/* ---- what is loaded -------------------------------------------------------------------- */

/* The modules that are linked in place of, or beside the original. False: a text is no PTX. */
static inline bool list_patched(const struct gt_ptx_module **ret_parts, size_t *ret_count)
{
	struct gt_diag diag = {0};

	*ret_count = 0;
	for (uint32_t i = 0; i < linked.parts; i++) {
		const struct gt_patch_result *result = &test.parts[i].result;

		if (result->scope == GT_PATCH_NONE) {
			if (test.scope == GT_PATCH_WHOLE)
				ret_parts[(*ret_count)++] = test.parts[i].module;
			continue;
		}
		if (gt_ptx_parse(result->text.data, result->text.length, &test.loaded[i], &diag)) {
			TAP_FAIL("%s: %s", diag.place, diag.text);
			return false;
		}
		ret_parts[(*ret_count)++] = test.loaded[i];
	}
	return true;
}

static inline void list_originals(const struct gt_ptx_module **ret_parts)
{
	for (uint32_t i = 0; i < linked.parts; i++)
		ret_parts[i] = test.parts[i].module;
}
