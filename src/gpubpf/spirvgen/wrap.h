/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs at the entry and exit of OpenCL kernels. A new function takes over the kernel's entry
 * point, execution modes, name and the names and attributes of its parameters; it runs the
 * programs, calls the original function, and runs those of the exit. The code of the kernel does
 * not change, so barriers and sub-group operations keep their meaning, and every return is seen.
 */
#pragma once

#include "gpubpf/translate.h"
#include "spirv/builder.h"

/* A program and where it runs: by its section, at the entry or at the exit. */
struct gt_spirv_program {
	const struct gt_bpf_object *object;
	const struct gt_translate_job *job;         /* values: decimal numbers of 32 bits */
	const struct gt_translate_options *options; /* symbols, for_spir */
	/* The address of a word of 32 bits: the program runs while it is not 0; 0: always. */
	uint64_t switch_address;
};

enum gt_spirv_end {
	GT_SPIRV_NOWHERE,
	GT_SPIRV_AT_ENTRY,
	GT_SPIRV_AT_EXIT,
};

/* Where programs of a section run in a kernel. */
enum gt_spirv_end gt_spirv_end_of(const struct gt_section *section);

/*
 * Wrap the kernel of an entry point of `module`, which the builder was made from
 * (gt_spirv_init_from). Programs that run nowhere there are rejected. 0;
 * -EOPNOTSUPP: a program cannot run there; -EINVAL: the kernel's function is malformed; -ENOMEM.
 * On failure the builder must not be used again.
 */
int gt_spirv_wrap(struct gt_spirv_builder *builder, const struct gt_spirv_module *module,
		  const struct gt_spirv_entry *entry, const struct gt_spirv_program *programs,
		  size_t count, struct gt_diag *diag);
