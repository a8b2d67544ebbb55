/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the patcher of SPIR-V: functions, sites, insertion. */
#pragma once

#include "gpubpf/spirvgen/program.h"
#include "patch/private.h"
#include "patch/spirv.h"
#include "patch/spirv/access.h"
#include "spirv/builder.h"

#define GT_SPIRV_PROGRAM(n) (UINT64_C(1) << (n))

/*
 * What only the host knows of a launch: hidden parameters of 64 bits after those of a kernel, all
 * of them or none. The layer sets them (agent/opencl/launch.c). The last one is there where the
 * maps are copied to the device (`relative`): a pointer to their memory.
 */
enum gt_spirv_launch_value {
	GT_SPIRV_LAUNCH_NUMBER,
	GT_SPIRV_LAUNCH_LOCAL, /* bytes of local memory of a work-group */
	GT_SPIRV_LAUNCH_SHARED,
	GT_SPIRV_LAUNCH_VALUES,
};

enum {
	/* A mask, and values that depend on the target. */
	GT_SPIRV_MORE_VALUES = 2 + GT_SPIRV_LAUNCH_VALUES,
	GT_SPIRV_DIMENSION_INPUTS = 8,
};

/* What is known of a function of the module. */
struct gt_spirv_patch_function {
	const char *name; /* OpName, or "" */
	/* The kernel whose code it is: an entry point, or what LLVM's entry point calls; or NULL.
	 */
	const struct gt_spirv_entry *kernel;
	uint64_t matched; /* programs that match a kernel which calls it */
	uint64_t foreign; /* those that do not match one of the kernels which call it */
	uint32_t callers; /* kernels that call it, or whose code it is */
	uint32_t caller;  /* the last one: its index among the entry points */
	size_t first_place, place_count;
	uint32_t launch[GT_SPIRV_LAUNCH_VALUES]; /* ids of its parameters; 0: it has none */
};

/* What is known of an entry point. */
struct gt_spirv_patch_kernel {
	uint64_t matched; /* all programs that match it */
	uint32_t number;  /* the context's `kernel` */
	uint32_t body;    /* 1 + index of another function that has its code; 0: there is none */
};

/* Where calls for a site are inserted: an exit has several places. */
struct gt_spirv_place {
	size_t instruction; /* that the site is at; GT_SPIRV_NO_INSTRUCTION: an end of a kernel */
	size_t position;    /* code is inserted before this instruction */
	uint32_t site;      /* index into the result's sites */
	bool is_entry;
	bool on_edges; /* of a branch: a call where it is taken, and one where it is not */
};
#define GT_SPIRV_NO_INSTRUCTION SIZE_MAX

/* A program, translated once for the module. */
struct gt_spirv_patch_program {
	struct gt_patch_uses uses;
	struct gt_patch_values values;
	/* The arguments of its function, then values that are known without. */
	struct gt_site_value items[GT_PATCH_MAX_VALUES + GT_SPIRV_MORE_VALUES];
	uint32_t argument_count;
	struct gt_translate_job job;
	uint32_t function; /* id; 0: not translated */
	bool ends_items;   /* its function has a result: gt_spirv_ends_items */
};

struct gt_spirv_patcher {
	const struct gt_spirv_module *module;
	const struct gt_patch_options *options;
	struct gt_patch_result *result;
	struct gt_spirv_builder builder;
	struct gt_translate_options translate;
	struct gt_spirv_patch_kernel *kernels;     /* by entry point */
	uint64_t rejected;                         /* programs that cannot be translated */
	uint64_t launched;                         /* those that read values of the launch */
	uint8_t *registers;                        /* access.h; NULL: no program runs in bodies */
	uint8_t *loop_heads;                       /* edges.c; NULL: no branch has calls on edges */
	struct gt_spirv_patch_function *functions; /* as those of the module */
	/* rewrite.c: ids of built-in vectors; 0: the module lacks it */
	uint32_t dimension_inputs[GT_SPIRV_DIMENSION_INPUTS];
	GT_VEC(struct gt_spirv_place) places;    /* those of a function follow each other */
	struct gt_spirv_patch_program *programs; /* one per program */
	struct gt_spirv_inputs inputs;           /* that functions of programs use */
	struct gt_diag *diag;
};

/*
 * functions.c: fill in patcher->functions, by the programs that match each entry point. 0; -E2BIG:
 * the functions of the module call each other too often; -ENOMEM.
 */
