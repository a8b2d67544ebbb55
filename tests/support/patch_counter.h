/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program that counts, verified for a section. */
#pragma once

#include "gpubpf/verify/verify.h"
#include "patch/patch.h"

/* counts[0] += 1 */
static const struct bpf_insn patch_counter_insns[] = {
	{BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0},
	{BPF_LD | BPF_IMM | BPF_DW, 1, GT_BPF_IMM_MAP_INDEX, 0, 0},
	{0, 0, 0, 0, 0},
	{BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0},
	{BPF_ALU64 | BPF_ADD, 2, 0, 0, -4},
	{BPF_JMP | BPF_CALL, 0, 0, 0, 1},
	{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0},
	{BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1},
	{BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD},
	{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
	{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
};

struct patch_counter {
	const struct gt_bpf_object *object;
	struct gt_bpf_program program;
	struct gt_facts facts;
	struct gt_patch_program inserted;
};

/* Fill in *counter, which must stay where it is. 0 or -Exxx; clear it after errors, too. */
static inline int patch_counter_make(struct patch_counter *counter, const char *section,
				     struct gt_diag *diag)
{
	static struct gt_bpf_map map = {
		.name = "counts", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 1};
	static const struct gt_bpf_object object = {.maps = &map, .map_count = 1};
	struct gt_verify_options verify = {.input = GT_INPUT_CONTEXT,
					   .section = &counter->inserted.section};
	int error = gt_section_read(section, "count", &counter->inserted.section, diag);

	counter->object = &object;
	counter->program = (struct gt_bpf_program){.insns = (struct bpf_insn *)patch_counter_insns,
						   .count = gt_countof(patch_counter_insns)};
	counter->inserted.program = &counter->program;
	counter->inserted.facts = &counter->facts;
	return error ? error
		     : gt_verify(&object, &counter->program, &verify, &counter->facts, NULL, diag);
}

static inline void patch_counter_clear(struct patch_counter *counter)
{
	gt_facts_clear(&counter->facts);
}
#define auto_patch_counter __attribute__((cleanup(patch_counter_clear))) struct patch_counter
