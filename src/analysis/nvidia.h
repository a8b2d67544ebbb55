/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of NVIDIA's driver, added up from its `nvidia_sums` events by what reports need; Xids.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/durations.h"
#include "event/event.h"

enum gt_nvidia_group {
	GT_NVIDIA_BY_FUNCTION,  /* first: the function */
	GT_NVIDIA_BY_COMMAND,   /* ioctls; first: the command, second: the RM control */
	GT_NVIDIA_BY_PROCESS,   /* first: the process; `calls` by function */
	GT_NVIDIA_BY_MINOR,     /* opens; first: the minor number */
	GT_NVIDIA_BY_INTERRUPT, /* bottom halves; first: the interrupt's number */
	GT_NVIDIA_BY_XID,       /* first: the number of the Xid */
	GT_NVIDIA_GROUPS
};

struct gt_nvidia_row {
	uint32_t first, second;
	uint32_t function; /* of commands: ioctl or uvm_ioctl */
	uint64_t count, errors;
	uint64_t total, longest; /* ns */
	uint64_t timed;          /* calls in `durations` */
	uint64_t durations[GT_DURATION_BUCKETS];
	uint64_t calls[GT_NVIDIA_FUNCTION_COUNT]; /* of a process */
};

struct gt_nvidia_calls;

struct gt_nvidia_calls *gt_nvidia_calls_new(void);
void gt_nvidia_calls_free(struct gt_nvidia_calls *calls);
GT_DEFINE_AUTO(nvidia_calls, struct gt_nvidia_calls, gt_nvidia_calls_free)

/* Take an event; those of other kinds are ignored. 0 or -ENOMEM. */
int gt_nvidia_calls_take(struct gt_nvidia_calls *calls, const struct gt_event *event);
/* The rows of a group, the most frequent first; they belong to the analysis. */
const struct gt_nvidia_row *gt_nvidia_calls_rows(struct gt_nvidia_calls *calls,
						 enum gt_nvidia_group group, size_t *ret_count);
/* The time in ns that a fraction of a row's calls did not exceed, within a quarter; 0: none timed.
 */
uint64_t gt_nvidia_quantile(const struct gt_nvidia_row *row, double fraction);
/* How often a process has opened device files more than it has closed them. */
uint64_t gt_nvidia_held(const struct gt_nvidia_row *process);
