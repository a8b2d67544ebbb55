/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Carries out the decisions of budget.h on the sources of a session: calls are traced in windows of
 * 100 ms, other sources are dropped. Each decision becomes a note; the first one about a source
 * also a `gap` event, so that nothing claims to be complete.
 */
#pragma once

#include "session/budget.h"
#include "session/companion.h"
#include "session/opened.h"

struct gt_reduce;

/*
 * Of sources that are open; measuring must have begun (overhead.h). The hooks of a companion that
 * are measured are one more source; NULL: there is none. NULL: out of memory.
 */
struct gt_reduce *gt_reduce_new(double limit, const gt_opened_list *sources,
				const struct gt_companion *companion, uint64_t now);
void gt_reduce_free(struct gt_reduce *reduce);

/* To be called often. */
void gt_reduce_tick(struct gt_reduce *reduce, gt_opened_list *sources, const struct gt_host *host,
		    uint64_t now);
