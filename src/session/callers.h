/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes `stack` events of copied stacks, by .eh_frame: a `memory` event precedes its call's
 * entry event and record, which then get the number of the stack.
 */
#pragma once

#include "base/clean.h"
#include "event/event.h"

struct gt_callers;

/* `depth`: callers to tell at most, up to 127. NULL if memory ran out. */
struct gt_callers *gt_callers_new(unsigned depth);
void gt_callers_free(struct gt_callers *callers);
GT_DEFINE_AUTO(callers, struct gt_callers, gt_callers_free)

/* Learns from `mapping` and `process` events what is mapped where. 0 or -ENOMEM. */
int gt_callers_learn(struct gt_callers *callers, const struct gt_event *event);
/*
 * Unwinds a `memory` event. *ret_stack is a `stack` event if the callers were not told before in
 * this process, else NULL; the caller frees it. 0 or -ENOMEM.
 */
int gt_callers_unwind(struct gt_callers *callers, const struct gt_event_memory *memory,
		      struct gt_event_stack **ret_stack);
/* The number of the stack that was unwound for this call; 0: none. */
__u64 gt_callers_of(const struct gt_callers *callers, const struct gt_event_call *call);
