/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/fences.h"

#include <errno.h>
#include <stdlib.h>

struct gt_fences *gt_fences_new(void)
{
	gt_auto(fences) struct gt_fences *fences = calloc(1, sizeof(*fences));

	if (!fences || gt_keyed_rows_init(&fences->timelines) ||
	    gt_keyed_rows_init(&fences->waiters))
		return NULL;
	return gt_take(fences);
}

static void release_timeline(void *opaque)
{
	struct gt_fence_row *row = opaque;

	gt_histogram_free(&row->latency);
	gt_histogram_free(&row->waits);
}

static void release_waiter(void *opaque)
{
	struct gt_fence_waiter *waiter = opaque;

	gt_histogram_free(&waiter->waits);
}

void gt_fences_free(struct gt_fences *fences)
{
	if (!fences)
		return;
	gt_keyed_rows_free(&fences->timelines, release_timeline);
	gt_keyed_rows_free(&fences->waiters, release_waiter);
	free(fences);
}

static struct gt_fence_row *find_timeline(struct gt_fences *fences, const struct gt_event *event)
{
	char names[GT_TAIL_NAMES];

	gt_tail_names(event, names);
	return gt_keyed_rows_get(&fences->timelines, names, sizeof(names),
				 sizeof(struct gt_fence_row));
}

static int take_fence(struct gt_fences *fences, const struct gt_event_fence *event)
{
	struct gt_fence_row *row = find_timeline(fences, &event->head);

	if (!row)
		return -ENOMEM;
	row->initialized += event->operation == GT_FENCE_INIT;
	row->emitted += event->operation == GT_FENCE_EMIT;
	if (event->operation != GT_FENCE_SIGNALED)
		return 0;
	row->signaled++;
	row->errors += event->error != 0;
	return event->age ? gt_histogram_add(&row->latency, event->age) : 0;
}

static int take_wait(struct gt_fences *fences, const struct gt_event_fence_wait *event)
{
	struct gt_fence_row *row = find_timeline(fences, &event->head);
	struct gt_fence_waiter *waiter =
		gt_keyed_rows_get(&fences->waiters, &event->head.process,
				  sizeof(event->head.process), sizeof(*waiter));

	if (!row || !waiter || gt_histogram_add(&row->waits, event->duration))
		return -ENOMEM;
	return gt_histogram_add(&waiter->waits, event->duration);
}

int gt_fences_take(struct gt_fences *fences, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_fence)
		return take_fence(fences, (const void *)event);
	return event->kind == GT_EVENT_fence_wait ? take_wait(fences, (const void *)event) : 0;
}
