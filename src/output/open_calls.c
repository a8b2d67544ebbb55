/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/open_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "layers/layers.h"

/* A thread that is in a call. */
struct open_calls_row {
	uint32_t process;
	uint32_t thread;
	unsigned calls;
	unsigned syscalls; /* 0 or 1: shown, and not returned */
};

int gt_open_calls_init(struct gt_open_calls *calls)
{
	calls->by_thread = gt_hash_new();
	return calls->by_thread ? 0 : -ENOMEM;
}

void gt_open_calls_free(struct gt_open_calls *calls)
{
	if (calls->by_thread)
		gt_hash_free_with(calls->by_thread, free);
	calls->by_thread = NULL;
}

static struct open_calls_row *get_row(struct gt_open_calls *calls, const struct gt_event *event)
{
	struct open_calls_row *row = gt_hash_get_u64(calls->by_thread, event->thread);

	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->process = event->process;
	row->thread = event->thread;
	if (!gt_hash_set_u64(calls->by_thread, event->thread, row))
		return row;
	free(row);
	return NULL;
}

static void remove_row(struct gt_open_calls *calls, struct open_calls_row *row)
{
	gt_hash_remove_u64(calls->by_thread, row->thread);
	free(row);
}

static void end_process(struct gt_open_calls *calls, uint32_t process)
{
	size_t cursor = 0;
	void *row;

	while (gt_hash_next(calls->by_thread, &cursor, NULL, NULL, &row))
		if (((struct open_calls_row *)row)->process == process)
			remove_row(calls, row);
}

/* Set the depth after the return of a call. */
static void end_call(struct gt_open_calls *calls, const struct gt_event *event, bool is_syscall)
{
	struct open_calls_row *row = gt_hash_get_u64(calls->by_thread, event->thread);

	if (!row)
		return;
	if (is_syscall)
		row->syscalls = 0;
	else
		row->calls = ((const struct gt_event_call *)event)->depth;
	if (!row->calls && !row->syscalls)
		remove_row(calls, row);
}

static int begin_call(struct gt_open_calls *calls, const struct gt_event *event, bool is_syscall)
{
	struct open_calls_row *row = get_row(calls, event);

	if (!row)
		return -ENOMEM;
	if (is_syscall)
		row->syscalls = 1;
	else
		row->calls = ((const struct gt_event_call *)event)->depth + 1u;
	return 0;
}

int gt_open_calls_take(struct gt_open_calls *calls, const struct gt_event *event)
{
	if (!calls->by_thread)
		return 0;
	switch (event->kind) {
	case GT_EVENT_entry:
	case GT_EVENT_syscall_entry:
		return begin_call(calls, event, event->kind == GT_EVENT_syscall_entry);
	case GT_EVENT_call:
	case GT_EVENT_syscall:
		end_call(calls, event, event->kind == GT_EVENT_syscall);
		return 0;
	case GT_EVENT_exit:
		end_process(calls, event->process);
		return 0;
	default:
		return 0;
	}
}

bool gt_open_calls_in_syscall(const struct gt_open_calls *calls, const struct gt_event *event)
{
	const struct open_calls_row *row =
		calls->by_thread ? gt_hash_get_u64(calls->by_thread, event->thread) : NULL;

	return row && row->syscalls;
}

unsigned gt_open_calls_depth(const struct gt_open_calls *calls, const struct gt_event *event)
{
	const struct open_calls_row *row;

	if (!calls->by_thread || !event->thread || !gt_layer_is_in_thread(event))
		return 0;
	row = gt_hash_get_u64(calls->by_thread, event->thread);
	if (!row)
		return 0;
	/* A system call is in no other one. */
	return row->calls +
	       (event->kind == GT_EVENT_syscall || event->kind == GT_EVENT_syscall_entry
			? 0
			: row->syscalls);
}
