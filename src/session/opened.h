/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The open sources of a session, and the operations on all of them. */
#pragma once

#include <stddef.h>

#include "base/diag.h"
#include "base/vec.h"
#include "probe/source.h"

struct gt_opened {
	const struct gt_source *source;
	bool is_dropped; /* it is detached already */
	void *state;
};

typedef GT_VEC(struct gt_opened) gt_opened_list;

/*
 * Return the groups of API functions (bits of gt_api_group_bit) that sources of these names trace;
 * without names those of CUDA. For gt_host: the first such source that is opened traces them all.
 */
unsigned gt_opened_groups(const struct gt_strings *names);

/*
 * Open the source of this name and append it, unless it is open, or it is one of API functions and
 * another such source is open. -EINVAL: unknown name.
 */
int gt_opened_add(gt_opened_list *list, const struct gt_host *host, const char *name,
		  struct gt_diag *diag);

/* Return a descriptor for epoll: readable if a poll has work; or -1. */
int gt_opened_fd(const struct gt_opened *opened);

/* Process the events that do not come through the ring. */
void gt_opened_poll(const gt_opened_list *list);

/* Detach the probes; then no more records are written, and the counts are final. */
void gt_opened_detach(const gt_opened_list *list);

/* Emit events that hold totals so far. */
void gt_opened_collect(const gt_opened_list *list);

/* Return the counts so far. */
struct gt_counts gt_opened_count(const gt_opened_list *list);

/* Close them all and empty the list. */
void gt_opened_close(gt_opened_list *list);
