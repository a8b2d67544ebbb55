/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is kept with its causes: the longest idle gaps of the GPUs, and the longest calls. */
#pragma once

#include "analysis/timeline/breakdown.h"

/* What is asked for. */
struct gt_explained {
	size_t top;                     /* so many of each are kept */
	const struct gt_strings *calls; /* globs; NULL: no calls */
};

/* A gap from `begin` to the start of an operation. 0 or -ENOMEM. */
int gt_explain_gap(const struct gt_explained *explained, struct gt_process_breakdown *row,
		   const struct gt_path *path, const struct gt_path_operation *next,
		   uint64_t begin);
/* The calls that returned after `begun`, up to `until`. 0 or -ENOMEM. */
int gt_explain_calls(const struct gt_explained *explained, struct gt_process_breakdown *row,
		     const struct gt_path *path, uint64_t begun, uint64_t until);
void gt_explained_free(struct gt_process_breakdown *row);
