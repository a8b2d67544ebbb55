/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs in OpenCL kernels that another compiler made. A program is a function, which kernels
 * call where it runs: a call changes neither the blocks of a kernel nor the local memory that its
 * code refers to.
 */
#pragma once

#include "base/vec.h"
#include "gpubpf/translate.h"
#include "spirv/builder.h"

/* A program and where it runs: by its section. */
struct gt_spirv_program {
	const struct gt_bpf_object *object;
	/*
	 * The operands of its values are decimal numbers of 32 bits, special registers of PTX,
	 * which begin with '%', or names, which are parameters, in their order. That of TAKEN_MASK
	 * is 1 where the work-item takes the branch, else 0. GT_SPIRV_ACTIVE_MASK, where the device
	 * has sub-groups, is the mask of the lanes that call the function.
	 */
	const struct gt_translate_job *job;
	/* symbols, for_spir; with `relative` the address of the memory is the last parameter. */
	const struct gt_translate_options *options;
	/* The address of a word of 32 bits: the program runs while it is not 0; 0: always. */
	uint64_t switch_address;
};

#define GT_SPIRV_ACTIVE_MASK "%activemask"

enum gt_spirv_end {
	GT_SPIRV_NOWHERE,
	GT_SPIRV_AT_ENTRY,
	GT_SPIRV_AT_EXIT,
};

/* At which end of a kernel programs of a section run; those that run NOWHERE there run in bodies.
 */
enum gt_spirv_end gt_spirv_end_of(const struct gt_section *section);

/* Ids of input variables, each once. */
struct gt_spirv_inputs {
	GT_VEC(uint32_t) ids;
};
/* 0 or -ENOMEM. */
int gt_spirv_add_input(struct gt_spirv_inputs *inputs, uint32_t variable);

/* Whether the first parameter of a program's function is a condition: it does nothing if not. */
bool gt_spirv_has_condition(const struct gt_section *section);
/*
 * Whether a program of the entry or exit ends work-items (bpf_exit): the result of its function is
 * a condition then, that the kernel has to return. Those of others have no result.
 */
bool gt_spirv_ends_items(const struct gt_spirv_program *program);
/*
 * Add the function of a program to the functions of the builder, and the input variables that it
 * uses to `inputs`. In the body of a kernel, which work-items do not execute together, a lane is a
 * group of its own. 0; -EOPNOTSUPP: the program cannot run there; -E2BIG; -ENOMEM. On failure, no
 * function is added.
 */
int gt_spirv_add_program(struct gt_spirv_builder *builder, const struct gt_spirv_program *program,
			 uint32_t *ret_function, struct gt_spirv_inputs *inputs,
			 struct gt_diag *diag);
