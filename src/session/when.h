/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditions on calls (--when): comparisons joined by && and ||, in parentheses, negated by '!' in
 * front of parentheses; && binds closer. "duration>1ms && (size>=1MiB || kernel=='gemm*')".
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"
#include "base/diag.h"
#include "names/names.h"
#include "probe/api/calls.h"

struct gt_when;

/*
 * Parse a condition. Fields: duration (with a unit; ns without one), result (a number or the name
 * of an error), depth (of nested calls), tid, size (bytes that are allocated, copied or set),
 * stream (a handle, "legacy" or "per-thread"), grid (blocks of a launch; or its dimensions, as in
 * "1024x1x1"), block (threads of a block, or its dimensions), kernel (a glob, of its full or short
 * name). Values may be as lines print them ("4.2 µs", "4096 bytes", "error 7"). A value with
 * operators is in quotes. Operators: < <= == = != >= >; kernels and dimensions are only equal or
 * not. -EINVAL or -E2BIG with a diag of stage "when"; -ENOMEM.
 */
int gt_when_parse(const char *text, struct gt_when **ret_when, struct gt_diag *diag);
void gt_when_free(struct gt_when *when);
GT_DEFINE_AUTO(when, struct gt_when, gt_when_free)

/*
 * Whether a condition holds for a call; NULL holds always. A comparison of something that the call
 * has not, such as the size of a launch, does not hold.
 */
bool gt_when_holds(const struct gt_when *when, const struct gt_names *names,
		   const struct gt_event_call *call);

/*
 * Fill in the comparisons that the kernel tests before it records a call: all of them must hold
 * where the condition holds. Returns whether they are the whole condition.
 */
bool gt_when_kernel_part(const struct gt_when *when,
			 struct gt_condition ret_conditions[GT_MAX_CONDITIONS], __u32 *ret_count);
/* Whether the kernel tests the whole of a condition; also of none (NULL), and an invalid one. */
bool gt_when_is_for_kernel(const char *text);
