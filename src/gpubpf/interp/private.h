/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internals of the interpreter: a machine, its memory, its helpers. */
#pragma once

#include <string.h>

#include "gpubpf/interp/interp.h"

enum {
	GT_INTERP_MAX_RECORDS = 64, /* reserved at the same time */
	GT_INTERP_REGION_SHIFT = 40,
};

/* Regions: the bits of an address from GT_INTERP_REGION_SHIFT on, unless options have others. */
enum gt_interp_region {
	GT_REGION_STACK = 1, /* one per frame */
	GT_REGION_MEMORY = GT_REGION_STACK + GT_BPF_MAX_FRAMES,
	GT_REGION_CONTEXT,
	GT_REGION_MAPS, /* one per map; the maps themselves are from GT_REGION_HANDLES on */
	GT_REGION_HANDLES = 1 << 20,
	GT_REGION_FUNCTIONS = 1 << 19, /* the offset is the function's first instruction */
	GT_REGION_COPIES = 1 << 21, /* values of maps on the host: by instruction of the lookup */
};

/* The copy of a value that a lookup in a map on the host has returned. */
struct gt_interp_copy {
	uint32_t insn, size;
	uint8_t *data;
	struct gt_interp_copy *next;
};

struct gt_interp_machine {
	const struct gt_interp_options *options;
	const struct gt_bpf_program *program;
	struct gt_interp_thread thread;
	const struct gt_interp_grid *grid; /* the grid that it is part of, or NULL */
	uint64_t run;                      /* its index in there */
	const uint8_t *context;            /* r1, or NULL */
	uint32_t context_size;
	uint64_t registers[GT_BPF_REGISTERS];
	uint8_t stacks[GT_BPF_MAX_FRAMES][GT_BPF_STACK_SIZE];
	struct {
		uint32_t back;
		uint64_t saved[4];
		struct gt_interp_loop {
			bool runs; /* bpf_loop: the call is of its function */
			uint32_t function, index, count;
			uint64_t context;
		} loop;
	} calls[GT_BPF_MAX_FRAMES];
	uint32_t may_gotos[GT_BPF_MAX_FRAMES]; /* that fell through, in each frame */
	unsigned frame;
	uint32_t at;
	uint64_t executed;
	struct {
		uint64_t address, size; /* the address as the program sees it */
		uint64_t offset;        /* in the ring's memory */
		unsigned ring;
	} records[GT_INTERP_MAX_RECORDS];
	unsigned record_count;
	struct gt_interp_copy *copies;
	uint64_t random;
	enum gt_interp_state {
		GT_INTERP_RUNNING,
		GT_INTERP_WAITING, /* at the collective helper `waits_for`, before `at` */
		GT_INTERP_ENDED,
	} state;
	uint32_t waits_for;
	enum gt_context_source source; /* of the called helper */
	struct gt_diag *diag;
};

/* The index of a region in gt_interp_options.addresses. */
static inline unsigned gt_region_index(unsigned region)
{
	if (region >= GT_REGION_HANDLES)
		return GT_INTERP_MAPS + 2 * (region - GT_REGION_HANDLES) + 1;
	if (region >= GT_REGION_MAPS)
		return GT_INTERP_MAPS + 2 * (region - GT_REGION_MAPS);
	return region - GT_REGION_STACK;
}

/* The value of a register that holds a function. */
static inline uint64_t gt_function_address(uint32_t start)
{
	return ((uint64_t)GT_REGION_FUNCTIONS << GT_INTERP_REGION_SHIFT) + start;
}

/* The address of a byte as the program sees it. */
static inline uint64_t gt_region_address(const struct gt_interp_options *options, unsigned region,
					 uint64_t offset)
{
	if (options->addresses && region < GT_REGION_COPIES)
		return options->addresses[gt_region_index(region)] + offset;
	return ((uint64_t)region << GT_INTERP_REGION_SHIFT) + offset;
}

/* Find the memory that contains an address, or the last one before it. */
static inline unsigned gt_region_of(const struct gt_interp_options *options, uint64_t address,
				    uint64_t *ret_offset)
{
	uint32_t maps = options->object ? options->object->map_count : 0;
	unsigned found = 0;

	*ret_offset = address & ((UINT64_C(1) << GT_INTERP_REGION_SHIFT) - 1);
	if (!options->addresses || (address >> GT_INTERP_REGION_SHIFT) / GT_REGION_COPIES == 1)
		return (unsigned)(address >> GT_INTERP_REGION_SHIFT);
	*ret_offset = UINT64_MAX;
	for (unsigned region = GT_REGION_STACK; region < GT_REGION_MAPS + maps; region++) {
		uint64_t offset = address - gt_region_address(options, region, 0);

		if (offset >= *ret_offset)
			continue;
		*ret_offset = offset;
		found = region;
	}
	return found;
}

