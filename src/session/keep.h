/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes a capture independent of the files of its machine: when a stack is recorded or a kernel is
 * launched for the first time, what names find about it in files becomes events.
 */
#pragma once

#include "base/clean.h"
#include "event/queue.h"
#include "names/names.h"

struct gt_keep;

/* NULL: out of memory. */
struct gt_keep *gt_keep_new(void);
void gt_keep_free(struct gt_keep *keep);
GT_DEFINE_AUTO(keep, struct gt_keep, gt_keep_free)

/* Append events about what `event` refers to; the names have learnt from it. */
void gt_keep_take(struct gt_keep *keep, const struct gt_names *names, const struct gt_event *event,
		  struct gt_event_queue *queue);
