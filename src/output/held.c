/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HELD 1024
#define IS_SYSCALL (1ULL << 63) /* in a key; ids of system calls have 52 bits */

void gt_held_free(struct gt_held_calls *held)
{
	gt_vec_each (call, &held->calls)
		free(call->entry);
	gt_vec_free(&held->calls);
}

/* What entry and return of a thread's call have in common. */
static uint64_t key_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_syscall || event->kind == GT_EVENT_syscall_entry)
		return ((const struct gt_event_syscall *)event)->call | IS_SYSCALL;
	return ((const struct gt_event_call *)event)->sequence;
}

void gt_held_release(struct gt_held_calls *held, uint64_t time, gt_held_put put, void *context)
{
	size_t count = 0;

	while (count < held->calls.count && held->calls.items[count].start < time) {
		put(context, held->calls.items[count].entry);
		free(held->calls.items[count++].entry);
	}
	held->calls.count -= count;
	if (count)
		memmove(held->calls.items, held->calls.items + count,
			held->calls.count * sizeof(*held->calls.items));
}

int gt_held_add(struct gt_held_calls *held, const struct gt_event *entry, gt_held_put put,
		void *context)
{
	struct gt_held_call call = {
		.start = entry->time,
		.key = key_of(entry),
		.thread = entry->thread,
	};
	size_t at;

	if (held->calls.count >= MAX_HELD)
		gt_held_release(held, held->calls.items[MAX_HELD / 2].start, put, context);
	call.entry = malloc(entry->size);
	if (!call.entry)
		return -ENOMEM;
	memcpy(call.entry, entry, entry->size);
	if (gt_vec_push(&held->calls, call)) {
		free(call.entry);
		return -ENOMEM;
	}
	/* Threads on different CPUs can put their records into the ring in another order. */
	for (at = held->calls.count - 1; at && held->calls.items[at - 1].start > call.start; at--)
		held->calls.items[at] = held->calls.items[at - 1];
	held->calls.items[at] = call;
	return 0;
}

bool gt_held_remove(struct gt_held_calls *held, const struct gt_event *event)
{
	uint64_t key = key_of(event);

	for (size_t i = held->calls.count; i-- > 0;) {
		struct gt_held_call *call = &held->calls.items[i];

		if (call->thread != event->thread || call->key != key)
			continue;
		free(call->entry);
		held->calls.count--;
		memmove(call, call + 1, (held->calls.count - i) * sizeof(*call));
		return true;
	}
	return false;
}