/* Set the diag with the current instruction as place. Returns error. */
int gt_interp_fail(struct gt_interp_machine *machine, int error, const char *format, ...)
	gt_printf(3, 4);
/* The host memory of an address range, or NULL with the reason set. */
void *gt_interp_memory(struct gt_interp_machine *machine, uint64_t address, uint64_t size,
		       bool write);
/* The result of an instruction of class ALU or ALU64. */
uint64_t gt_interp_alu(const struct bpf_insn *insn, uint64_t destination, uint64_t source);
/* Whether a conditional jump is taken. */
bool gt_interp_jumps(const struct bpf_insn *insn, uint64_t destination, uint64_t source);
/*
 * Call a helper: arguments in r1 to r5, result in r0. 0, 1 at the program's end, -Exxx. A machine
 * that waits for its group keeps the arguments until gt_interp_resume_group.
 */
int gt_interp_call(struct gt_interp_machine *machine, uint32_t number);
/* Enter a function, whose exit returns to machine->at. 0 or -ELOOP. */
int gt_interp_enter(struct gt_interp_machine *machine, uint32_t target);
/* loop.c: after an iteration of bpf_loop, call its function again or return. 0 or -Exxx. */
int gt_interp_continue_loop(struct gt_interp_machine *machine);
/* The helper bpf_loop. */
int gt_interp_call_back(struct gt_interp_machine *machine);
/* Clear the argument registers after a call: optional arguments of a later helper are 0. */
static inline void gt_interp_drop_arguments(struct gt_interp_machine *machine)
{
	memset(&machine->registers[1], 0, 5 * sizeof(machine->registers[1]));
}

/* The lanes of a warp. */
struct gt_interp_warp {
	struct gt_interp_machine *lanes; /* [count], at lanes 0 to count - 1 */
	unsigned count;
};

/* Initialise a machine, with zeroed stacks. The arguments must outlive it. */
void gt_interp_start(struct gt_interp_machine *machine, const struct gt_bpf_program *program,
		     const struct gt_interp_options *options, struct gt_diag *diag);
/* Run all lanes to their end. 0 or -Exxx. */
int gt_interp_run_warp(struct gt_interp_warp *warp);
/* Run the collective helper for the lanes that wait at the same call as lane `waiting`. */
void gt_interp_resume_group(struct gt_interp_warp *warp, unsigned waiting);
/* Set r1 to the memory of the options and r2 to its size. */
void gt_interp_set_memory(struct gt_interp_machine *machine);
/* The value of a context source in a machine of a grid. */
uint64_t gt_interp_source(const struct gt_interp_machine *machine, enum gt_context_source source,
			  uint32_t index, const struct gt_interp_thread *thread);

/* Helpers on the values of all lanes of a group (lanes.c). */
int gt_interp_warp_distinct(struct gt_interp_machine *machine);
int gt_interp_warp_stride(struct gt_interp_machine *machine);
int gt_interp_warp_bank_passes(struct gt_interp_machine *machine);

/* Flat numbers of threads and blocks: x varies fastest. */
static inline uint64_t gt_interp_flatten(const uint32_t index[3], const uint32_t size[3])
{
	return index[0] + (uint64_t)size[0] * (index[1] + (uint64_t)size[1] * index[2]);
}
static inline uint64_t gt_interp_threads(const struct gt_interp_thread *thread)
{
	return (uint64_t)thread->block_size[0] * thread->block_size[1] * thread->block_size[2];
}
static inline uint64_t gt_interp_in_block(const struct gt_interp_thread *thread)
{
	return gt_interp_flatten(thread->thread, thread->block_size);
}
/* Set the thread index from a flat number in the block. */
static inline void gt_interp_set_thread(struct gt_interp_thread *thread, uint64_t number)
{
	thread->thread[0] = (uint32_t)(number % thread->block_size[0]);
	number /= thread->block_size[0];
	thread->thread[1] = (uint32_t)(number % thread->block_size[1]);
	thread->thread[2] = (uint32_t)(number / thread->block_size[1]);
}
static inline uint64_t gt_interp_flat_thread(const struct gt_interp_thread *thread)
{
	return gt_interp_flatten(thread->block, thread->grid_size) * gt_interp_threads(thread) +
	       gt_interp_in_block(thread);
}
static inline uint64_t gt_interp_flat_warp(const struct gt_interp_thread *thread)
{
	return gt_interp_flatten(thread->block, thread->grid_size) *
		       ((gt_interp_threads(thread) + 31) / 32) +
	       gt_interp_in_block(thread) / 32;
}
