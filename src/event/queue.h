/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events from user space that wait to be put into a session's stream. Events that could not be
 * allocated are counted, not dropped in silence.
 */
#pragma once

#include <stdint.h>

#include "base/clean.h"
#include "base/vec.h"
#include "event/event.h"

struct gt_event_queue {
	GT_VEC(struct gt_event *) events; /* owned */
	uint64_t lost;                    /* events for which there was no memory */
};

/*
 * Append an event, which belongs to the queue from now on, also on failure. NULL (an allocation
 * failed) is counted as lost. An event without a time gets the current one.
 */
void gt_event_queue_push(struct gt_event_queue *queue, struct gt_event *event);
/* Append a copy of an event. */
void gt_event_queue_copy(struct gt_event_queue *queue, const struct gt_event *event);
/* Append a `note` event. */
void gt_event_queue_note(struct gt_event_queue *queue, const char *format, ...) gt_printf(2, 3);
/* Free the events; the count of lost ones remains. */
void gt_event_queue_clear(struct gt_event_queue *queue);
