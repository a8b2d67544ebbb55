/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sources that a session has opened: what is done with all of them. */
#pragma once

#include <stddef.h>

#include "base/diag.h"
#include "base/vec.h"
#include "probe/source.h"

struct gt_opened {
	const struct gt_source *source;
	void *state;
};

typedef GT_VEC(struct gt_opened) gt_opened_list;

/*
 * Return the groups of API functions (bits of gt_api_group_bit) that sources of these names trace;
 * without names those of CUDA. For gt_host: the first such source that is opened traces them all.
 */
unsigned gt_opened_groups(const struct gt_strings *names);

/*
 * Opens the source of this name and appends it, unless it is open, or one of API functions is and
 * this is another. -EINVAL: there is none of this name.
 */
int gt_opened_add(gt_opened_list *list, const struct gt_host *host, const char *name,
		  struct gt_diag *diag);

/* A descriptor that epoll can wait on until a poll has work, or -1. */
int gt_opened_fd(const struct gt_opened *opened);

/* Takes what came by other ways than the ring, as far as it is there. */
void gt_opened_poll(const gt_opened_list *list);

/* Takes the probes off; after it no record is written, and the counts are final. */
void gt_opened_detach(const gt_opened_list *list);

/* What was counted up to now. */
struct gt_counts gt_opened_count(const gt_opened_list *list);

/* Closes them all and empties the list. */
void gt_opened_close(gt_opened_list *list);
