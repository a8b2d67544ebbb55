/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interpreter, the reference for the semantics of programs. It does not rely on the verifier:
 * every access is checked. Addresses that programs see are virtual (each memory has its own range)
 * and reveal nothing of the host.
 */
#pragma once

#include "gpubpf/context.h"
#include "gpubpf/program.h"

/* The thread that runs the program. */
struct gt_interp_thread {
	uint32_t thread[3], block[3], block_size[3], grid_size[3];
	uint64_t launch;
	uint32_t sm, mask; /* mask: the active lanes; 0: this one */
};

struct gt_interp_options {
	const struct gt_bpf_object *object; /* its maps; may be NULL */
	void **map_memory;                  /* per map (layout: map.h); written by the program */
	const int *kernel_maps;     /* descriptors of hashes of the kernel, per map; or NULL */
	const uint32_t *map_copies; /* of arrays, per map; NULL: 1 each */
	const uint8_t *context;     /* r1, read-only; NULL: r1 is memory */
	uint32_t context_size;
	uint8_t *memory; /* r1, with r2 its size; NULL: r1 is 0 */
	uint32_t memory_size;
	uint64_t max_executed;                 /* of one run; 0: 100,000,000 */
	const struct gt_interp_thread *thread; /* NULL: one thread */
	struct gt_strbuf *output;              /* of trace_printk and puts; NULL: dropped */
	uint64_t pid_tgid;                     /* of helper 14 */
	/*
	 * Where the program sees each memory, by gt_interp_address; NULL: each in its own
	 * range of 2^40 bytes. The memories must not overlap, or end at 2^64. For tests: a program
	 * that was verified has the same results wherever they are.
	 */
	const uint64_t *addresses;
	/* Called before each instruction, with the index of the run in `results`; may be NULL. */
	void (*visit)(void *data, uint64_t run, uint32_t insn,
		      const uint64_t registers[GT_BPF_REGISTERS]);
	void *visit_data;
};

/* Indexes of `addresses`. */
enum gt_interp_address {
	GT_INTERP_STACKS,                                        /* of each frame */
	GT_INTERP_MEMORY = GT_INTERP_STACKS + GT_BPF_MAX_FRAMES, /* of r1 */
	GT_INTERP_CONTEXT,
	GT_INTERP_MAPS, /* of each map its memory and its handle, which is not memory: not 0 */
};

struct gt_interp_result {
	uint64_t r0;
	uint64_t executed; /* instructions; an ld_imm64 is one */
};

/*
 * Runs a program once. 0; -EFAULT: an invalid access; -ELOOP: max_executed reached; -EINVAL: an
 * instruction or helper that does not exist; -ENOMEM. The diag's place is "insn N".
 */
int gt_interp_run(const struct gt_bpf_program *program, const struct gt_interp_options *options,
		  struct gt_interp_result *ret_result, struct gt_diag *diag);

/* The site in a kernel where a program runs: fields of its context, within their bounds. */
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
	uint32_t block_size[3], grid_size[3]; /* at least 1; at most 1024 threads per block */
	uint32_t sms;                         /* blocks are assigned to them in turn; 0: 1 */
	uint64_t launch;
	const struct gt_section *section;  /* its level, and its context; NULL: gpu/run */
	const struct gt_interp_site *site; /* NULL: all zeros */
	uint64_t
		*results; /* r0 of each run, by the flat id of its thread, warp or block; or NULL */
};

/* The number of runs; 0: invalid sizes. */
uint64_t gt_interp_grid_runs(const struct gt_interp_grid *grid);

/*
 * Runs a program for each thread, warp or block of a grid by the level of its section, block after
 * block and warp after warp. The lanes of a warp synchronise at collective helpers: those that wait
 * at the same call are the group. Programs of gpu/run share options->memory; others have the
 * context of their section (options->context and thread are not used). Results and errors are those
 * of gt_interp_run; ret_result->r0 is that of the last run, and executed the maximum of all.
 */
int gt_interp_run_grid(const struct gt_bpf_program *program,
		       const struct gt_interp_options *options, const struct gt_interp_grid *grid,
		       struct gt_interp_result *ret_result, struct gt_diag *diag);
