/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several captures, of ranks or machines, become one on one axis of time.
 *
 * Captures of one boot of a machine (its boot id is in `machine` events) have one CLOCK_MONOTONIC:
 * their times stay. Those of different machines are related by CLOCK_REALTIME, from all `clock`
 * events of each (merge_clock.h): as exact as the clocks of the machines agree. The axis is the
 * CLOCK_MONOTONIC of the machine that was booted first, so that no time is negative.
 *
 * A machine has a number, 0 for the first one, in the ids of its processes and threads (GT_ID_BITS
 * of event/event.h) and in bits 56 to 63 of the contexts of fences and of
 * the ids of system calls. Functions and libraries are numbered anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "capture/capture.h"

#define GT_MERGE_MAX_FILES 255

struct gt_merge_file {
	const char *path;
	const char *label; /* of its machine in views; NULL: the path */
	bool has_offset;   /* `offset` was given by the user */
	int64_t offset;    /* ns that are added to its times; set by gt_merge */
	/* Results. */
	unsigned machine; /* number */
	int64_t drift; /* ns by which the shift changed from its first `clock` event to the last */
	bool is_incomplete; /* it is corrupt or truncated, or has no account */
	uint64_t events;
};

/* What was written. */
struct gt_merge_result {
	struct gt_capture_totals totals;
	uint64_t processes; /* that have events */
};

/*
 * Merge captures into a file. The account is the sum of theirs; where one of them is incomplete
 * there is none, so that views say so. 0; -EINVAL: they cannot be merged; errors of reading and
 * writing.
 */
int gt_merge(struct gt_merge_file *files, size_t count, const char *path,
	     struct gt_merge_result *ret_result, struct gt_diag *diag);
