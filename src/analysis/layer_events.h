/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often each event of a layer source happened, how long it took, and in which processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/histogram.h"
#include "layers/layers.h"

struct gt_layer_event_row {
	const char *name; /* belongs to the analysis */
	uint64_t count;
	uint64_t errors; /* events that failed */
	bool can_fail;
	struct gt_histogram durations; /* ns; empty: the event has none */
};

struct gt_layer_process_row {
	uint32_t process; /* 0: not known */
	uint64_t count;
	uint64_t errors;
	uint64_t total_ns;
};

struct gt_layer_events;

struct gt_layer_events *gt_layer_events_new(void);
void gt_layer_events_free(struct gt_layer_events *events);
GT_DEFINE_AUTO(layer_events, struct gt_layer_events, gt_layer_events_free)

/* Take an event; those that are not of a layer source are ignored. 0 or -ENOMEM. */
int gt_layer_events_take(struct gt_layer_events *events, const struct gt_event *event);
/* The rows, the most frequent first; they belong to the analysis. */
const struct gt_layer_event_row *gt_layer_events_rows(struct gt_layer_events *events,
						      size_t *ret_count);
const struct gt_layer_process_row *gt_layer_events_processes(struct gt_layer_events *events,
							     size_t *ret_count);
