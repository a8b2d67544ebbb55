/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interpreter: what a program means. It trusts no verifier: every access is checked. Addresses
 * that programs see are made up (each memory has a range of its own), so nothing of the host
 * shows.
 */
#pragma once

#include "gpubpf/context.h"
#include "gpubpf/program.h"

/* Where the program believes to run. */
struct gt_interp_thread {
	uint32_t thread[3], block[3], block_size[3], grid_size[3];
	uint64_t launch;
	uint32_t sm, mask; /* mask: the lanes that come by together; 0: this one */
};

struct gt_interp_options {
	const struct gt_bpf_object *object; /* its maps; may be NULL */
	void **map_memory;                  /* one a map (maps.h); written by the program */
	const uint32_t *map_copies;         /* of arrays, one a map; NULL: 1 each */
	const uint8_t *context;             /* r1, read-only; or, where that is NULL: */
	uint32_t context_size;
	uint8_t *memory; /* r1, with r2 its size; NULL: r1 is 0 */
	uint32_t memory_size;
	uint64_t max_executed;                 /* of one run; 0: 100,000,000 */
	const struct gt_interp_thread *thread; /* NULL: one thread */
	struct gt_strbuf *output;              /* of trace_printk and puts; NULL: dropped */
	uint64_t pid_tgid;                     /* of helper 14 */
	/* Called before each instruction, with the number of the run (see results); may be NULL. */
	void (*visit)(void *data, uint64_t run, uint32_t insn,
		      const uint64_t registers[GT_BPF_REGISTERS]);
	void *visit_data;
};

struct gt_interp_result {
	uint64_t r0;
	uint64_t executed; /* instructions; an ld_imm64 is one */
};

/*
 * Runs a program once. 0; -EFAULT: an access outside; -ELOOP: max_executed reached; -EINVAL: an
 * instruction or helper that does not exist; -ENOMEM. The diag's place is "insn N".
 */
int gt_interp_run(const struct gt_bpf_program *program, const struct gt_interp_options *options,
		  struct gt_interp_result *ret_result, struct gt_diag *diag);

/* The place in a kernel where a program runs: what the fields of its context are. */
struct gt_interp_site {
	uint32_t kernel, site, line;
	uint32_t argument_count;
	uint32_t argument_sizes[GT_CONTEXT_ARGUMENTS];
	uint64_t arguments[GT_CONTEXT_ARGUMENTS];
	uint32_t value_size, width, space, access, barrier;
	/* ADDRESS, VALUE, VALUE_HIGH, TAKEN of a thread; NULL: 0. */
	uint64_t (*lane)(void *data, enum gt_context_source source,
			 const struct gt_interp_thread *thread);
	void *data; /* of lane */
};

/* A launch of a kernel. */
struct gt_interp_grid {
	uint32_t block_size[3], grid_size[3]; /* none 0; at most 1024 threads a block */
	uint32_t sms;                         /* blocks take turns on them; 0: 1 */
	uint64_t launch;
	const struct gt_section *section;  /* its level, and its context; NULL: gpu/run */
	const struct gt_interp_site *site; /* NULL: all zeros */
	uint64_t
		*results; /* r0 of each run: one a thread, warp or block, by its flat id; or NULL */
};

/* How many runs that are; 0: sizes that no grid has. */
uint64_t gt_interp_grid_runs(const struct gt_interp_grid *grid);

/*
 * Runs a program for each thread, warp or block of a grid, as its section's level says, block by
 * block and warp by warp. The lanes of a warp run in step where they call helpers of a group: those
 * that are at one such call together are the group. Programs of gpu/run share options->memory;
 * others have the context of their section (options->context and thread are not used). Results
 * and errors are those of gt_interp_run; ret_result->r0 is that of the last run, and executed the
 * greatest of all.
 */
int gt_interp_run_grid(const struct gt_bpf_program *program,
		       const struct gt_interp_options *options, const struct gt_interp_grid *grid,
		       struct gt_interp_result *ret_result, struct gt_diag *diag);
