/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct gt_reorder {
	GT_VEC(struct gt_event *) events; /* sorted; those before `first` were removed */
	size_t first;
	struct gt_event *removed; /* the last one; owned */
	uint64_t latest;
};

struct gt_reorder *gt_reorder_new(void)
{
	return calloc(1, sizeof(struct gt_reorder));
}

void gt_reorder_free(struct gt_reorder *reorder)
{
	if (!reorder)
		return;
	for (size_t i = reorder->first; i < reorder->events.count; i++)
		free(reorder->events.items[i]);
	gt_vec_free(&reorder->events);
	free(reorder->removed);
	free(reorder);
}

/* Move what is there to the front, if most of the array is free. */
static void compact(struct gt_reorder *reorder)
{
	size_t count = reorder->events.count - reorder->first;

	if (reorder->first < 64 || reorder->first < count)
		return;
	memmove(reorder->events.items, reorder->events.items + reorder->first,
		count * sizeof(*reorder->events.items));
	reorder->events.count = count;
	reorder->first = 0;
}

int gt_reorder_put(struct gt_reorder *reorder, const struct gt_event *event)
{
	struct gt_event *copy = malloc(event->size);
	size_t at;

	compact(reorder);
	if (!copy || gt_vec_push(&reorder->events, copy)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, event, event->size);
	if (event->time > reorder->latest)
		reorder->latest = event->time;
	/* Almost all events come in their order: the search from the end is short. */
	at = reorder->events.count - 1;
	for (; at > reorder->first && reorder->events.items[at - 1]->time > event->time; at--)
		reorder->events.items[at] = reorder->events.items[at - 1];
	reorder->events.items[at] = copy;
	return 0;
}

const struct gt_event *gt_reorder_next(struct gt_reorder *reorder, uint64_t until)
{
	free(reorder->removed);
	reorder->removed = NULL;
	if (reorder->first == reorder->events.count ||
	    reorder->events.items[reorder->first]->time > until)
		return NULL;
	reorder->removed = reorder->events.items[reorder->first++];
	return reorder->removed;
}

uint64_t gt_reorder_latest(const struct gt_reorder *reorder)
{
	return reorder->latest;
}
