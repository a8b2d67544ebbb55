/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "event/queue.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "event/kinds.h"

void gt_event_queue_push(struct gt_event_queue *queue, struct gt_event *event)
{
	if (!event || gt_vec_push(&queue->events, event)) {
		queue->lost++;
		free(event);
		return;
	}
	if (!event->time)
		event->time = gt_clock_monotonic();
}

void gt_event_queue_copy(struct gt_event_queue *queue, const struct gt_event *event)
{
	struct gt_event *copy = malloc(event->size);

	if (copy)
		memcpy(copy, event, event->size);
	gt_event_queue_push(queue, copy);
}

void gt_event_queue_note(struct gt_event_queue *queue, const char *format, ...)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	va_list arguments;

	va_start(arguments, format);
	gt_strbuf_vprintf(&text, format, arguments);
	va_end(arguments);
	gt_event_queue_push(
		queue, text.failed
			       ? NULL
			       : gt_event_new(GT_EVENT_note, gt_strbuf_string(&text), text.length));
}

void gt_event_queue_clear(struct gt_event_queue *queue)
{
	gt_vec_each (event, &queue->events)
		free(*event);
	gt_vec_free(&queue->events);
}
