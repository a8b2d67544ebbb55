/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reference graph of a PTX module: which functions and module-scope variables each function
 * uses, directly or by their addresses. A call through a register may reach every device function
 * whose address is taken in the module, or in others that it is linked with (set.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/vec.h"
#include "ptx/ptx.h"

struct gt_patch_graph;

/* What can be reached from some functions: by function and variable number. */
struct gt_patch_reach {
	bool *functions; /* owned */
	bool *variables; /* owned; only those at module scope are marked */
	GT_VEC(const struct gt_ptx_function *) list; /* the functions, as they were reached */
	GT_VEC(uint32_t) used;                       /* the numbers of the variables */
	size_t followed;       /* so many of the list were looked up in other modules */
	bool calls_indirectly; /* a function of the program does so */
};

/*
 * What references to a function refer to: its definition. An alias is a function of its own, which
 * refers to its target.
 */
const struct gt_ptx_function *gt_patch_referred(const struct gt_ptx_function *function);

/* 0 or -ENOMEM. The module must outlive the graph. */
int gt_patch_graph_new(const struct gt_ptx_module *module, struct gt_patch_graph **ret_graph);
void gt_patch_graph_free(struct gt_patch_graph *graph);
GT_DEFINE_AUTO(patch_graph, struct gt_patch_graph, gt_patch_graph_free)

/* An empty reach. 0 or -ENOMEM. */
int gt_patch_reach_new(const struct gt_patch_graph *graph, struct gt_patch_reach *ret_reach);
void gt_patch_reach_clear(struct gt_patch_reach *reach);
/* Make it empty, in a time that depends on what was reached, not on the size of the module. */
void gt_patch_reach_reset(struct gt_patch_reach *reach);
/* Add a function and all that it can reach. 0 or -ENOMEM. */
int gt_patch_reach_add(const struct gt_patch_graph *graph, const struct gt_ptx_function *function,
		       struct gt_patch_reach *reach);
/* Add the device functions whose addresses are taken in the module. 0 or -ENOMEM. */
int gt_patch_reach_add_taken(const struct gt_patch_graph *graph, struct gt_patch_reach *reach);
/*
 * Whether something that was not reached refers to a kernel that was: it would launch the kernel of
 * its own module.
 */
bool gt_patch_reach_is_shared(const struct gt_patch_graph *graph,
			      const struct gt_patch_reach *reach);
