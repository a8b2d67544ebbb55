/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arguments that do not fit into the record of a call: strings, and the arguments of a kernel
 * launch. Each becomes an event of its own, which precedes the call's.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "event/event.h"
#include "probe/api/record.bpf.h"
#include "probe/api/shared.bpf.h"
#include "probe/api/thread.bpf.h"
#include "probe/task.bpf.h"

/* Emit a string argument. False: it cannot be read. */
static __noinline bool put_string(struct call_frame *frame, __u8 slot, __u16 field)
{
	__u64 pointer = words_of(frame)[slot & (GT_PLAN_MAX_SLOTS - 1)];
	struct thread_buffers *buffer = current_buffers();
	struct gt_event_string *event;
	char *text;
	long length;

	if (!buffer)
		return true;
	if (field && bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(pointer + field - 1)))
		return false;
	event = (void *)buffer->string;
	text = (char *)&buffer->string[STRING_HEAD_WORDS];
	length = bpf_probe_read_user_str(text, GT_MAX_STRING, (void *)pointer);
	if (length <= 0 || length > GT_MAX_STRING)
		return false;
	length--;
	*(__u64 *)&text[length & (GT_MAX_STRING - 1)] = 0;
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_string;
	event->head.size = (sizeof(*event) + length + 7) & ~7;
	event->sequence = frame->call.sequence;
	event->slot = slot;
	event->truncated = length == GT_MAX_STRING - 1;
	event->function = frame->call.function;
	if (put_record(event, event->head.size & (2 * GT_MAX_STRING - 1)))
		COUNT(others_lost);
	return true;
}

/*
 * Emit the strings that were not read yet. A page that is not present cannot be read from here; it
 * often is by the time of the return. If not, the reader is woken to read it at once.
 */
static __noinline void put_missing_strings(struct call_frame *frame, const struct gt_plan *plan)
{
	frame->urgent = 0;
	for (int i = 0; i < GT_PLAN_MAX_COPIES; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when != GT_COPY_STRING || frame->call.copied & 1 << i)
			continue;
		if (put_string(frame, plan->copy[i].slot, plan->copy[i].field))
			frame->call.copied |= 1 << i;
		else
			frame->urgent = 1;
	}
}

/*
 * Emit the arguments of a kernel. The array has a pointer to each; their number and sizes are
 * unknown here. A NULL pointer ends it; unreadable arguments are marked.
 */
static __noinline void put_arguments(struct call_frame *frame, __u8 slot)
{
	__u64 array = words_of(frame)[slot & (GT_PLAN_MAX_SLOTS - 1)];
	struct thread_buffers *buffer = current_buffers();
	struct gt_event_arguments *event;
	__u64 *values;

	if (!buffer)
		return;
	event = (void *)buffer->arguments;
	values = &buffer->arguments[ARGUMENTS_HEAD_WORDS];
	event->readable = 0;
	for (int i = 0; i < GT_MAX_ARGUMENTS; i++) {
		__u64 pointer = 0, value = 0; /* on the stack: see read_words() */

		values[i] = 0;
		bpf_probe_read_user(&pointer, sizeof(pointer),
				    (void *)(array + i * sizeof(pointer)));
		if (!pointer)
			break;
		if (!bpf_probe_read_user(&value, sizeof(__u64), (void *)pointer) ||
		    !bpf_probe_read_user(&value, sizeof(__u32), (void *)pointer))
			event->readable |= 1 << i;
		values[i] = value;
	}
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_arguments;
	event->head.size = sizeof(buffer->arguments);
	event->sequence = frame->call.sequence;
	event->function = frame->call.function;
	if (put_record(event, sizeof(buffer->arguments)))
		COUNT(others_lost);
}

static __always_inline void put_argument_events(struct call_frame *frame,
						const struct gt_plan *plan)
{
	put_missing_strings(frame, plan);
	for (int i = 0; i < GT_PLAN_MAX_COPIES && settings.kernel_arguments; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when == GT_COPY_ARGUMENTS)
			put_arguments(frame, plan->copy[i].slot);
	}
}
