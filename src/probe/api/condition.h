/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions on calls, tested in the kernel: "duration>1ms && result!=0". */
#pragma once

#include <stdbool.h>

#include "base/diag.h"
#include "event/event.h"
#include "probe/api/calls.h"

/*
 * Parse up to GT_MAX_CONDITIONS comparisons joined by "&&". Fields: duration (with a unit; ns
 * without one), result (a number or the name of an error), depth (of nested calls), tid. Operators:
 * < <= == = != >= >. -EINVAL with a diag of stage "when" that names the part that is wrong.
 */
int gt_conditions_parse(const char *text, struct gt_condition conditions[GT_MAX_CONDITIONS],
			__u32 *ret_count, struct gt_diag *diag);

/* Whether all of them hold for a call: the test of the BPF program, for calls of a capture. */
bool gt_conditions_hold(const struct gt_condition *conditions, __u32 count,
			const struct gt_event_call *call);
