/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DMA fences by timeline: how many, how long until they were signaled, and the waits for them. */
#pragma once

#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

struct gt_fence_row {
	char driver[GT_FENCE_NAME_SIZE]; /* may have no NUL; "": unknown */
	char timeline[GT_FENCE_NAME_SIZE];
	uint64_t initialized, emitted, signaled, errors;
	struct gt_histogram latency; /* ns from emission, else initialization, until signaled */
	struct gt_histogram waits;   /* ns */
};

struct gt_fence_waiter {
	uint32_t process;
	struct gt_histogram waits; /* ns */
};

struct gt_fences {
	struct gt_keyed_rows timelines; /* of struct gt_fence_row */
	struct gt_keyed_rows waiters;   /* of struct gt_fence_waiter */
};

struct gt_fences *gt_fences_new(void);
void gt_fences_free(struct gt_fences *fences);
GT_DEFINE_AUTO(fences, struct gt_fences, gt_fences_free)

/* Take an event of the source "fence". 0 or -ENOMEM. */
int gt_fences_take(struct gt_fences *fences, const struct gt_event *event);
