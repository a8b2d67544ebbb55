/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The causes of an idle gap, an operation or a call: the path to it, in a few rows. */
#pragma once

#include "analysis/timeline/breakdown.h"

/*
 * Find the causes of an operation: of its start since `begin`, or with from_end of its end. The
 * caller frees causes. 0 or -ENOMEM.
 */
int gt_causes_find(const struct gt_path *path, const struct gt_path_operation *operation,
		   uint64_t begin, bool from_end, struct gt_idle_gap *ret_gap);
/* The same of a call's duration. */
int gt_causes_find_of_call(const struct gt_path *path, const struct gt_path_thread *thread,
			   const struct gt_path_call *call, struct gt_idle_gap *ret_gap);
