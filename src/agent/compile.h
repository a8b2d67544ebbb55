/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the driver compiles of patched images: their kernels, and how large their blocks can be. */
#pragma once

#include "agent/agent.h"

enum {
	GT_AGENT_MAX_THREADS = 1024, /* of a block, on every GPU */
};

/* A module or library that the driver has loaded. */
struct gt_agent_loaded {
	enum gt_agent_container kind;
	void *handle;
};

/*
 * Make the primary context of the first device current where there is none: a library may be loaded
 * before. 0 or the driver's CUresult; then nothing is to be left.
 */
int gt_agent_enter_context(bool *ret_entered);
void gt_agent_leave_context(bool entered);

/*
 * The following are for the current context.
 *
 * Compile the kernels that programs match. Under lazy loading (CUDA_MODULE_LOADING, on by default)
 * the driver does so at their first use, where it is too late for the original. *ret_threads: a
 * block of each of them can have at least so many. 0 or the driver's CUresult.
 */
int gt_agent_compile(const struct gt_agent_loaded *loaded, const struct gt_agent_names *kernels,
		     int *ret_threads);

/* Whether kernels whose registers can be limited have smaller blocks than the device's largest. */
bool gt_agent_may_limit(const struct gt_agent_exchange *exchange,
			const struct gt_agent_loaded *patched);
/*
 * Limit the registers of kernels whose blocks can have fewer threads than in the original, in the
 * text of the patched image, which takes effect when it is loaded again. Returns the lowest limit;
 * 0: none.
 */
unsigned gt_agent_limit_registers(const struct gt_agent_exchange *exchange,
				  const struct gt_agent_loaded *patched,
				  const struct gt_agent_loaded *original);
/* Whether blocks of one of the kernels can have fewer threads than in the original. */
bool gt_agent_has_smaller_blocks(const struct gt_agent_names *kernels,
				 const struct gt_agent_loaded *patched,
				 const struct gt_agent_loaded *original);
