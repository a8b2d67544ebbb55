/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nested calls, held back until it is known what they are part of. A call is part of another one
 * that encloses it if both mean the same, or both failed: then the outer one alone counts.
 */
#pragma once

#include "base/clean.h"
#include "event/event.h"
#include "names/names.h"

struct gt_nesting;

struct gt_nesting *gt_nesting_new(void);
void gt_nesting_free(struct gt_nesting *nesting);

typedef int (*gt_nesting_sink)(void *context, const struct gt_names *names,
			       const struct gt_event_call *call);

/*
 * Takes every event; passes on the calls that count, in the order of their returns but for those
 * held back. At a process's exit and at an account nothing is held back any longer. 0, -ENOMEM, or
 * the sink's result.
 */
int gt_nesting_take(struct gt_nesting *nesting, const struct gt_names *names,
		    const struct gt_event *event, gt_nesting_sink sink, void *context);