int gt_spirv_find_functions(struct gt_spirv_patcher *patcher);

/* sites.c: add the sites of a function to the result, and its places. 0 or -Exxx. */
int gt_spirv_find_sites(struct gt_spirv_patcher *patcher, struct gt_spirv_patch_function *function);
/* The first instruction after the variables of a function with a body. */
size_t gt_spirv_after_variables(const struct gt_spirv_module *module,
				const struct gt_spirv_function *code);
/* Where a branch leads back: *ret_condition, or if *ret_is_inverse where that does not hold; 0:
 * always. False: it does not. */
bool gt_spirv_leads_back(const struct gt_spirv_patcher *patcher, size_t instruction,
			 uint32_t *ret_condition, bool *ret_is_inverse);

/* insert.c: translate the programs that have sites. Those that cannot be are rejected. 0 or
 * -ENOMEM.
 */
int gt_spirv_translate_programs(struct gt_spirv_patcher *patcher);
/* Write the functions and entry points of the module again, with calls at the sites. */
void gt_spirv_insert_calls(struct gt_spirv_patcher *patcher);

/*
 * launch.c: parameters for the values of the launch. A function that kernels call has them, too,
 * and its callers pass theirs on, or zeros where a kernel has none: no program that it has runs
 * then.
 */
bool gt_spirv_takes_launch(const struct gt_spirv_patcher *patcher,
			   const struct gt_spirv_function *code);
/* The type of a function with these parameters. */
uint32_t gt_spirv_launch_type(struct gt_spirv_patcher *patcher, uint32_t type);
/* Add the parameters after those of the function, and note their ids. */
void gt_spirv_add_launch_parameters(struct gt_spirv_patcher *patcher,
				    struct gt_spirv_patch_function *function,
				    struct gt_spirv_words *words);
/* Write a call in a function again. False: it is none of a function with these parameters. */
bool gt_spirv_pass_launch(struct gt_spirv_patcher *patcher,
			  const struct gt_spirv_patch_function *caller,
			  const struct gt_spirv_instruction *call, struct gt_spirv_words *words);
/* Add code that makes the address of the memory of the maps of a function's parameter. Its id. */
uint32_t gt_spirv_put_shared(struct gt_spirv_patcher *patcher,
			     const struct gt_spirv_patch_function *function,
			     struct gt_spirv_words *words);

/*
 * divergence.c: a branch at the beginning of a kernel, without effect, for PoCL. It goes after the
 * variables of the first block, and ends in an open block.
 */
bool gt_spirv_diverges(const struct gt_spirv_patcher *patcher,
		       const struct gt_spirv_patch_function *function);
void gt_spirv_put_divergence(struct gt_spirv_patcher *patcher, struct gt_spirv_words *words);

/*
 * edges.c: the branches at the heads of loops, which have their calls on the edges, for PoCL. Fills
 * in patcher->loop_heads. 0 or -ENOMEM.
 */
int gt_spirv_find_loop_heads(struct gt_spirv_patcher *patcher);
/* Whether a branch has its calls on its edges; label: the beginning of its block. */
bool gt_spirv_is_on_edges(const struct gt_spirv_patcher *patcher, size_t label, size_t instruction);

/* rewrite.c: find the built-in vectors whose components are sizes and numbers of work-items. */
void gt_spirv_find_dimensions(struct gt_spirv_patcher *patcher);
/*
 * Write an instruction that some devices do not take in another form. False: it is none of these.
 */
bool gt_spirv_rewrite(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
		      struct gt_spirv_words *words);
/* Whether the module waits for events of generic pointers, of which no other form is known. */
bool gt_spirv_has_generic_events(const struct gt_spirv_module *module);

/* values.c: the ids of the values of a context at a site, for which code is added to `words`. */
struct gt_spirv_value_site {
	struct gt_spirv_patcher *patcher;
	struct gt_spirv_words *words;
	const struct gt_spirv_patch_function *function;
	const struct gt_patch_site *site;
	const struct gt_spirv_instruction *instruction; /* NULL: an end of the kernel */
	struct gt_spirv_access access;
	bool has_access;
	uint32_t known[GT_SOURCE_NONE]; /* by source: ids of values; 0: not written yet */
};
uint32_t gt_spirv_put_source(struct gt_spirv_value_site *at, const struct gt_site_value *value);
