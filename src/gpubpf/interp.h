/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interpreter: what a program means. It trusts no verifier: every access is checked. Addresses
 * that programs see are made up (each memory has a range of its own), so nothing of the host
 * shows.
 */
#pragma once

#include "gpubpf/program.h"

/* Where the program believes to run. */
struct gt_interp_thread {
	uint32_t thread[3], block[3], block_size[3], grid_size[3];
	uint64_t launch;
};

struct gt_interp_options {
	const struct gt_bpf_object *object; /* its maps; may be NULL */
	void **map_memory;                  /* one a map (maps.h); written by the program */
	const uint8_t *context;             /* r1, read-only; or, where that is NULL: */
	uint32_t context_size;
	uint8_t *memory; /* r1, with r2 its size; NULL: r1 is 0 */
	uint32_t memory_size;
	uint64_t max_executed;                 /* 0: 100,000,000 */
	const struct gt_interp_thread *thread; /* NULL: one thread */
	struct gt_strbuf *output;              /* of trace_printk and puts; NULL: dropped */
};

struct gt_interp_result {
	uint64_t r0;
	uint64_t executed; /* instructions; an ld_imm64 is one */
};

/*
 * 0; -EFAULT: an access outside; -ELOOP: max_executed reached; -EINVAL: an instruction or helper
 * that does not exist; -ENOMEM. The diag's place is "insn N".
 */
int gt_interp_run(const struct gt_bpf_program *program, const struct gt_interp_options *options,
		  struct gt_interp_result *ret_result, struct gt_diag *diag);
