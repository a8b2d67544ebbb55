/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that count, for tests that insert them into modules. */
#pragma once

#include "assemble.h"
#include "base/strbuf.h"
#include "gpubpf/verify/verify.h"
#include "patch/patch.h"
#include "tap.h"

enum {
	SLOTS = 64,
};

/* Map 0: an array of counters. */
static struct gt_bpf_map maps[] = {
	{.name = "counts", .type = 2, .key_size = 4, .value_size = 8, .max_entries = SLOTS},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};

/* ---- programs -------------------------------------------------------------------------- */

struct counting_probe {
	struct gt_section section;
	struct gt_bpf_program program;
	struct gt_facts facts;
};

static inline void probe_clear(struct counting_probe *probe)
{
	gt_facts_clear(&probe->facts);
	gt_bpf_program_clear(&probe->program);
}

static inline bool probe_read(const char *section, const char *text, struct counting_probe *probe)
{
	struct gt_verify_options options = {
		.input = GT_INPUT_CONTEXT, .section = &probe->section, .allow_control = true};
	struct gt_diag diag = {0};

	if (gt_section_read(section, "cuda__p", &probe->section, &diag) ||
	    gt_bpf_assemble(text, &probe->program.insns, &probe->program.count, &diag) ||
	    gt_verify(&object, &probe->program, &options, &probe->facts, NULL, &diag)) {
		TAP_FAIL("%s: %s: %s", section, diag.place, diag.text);
		return false;
	}
	return true;
}

/* counts[slot] += the scalar that `read` leaves in r6; it may use r1, the context. */
static inline void counter(struct gt_strbuf *text, unsigned slot, const char *read)
{
	gt_strbuf_printf(text,
			 "%s\n"
			 "stw [r10-4], %u\n"
			 "ldmap r1, 0\n"
			 "mov r2, r10\n"
			 "add r2, -4\n"
			 "call 1\n"
			 "jeq r0, 0, out\n"
			 "lock add [r0], r6\n"
			 "out:\n"
			 "mov r0, 0\n"
			 "exit",
			 read, slot);
}

enum {
	MAX_PROBES = 32,
};

/* Programs for one module, and the module with them. */
struct patched_module {
	struct counting_probe probes[MAX_PROBES];
	struct gt_patch_program programs[MAX_PROBES];
	uint32_t count;
	struct gt_ptx_module *module;
	struct gt_patch_result result;
	uint64_t counts[SLOTS]; /* after a run */
};

static inline void patched_clear(struct patched_module *patched)
{
	for (uint32_t i = 0; i < patched->count; i++)
		probe_clear(&patched->probes[i]);
	gt_patch_result_clear(&patched->result);
	gt_ptx_free(patched->module);
}
#define auto_patched __attribute__((cleanup(patched_clear))) struct patched_module

/* Program n counts in slot n. read: see counter(); NULL: 1. */
static inline void add_probe(struct patched_module *patched, const char *section, const char *read)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct counting_probe *probe = &patched->probes[patched->count];

	counter(&text, patched->count, read ? read : "mov r6, 1");
	if (!probe_read(section, gt_strbuf_string(&text), probe))
		return;
	patched->programs[patched->count] = (struct gt_patch_program){
		.program = &probe->program, .facts = &probe->facts, .section = probe->section};
	patched->count++;
}

static inline bool patch_text(struct patched_module *patched, const char *text,
			      struct gt_patch_options options)
{
	struct gt_diag diag = {0};

	options.object = &object;
	options.programs = patched->programs;
	options.program_count = patched->count;
	if (gt_ptx_parse(text, strlen(text), &patched->module, &diag) ||
	    gt_patch_module(patched->module, &options, &patched->result, &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		return false;
	}
	CHECK(patched->result.found == patched->result.patched + patched->result.rejected);
	return true;
}
