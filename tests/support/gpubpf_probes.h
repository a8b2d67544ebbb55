/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that the verifier accepted, for translators: those of all cases (gpubpf_cases.h) and
 * random ones. Their results on the interpreter are those that every target must have.
 */
#pragma once

#include <glob.h>
#include <inttypes.h>

#include "gpubpf/facts.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_cases.h"
#include "gpubpf_operations.h"
#include "gpubpf_programs.h"
#include "tap.h"

enum {
	OUTCOME_MEMORY = CASE_MEMORY > (int)OPERATION_MEMORY ? CASE_MEMORY : (int)OPERATION_MEMORY,
};

/* A program that was accepted, with its object and its memory. */
struct probe {
	struct gt_bpf_object object;
	struct gt_bpf_program program;
	struct gt_facts facts;
	struct bpf_case *one; /* of a case: its memory and its maps; else NULL */
	uint32_t memory_size;
	char prefix[16];
};

static struct {
	struct probe *items[1 << 16];
	size_t count;
} all_cases;

static inline const char *probe_title(const struct probe *probe)
{
	return probe->one ? probe->one->title : probe->prefix;
}

static inline void probe_free(struct probe *probe)
{
	gt_facts_clear(&probe->facts);
	gt_bpf_program_clear(&probe->program);
	for (uint32_t i = 0; probe->one && i < probe->one->map_count; i++)
		free(probe->one->maps[i].initial);
	free(probe->one);
	free(probe);
}

/* ---- results --------------------------------------------------------------------------- */

/* The results of a run. */
struct outcome {
	uint64_t r0;
	uint64_t executed; /* instructions, on the interpreter */
	uint8_t memory[OUTCOME_MEMORY];
	void *maps[CASE_MAPS];
	size_t map_sizes[CASE_MAPS];
};

static inline void prepare(const struct probe *probe, const uint8_t *memory,
			   struct outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	memcpy(outcome->memory, memory, probe->memory_size);
	for (uint32_t i = 0; i < probe->object.map_count; i++) {
		outcome->map_sizes[i] = gt_bpf_map_bytes(&probe->object.maps[i], 1);
		outcome->maps[i] = calloc(1, outcome->map_sizes[i]);
		gt_bpf_map_initialise(&probe->object.maps[i], 1, outcome->maps[i]);
	}
}

static inline void outcome_clear(struct outcome *outcome)
{
	for (unsigned i = 0; i < CASE_MAPS; i++)
		free(outcome->maps[i]);
}

static inline bool interpret(const struct probe *probe, const uint8_t *memory,
			     struct outcome *outcome)
{
	struct gt_interp_options options = {.object = &probe->object,
					    .map_memory = outcome->maps,
					    .memory = outcome->memory,
					    .memory_size = probe->memory_size,
					    .max_executed = probe->facts.bound};
	struct gt_interp_result result = {0};
	struct gt_diag diag = {0};

	prepare(probe, memory, outcome);
	if (gt_interp_run(&probe->program, &options, &result, &diag)) {
		TAP_FAIL("interp: %s: %s", diag.place, diag.text);
		return false;
	}
	outcome->r0 = result.r0;
	outcome->executed = result.executed;
	return true;
}

static inline bool is_same(const struct probe *probe, const struct outcome *one,
			   const struct outcome *other, const char *how)
{
	const char *title = probe_title(probe);
	bool same = true;

	if (one->r0 != other->r0) {
		TAP_FAIL("%s: r0 is 0x%" PRIx64 " on the interpreter, 0x%" PRIx64 " %s", title,
			 one->r0, other->r0, how);
		same = false;
	}
	if (memcmp(one->memory, other->memory, probe->memory_size)) {
		TAP_FAIL("%s: the memory differs %s", title, how);
		same = false;
	}
	for (uint32_t i = 0; i < probe->object.map_count; i++)
		if (memcmp(one->maps[i], other->maps[i], one->map_sizes[i])) {
			TAP_FAIL("%s: map %u differs %s", title, i, how);
			same = false;
		}
	return same;
}

/* ---- where they come from -------------------------------------------------------------- */

static inline uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	return bytes ? memcpy(malloc(size), bytes, size) : NULL;
}

/* Keep the cases that are accepted; other tests check the rejected ones. */
static inline void keep_case(const char *path, struct bpf_case *given)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	/* The loops that reach this limit reach the default, too, and are rejected. */
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .max_visited = 100000};
	struct gt_diag diag = {0};

	(void)path;
	probe->one = malloc(sizeof(*given));
	*probe->one = *given;
	for (uint32_t i = 0; i < given->map_count; i++)
		probe->one->maps[i].initial =
			copy_of(given->maps[i].initial, given->maps[i].value_size);
	probe->memory_size = given->memory_size;
	probe->object =
		(struct gt_bpf_object){.maps = probe->one->maps, .map_count = given->map_count};
	options.memory_size = given->memory_size;
	options.strict = given->strict;
	snprintf(probe->prefix, sizeof(probe->prefix), "c%zu_", all_cases.count);
	if (given->rejection[0] ||
	    gt_bpf_assemble(gt_strbuf_string(&given->text), &probe->program.insns,
			    &probe->program.count, &diag)) {
		probe_free(probe);
		return;
	}
	if (given->strict)
		gt_bpf_canonicalize(probe->program.insns, probe->program.count);
	if (gt_verify(&probe->object, &probe->program, &options, &probe->facts, NULL, &diag)) {
		probe_free(probe);
		return;
	}
	all_cases.items[all_cases.count++] = probe;
}

static inline void read_cases(void)
{
	const char *data = getenv("TEST_DATA");
	gt_auto_strbuf pattern = GT_STRBUF_INIT;
	glob_t files = {0};

	if (all_cases.count)
		return;
	gt_strbuf_printf(&pattern, "%s/ebpf/*.cases", data ? data : "tests/data");
	CHECK(!glob(gt_strbuf_string(&pattern), 0, NULL, &files));
	for (size_t i = 0; i < files.gl_pathc; i++)
		CHECK(each_case(files.gl_pathv[i], keep_case) > 0);
	globfree(&files);
	CHECK(all_cases.count > 50);
}

/* A random program, or NULL if the verifier rejects it. */
static inline struct probe *random_probe(unsigned number)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = MEMORY,
					    .max_visited = 20000,
					    .widens = number / 2 % 2,
					    .lazy_precision = number % 2};
	struct probe *probe = calloc(1, sizeof(*probe));

	probe->memory_size = MEMORY;
	probe->program.insns = calloc(RANDOM_MAX_INSNS, sizeof(*probe->program.insns));
	probe->program.count = make_program(probe->program.insns);
	probe->object = (struct gt_bpf_object){.maps = random_maps, .map_count = RANDOM_MAPS};
	snprintf(probe->prefix, sizeof(probe->prefix), "p%u_", number);
	if (!gt_verify(&probe->object, &probe->program, &options, &probe->facts, NULL, NULL))
		return probe;
	probe_free(probe);
	return NULL;
}
