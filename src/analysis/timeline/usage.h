/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a process used: how long resources were busy, the longest operations, kernels, copies,
 * waits. */
#pragma once

#include "analysis/timeline/breakdown.h"

/*
 * Add an operation, in the order of their starts; `overlapped` is the part of it in which a kernel
 * ran, `top` the number of longest operations that are kept. 0 or -ENOMEM.
 */
int gt_usage_add(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		 uint64_t overlapped, size_t top);
/* Add the calls that waited and returned after `begun`, up to `until`. 0 or -ENOMEM. */
int gt_usage_add_waits(struct gt_process_breakdown *row, const struct gt_path *path, uint64_t begun,
		       uint64_t until);
/* Sort the rows, those with the most time first. */
void gt_usage_sort(struct gt_process_breakdown *row);
void gt_usage_free(struct gt_process_breakdown *row);
