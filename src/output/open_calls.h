/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How deep each thread is in calls and system calls, from their entries: how far the lines of its
 * events are indented.
 */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "event/event.h"

struct gt_open_calls {
	struct gt_hash *by_thread; /* -> the row; NULL: entries are not in the stream */
};

/* 0 or -ENOMEM. */
int gt_open_calls_init(struct gt_open_calls *calls);
void gt_open_calls_free(struct gt_open_calls *calls);
/* Take an event that was shown, in the order of the stream. 0 or -ENOMEM. */
int gt_open_calls_take(struct gt_open_calls *calls, const struct gt_event *event);
/* Whether the entry of the system call that an event is about, or happened in, was taken. */
bool gt_open_calls_in_syscall(const struct gt_open_calls *calls, const struct gt_event *event);
/* The depth of an event that is not a call's: 0 unless it happened in its thread. */
unsigned gt_open_calls_depth(const struct gt_open_calls *calls, const struct gt_event *event);
