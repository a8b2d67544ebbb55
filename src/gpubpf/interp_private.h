/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the interpreter: a machine, its memory, its helpers. */
#pragma once

#include "gpubpf/interp.h"

enum {
	GT_INTERP_MAX_RECORDS = 64, /* reserved at one time */
	GT_INTERP_REGION_SHIFT = 40,
};

/* Regions by number, which stands above GT_INTERP_REGION_SHIFT in an address. */
enum gt_interp_region {
	GT_REGION_STACK = 1, /* one a frame */
	GT_REGION_MEMORY = GT_REGION_STACK + GT_BPF_MAX_FRAMES,
	GT_REGION_CONTEXT,
	GT_REGION_MAPS, /* one a map; the maps themselves are GT_REGION_HANDLES and up */
	GT_REGION_HANDLES = 1 << 20,
};

struct gt_machine {
	const struct gt_interp_options *options;
	const struct gt_bpf_program *program;
	uint64_t registers[GT_BPF_REGISTERS];
	uint8_t stacks[GT_BPF_MAX_FRAMES][GT_BPF_STACK_SIZE];
	struct {
		uint32_t back;
		uint64_t saved[4];
	} calls[GT_BPF_MAX_FRAMES];
	unsigned frame;
	uint32_t at;
	uint64_t executed;
	struct {
		uint64_t address, size;
	} records[GT_INTERP_MAX_RECORDS];
	unsigned record_count;
	uint64_t random;
	struct gt_diag *diag;
};

static inline uint64_t gt_region_address(unsigned region, uint64_t offset)
{
	return ((uint64_t)region << GT_INTERP_REGION_SHIFT) + offset;
}

/* Fails with the place set to the instruction. Returns error. */
int gt_machine_fail(struct gt_machine *machine, int error, const char *format, ...) gt_printf(3, 4);
/* The host's memory behind an address for so many bytes, or NULL with the reason set. */
void *gt_machine_memory(struct gt_machine *machine, uint64_t address, uint64_t size, bool write);
/* What an instruction of class ALU or ALU64 leaves in its destination. */
uint64_t gt_machine_alu(const struct bpf_insn *insn, uint64_t destination, uint64_t source);
/* Whether a conditional jump is taken. */
bool gt_machine_jumps(const struct bpf_insn *insn, uint64_t destination, uint64_t source);
/* Calls a helper: arguments in r1 to r5, result in r0. 0 or -Exxx. */
int gt_machine_call(struct gt_machine *machine, uint32_t number);
