/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The callers of calls whose stack was copied (`--stack dwarf`): unwinds `memory` events to `stack`
 * events by .eh_frame. A `memory` event precedes the entry event and the record of its call, which
 * then get the number of the stack.
 */
#pragma once

#include "base/clean.h"
#include "event/event.h"

struct gt_callers;

/* `depth`: maximum number of callers, up to 127. NULL: out of memory. */
struct gt_callers *gt_callers_new(unsigned depth);
void gt_callers_free(struct gt_callers *callers);
GT_DEFINE_AUTO(callers, struct gt_callers, gt_callers_free)

/* Learn from `mapping` events which files are mapped where. 0 or -ENOMEM. */
int gt_callers_learn(struct gt_callers *callers, const struct gt_event *event);
/* Remember the Python frames of the `memory` event that follows in this thread. 0 or -ENOMEM. */
int gt_callers_take_python(struct gt_callers *callers, const struct gt_event_python *python);
/*
 * Unwind a `memory` event. *ret_stack is a `stack` event, which the caller frees, or NULL if these
 * callers were recorded before in this process; *ret_python is a `python` event with the frames of
 * that stack, which the caller frees, or NULL. 0 or -ENOMEM.
 */
int gt_callers_unwind(struct gt_callers *callers, const struct gt_event_memory *memory,
		      struct gt_event_python **ret_python, struct gt_event_stack **ret_stack);
/* Return the number of the stack that was unwound for this call; 0: none, it keeps its own. */
__u64 gt_callers_of(struct gt_callers *callers, const struct gt_event_call *call);
