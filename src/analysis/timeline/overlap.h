/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long operations of a GPU ran at the same time. Estimated times are upper bounds, and those of
 * one queue overlap where which part is whose is not known: such operations ran one after the
 * other, and their times do not count as overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analysis/timeline/path.h"
#include "base/vec.h"

/*
 * What has run so far, of operations in the order of their starts. Lanes are what runs one after
 * the other: the estimated operations of a queue, and each other operation alone.
 */
struct gt_overlap {
	uint64_t last, last_lane; /* the latest end, and its lane */
	uint64_t other;           /* the latest end of the other lanes */
	uint64_t counted;         /* the overlap that was counted ends here */
};

/* Add an operation; the time that it adds during which at least two ran. */
uint64_t gt_overlap_add(struct gt_overlap *overlap, const struct gt_path_operation *operation);

struct gt_lane_span {
	uint64_t start, end, lane;
};

/* Times of kernels, in the order of their starts. */
struct gt_lane_spans {
	struct gt_lane_span *items;
	size_t count, capacity;
	size_t first; /* those before it ended before the operation that was asked for last */
};

/* Return 0 or -ENOMEM. */
int gt_lane_spans_add(struct gt_lane_spans *spans, const struct gt_path_operation *operation);
/* The part of an operation in which a span of another lane ran; asked for in the order of starts.
 */
uint64_t gt_lane_spans_overlap(struct gt_lane_spans *spans,
			       const struct gt_path_operation *operation);
