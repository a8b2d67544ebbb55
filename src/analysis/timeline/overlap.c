/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/overlap.h"

#include <errno.h>

/* Numbers of queues have 32 bits; the lanes of other operations come after them. */
#define LANE_OF_ONE (1ull << 32)

static uint64_t lane_of(const struct gt_path_operation *operation)
{
	return operation->basis == GT_TIMES_ESTIMATED ? operation->queue
						      : LANE_OF_ONE + operation->number;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t gt_overlap_add(struct gt_overlap *overlap, const struct gt_path_operation *operation)
{
	uint64_t lane = lane_of(operation);
	uint64_t others = lane == overlap->last_lane ? overlap->other : overlap->last;
	uint64_t from = later(operation->start, overlap->counted);
	uint64_t to = operation->end < others ? operation->end : others;

	if (lane == overlap->last_lane) {
		overlap->last = later(overlap->last, operation->end);
	} else if (operation->end > overlap->last) {
		overlap->other = overlap->last;
		overlap->last = operation->end;
		overlap->last_lane = lane;
	} else {
		overlap->other = later(overlap->other, operation->end);
	}
	if (to <= from)
		return 0;
	overlap->counted = to;
	return to - from;
}

int gt_lane_spans_add(struct gt_lane_spans *spans, const struct gt_path_operation *operation)
{
	struct gt_lane_span span = {operation->start, operation->end, lane_of(operation)};
	struct gt_lane_span *last = spans->count ? &spans->items[spans->count - 1] : NULL;

	if (last && last->lane == span.lane && span.start <= last->end) {
		last->end = later(last->end, span.end);
		return 0;
	}
	return gt_vec_push(spans, span) ? -ENOMEM : 0;
}

uint64_t gt_lane_spans_overlap(struct gt_lane_spans *spans,
			       const struct gt_path_operation *operation)
{
	uint64_t sum = 0, counted = operation->start, lane = lane_of(operation);

	while (spans->first < spans->count && spans->items[spans->first].end <= operation->start)
		spans->first++;
	for (size_t i = spans->first; i < spans->count; i++) {
		const struct gt_lane_span *span = &spans->items[i];
		uint64_t from = later(span->start, counted);
		uint64_t to = span->end < operation->end ? span->end : operation->end;

		if (span->start >= operation->end)
			break;
		if (span->lane == lane || to <= from)
			continue;
		sum += to - from;
		counted = to;
	}
	return sum;
}
