/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events in the order of their times. A BPF program takes the time of an event before it writes the
 * event to the ring; where an interrupt or another CPU comes in between, later events are written
 * earlier.
 */
#pragma once

#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"

struct gt_reorder;

/* NULL: out of memory. */
struct gt_reorder *gt_reorder_new(void);
void gt_reorder_free(struct gt_reorder *reorder);
GT_DEFINE_AUTO(reorder, struct gt_reorder, gt_reorder_free)

/* Add a copy of an event, after all events that are not later. 0 or -ENOMEM. */
int gt_reorder_put(struct gt_reorder *reorder, const struct gt_event *event);
/*
 * Remove and return the earliest event, if its time is not after `until`; NULL: there is none. It
 * is valid until the next call.
 */
const struct gt_event *gt_reorder_next(struct gt_reorder *reorder, uint64_t until);
/* Return the latest time of an event that was added; 0: none was. */
uint64_t gt_reorder_latest(const struct gt_reorder *reorder);
