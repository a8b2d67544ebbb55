/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs of all kinds of sections, each of which reads a field of its context. */
#pragma once

#include <stdlib.h>

#include "gpubpf/verify/verify.h"
#include "patch/patch.h"

/* Sections, and the fields of the context that their programs read. */
static const struct {
	const char *section;
	int16_t offset;
	uint8_t size;
} kinds[] = {
	{"gpu/entry/*", 208, BPF_DW},    {"gpu/exit/*", 464, BPF_W},
	{"gpu/exit.warp/*", 60, BPF_W},  {"gpu/finish.warp/*", 60, BPF_W},
	{"gpu/block_end", 80, BPF_W},    {"gpu/load", 480, BPF_DW},
	{"gpu/load", 472, BPF_DW},       {"gpu/store", 488, BPF_DW},
	{"gpu/memory", 500, BPF_W},      {"gpu/atomic", 480, BPF_DW},
	{"gpu/copy", 472, BPF_DW},       {"gpu/barrier", 472, BPF_W},
	{"gpu/branch", 472, BPF_W},      {"gpu/branch.warp", 476, BPF_W},
	{"gpu/loop", 468, BPF_W},        {"gpu/call/*", 216, BPF_DW},
	{"gpu/return/*", 72, BPF_W},     {"gpu/load_begin", 472, BPF_DW},
	{"gpu/barrier_end", 472, BPF_W}, {"gpu/loop_end", 464, BPF_W},
	{"gpu/line", 464, BPF_W},        {"gpu/basic_block", 464, BPF_W},
};

static struct gt_bpf_map map = {
	.name = "counts", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 1};
static const struct gt_bpf_object object = {.maps = &map, .map_count = 1};

/* counts[0] += a field of the context */
static struct bpf_insn insns[gt_countof(kinds)][12];
static struct gt_bpf_program programs[gt_countof(kinds)];
static struct gt_facts facts[gt_countof(kinds)];
static struct gt_patch_program inserted[gt_countof(kinds)];

static inline void make_programs(void)
{
	static const struct bpf_insn add[] = {
		{BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0},
		{BPF_LD | BPF_IMM | BPF_DW, 1, GT_BPF_IMM_MAP_INDEX, 0, 0},
		{0, 0, 0, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0},
		{BPF_ALU64 | BPF_ADD, 2, 0, 0, -4},
		{BPF_JMP | BPF_CALL, 0, 0, 0, 1},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0},
		{BPF_STX | BPF_ATOMIC | BPF_DW, 0, 6, 0, BPF_ADD},
		{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};

	for (size_t i = 0; i < gt_countof(kinds); i++) {
		struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
						    .section = &inserted[i].section};

		insns[i][0] = (struct bpf_insn){(uint8_t)(BPF_LDX | BPF_MEM | kinds[i].size), 6, 1,
						kinds[i].offset, 0};
		for (size_t j = 0; j < gt_countof(add); j++)
			insns[i][1 + j] = add[j];
		programs[i] =
			(struct gt_bpf_program){.insns = insns[i], .count = 1 + gt_countof(add)};
		if (gt_section_read(kinds[i].section, "p", &inserted[i].section, NULL) ||
		    gt_verify(&object, &programs[i], &options, &facts[i], NULL, NULL))
			abort();
		inserted[i].program = &programs[i];
		inserted[i].facts = &facts[i];
	}
}

/* Whether every site of a result is patched or has a reason. */
static inline bool is_accounted(const struct gt_patch_result *result)
{
	uint32_t rejected = 0;

	gt_vec_each (rejection, &result->rejections)
		rejected += rejection->sites;
	return result->found == result->patched + result->rejected && rejected == result->rejected;
}
