/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source positions of code: .loc with its file, and the calls that the compiler inlined. A call
 * that is itself in an inlined function has a .loc of its own before (PTX ISA 9.0, 11.5.3).
 */
#pragma once

#include "base/clean.h"
#include "ptx/ptx.h"

enum {
	GT_PTX_MAX_INLINED = 8, /* positions of one .loc */
};

struct gt_ptx_source {
	const char *file;     /* as in .file; NULL: no .file has this number */
	const char *function; /* mangled, of the inlined function; NULL: not inlined, or unknown */
	uint32_t line, column;
};

struct gt_ptx_sources;

/* 0 or -ENOMEM. The module must outlive the result. */
int gt_ptx_sources_new(const struct gt_ptx_module *module, struct gt_ptx_sources **ret_sources);
void gt_ptx_sources_free(struct gt_ptx_sources *sources);
GT_DEFINE_AUTO(ptx_sources, struct gt_ptx_sources, gt_ptx_sources_free)

/*
 * Find the position of a .loc of a function and those of the calls that led there, innermost first:
 * at most GT_PTX_MAX_INLINED. Quick when one function is asked for after the other. The texts are
 * valid while `sources` is. 0 or -ENOMEM.
 */
int gt_ptx_sources_find(struct gt_ptx_sources *sources, const struct gt_ptx_function *function,
			const struct gt_ptx_loc *loc, struct gt_ptx_source *ret_positions,
			uint32_t *ret_count);
