/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies by direction: bytes, sizes and rates, as far as known from calls. A synchronous copy
 * has a rate; an asynchronous one has only an upper bound of its duration: the time until a later
 * call proves its completion.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/copy_traits.h"
#include "base/clean.h"
#include "base/histogram.h"

struct gt_copies_part {
	uint64_t count, bytes;
};

struct gt_copies_row {
	enum gt_direction direction;
	struct gt_group group;
	uint64_t count; /* that succeeded */
	uint64_t failed;
	uint64_t bytes;
	uint64_t unknown;          /* of the count: copies of unknown size */
	struct gt_histogram sizes; /* bytes */

	/* Calls that wait: their copies' bytes and the calls' time. */
	struct gt_copies_part waited;
	uint64_t waited_ns;
	/* Of the waited ones: work was queued before that may have been running, which the time
	 * includes. */
	uint64_t waited_behind;
	/* Calls that may return before the copy is done. */
	struct gt_copies_part asynchronous;
	/* Copies that launches of graphs make: not in any of the other numbers. */
	struct gt_copies_part by_graphs;
	struct gt_histogram bound; /* ns from the call to what proved it done */

	/* Between host and device only. */
	struct gt_copies_part host[GT_HOST_MEMORIES];
};

/* What pinning would gain, from copies of the same size and direction that waited. */
struct gt_pinning {
	bool dominates; /* more pageable than pinned bytes in this direction */
	uint64_t pageable_bytes, pageable_ns; /* of those that waited */
	uint64_t compared_bytes, compared_ns; /* … of sizes in which pinned ones were seen, too … */
	uint64_t pinned_ns; /* … and what they would have taken at the pinned ones' bandwidth */
};

struct gt_copies_totals {
	uint64_t in_flight; /* at the end, or now */
	uint64_t evicted;
	uint64_t unknown_graphs; /* launches of graphs of which it is not known what is in them */
	struct gt_pinning pinning[GT_DIRECTIONS]; /* to and from the device only */
};

struct gt_copies;

/* `most`: asynchronous copies that are kept until they are known to be done. */
struct gt_copies *gt_copies_new(enum gt_by by, size_t most);
void gt_copies_free(struct gt_copies *copies);
GT_DEFINE_AUTO(copies, struct gt_copies, gt_copies_free)

/* 0 or -ENOMEM. */
int gt_copies_take(struct gt_copies *copies, const struct gt_names *names,
		   const struct gt_event *event);
/* The rows, most bytes first; valid until the next event. 0 or -ENOMEM. */
int gt_copies_rows(struct gt_copies *copies, const struct gt_names *names,
		   const struct gt_copies_row *const **ret_rows, size_t *ret_count,
		   struct gt_copies_totals *ret_totals);
