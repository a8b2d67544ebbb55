/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of what the arguments of a call point to, in its record or in events of their own. */
#include <string.h>

#include "agent/calls/calls.h"

enum {
	MAX_STRING = 2048,  /* recorded bytes of a string */
	MAX_ARGUMENTS = 16, /* recorded arguments of a kernel */
	READ_DIRECTLY = 64, /* bytes; larger structures may be shorter in older versions */
};

/* Copy memory; what a successful call has read or written is there. */
static bool copy_memory(void *to, uint64_t from, size_t size, bool is_there)
{
	if (is_there && size <= READ_DIRECTLY) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		return true;
	}
	return gt_call_read(to, size, from) == size;
}

/* The bytes to copy: of an array, those of its elements, which may be fewer than it has room for.
 */
static size_t size_of(const struct gt_plan_copy *copy, const uint64_t *words)
{
	uint64_t size = copy->bytes;

	if (copy->count) {
		uint64_t count = (uint32_t)words[(copy->count - 1u) & (GT_PLAN_MAX_SLOTS - 1)];

		if (count * copy->element < size)
			size = count * copy->element;
	}
	return size;
}

void gt_call_copy(struct gt_call_frame *frame, enum gt_plan_when when, bool is_there)
{
	const struct gt_plan *plan = frame->plan;
	uint64_t *words = gt_call_words(frame);

	for (int i = 0; i < plan->copies; i++) {
		const struct gt_plan_copy *copy = &plan->copy[i];
		uint64_t from = words[copy->slot & (GT_PLAN_MAX_SLOTS - 1)];
		size_t count = (copy->bytes + 7u) / 8;

		if (copy->when != when || !from || frame->words + count > GT_CALL_WORDS)
			continue;
		/* The rest of the last word, or of an array. */
		memset(&words[frame->words], 0, count * sizeof(*words));
		if (!copy_memory(&words[frame->words], from, size_of(copy, words), is_there))
			continue;
		frame->words = (uint16_t)(frame->words + count);
		frame->call.copied |= (uint8_t)(1 << i);
	}
}

/* The address of a string, which a structure may have; 0: there is none. */
static uint64_t address_of_string(const struct gt_call_frame *frame,
				  const struct gt_plan_copy *copy, bool is_there)
{
	uint64_t from = frame->record[GT_CALL_HEAD_WORDS + (copy->slot & (GT_PLAN_MAX_SLOTS - 1))];

	if (!copy->field || !from)
		return from;
	return copy_memory(&from, from + copy->field - 1, sizeof(from), is_there) ? from : 0;
}

/* Emit a string argument. It precedes the call, and has the time of its entry. */
static void put_string(struct gt_call_frame *frame, const struct gt_plan_copy *copy, bool is_there)
{
	union {
		struct gt_event_string event;
		char bytes[sizeof(struct gt_event_string) + MAX_STRING + sizeof(uint64_t)];
	} room;
	uint64_t from = address_of_string(frame, copy, is_there);
	char *text = room.event.text;
	size_t size = MAX_STRING - 1, length;

	if (!from)
		return;
	if (is_there)
		length = strnlen((const char *)(uintptr_t)from, size);
	else
		length = size = gt_call_read(text, size, from);
	if (!size)
		return;
	if (is_there)
		memcpy(text, (const char *)(uintptr_t)from, length);
	else
		length = strnlen(text, size);
	memset(text + length, 0, sizeof(uint64_t));
	room.event.head = frame->call.head;
	room.event.head.kind = GT_EVENT_string;
	room.event.head.size = (uint16_t)((sizeof(room.event) + length + 7) & ~7ull);
	room.event.sequence = frame->call.sequence;
	room.event.slot = copy->slot;
	room.event.truncated = length == MAX_STRING - 1;
	room.event.function = frame->call.function;
	gt_call_put(&room.event.head);
}

/*
 * Emit the arguments of a kernel. The array has a pointer to each; their number and sizes are
 * unknown here, so that nothing is read directly. A NULL pointer ends it.
 */
static void put_arguments(struct gt_call_frame *frame, uint8_t slot)
{
	union {
		struct gt_event_arguments event;
		uint64_t
			words[sizeof(struct gt_event_arguments) / sizeof(uint64_t) + MAX_ARGUMENTS];
	} room = {0};
	uint64_t array = gt_call_words(frame)[slot & (GT_PLAN_MAX_SLOTS - 1)];
	uint64_t *values = (uint64_t *)room.event.values;

	for (int i = 0; i < MAX_ARGUMENTS; i++) {
		uint64_t pointer = 0;

		gt_call_read(&pointer, sizeof(pointer), array + (uint64_t)i * sizeof(pointer));
		if (!pointer)
			break;
		if (gt_call_read(&values[i], sizeof(uint64_t), pointer) >= sizeof(uint32_t))
			room.event.readable |= (uint16_t)(1 << i);
	}
	room.event.head = frame->call.head;
	room.event.head.kind = GT_EVENT_arguments;
	room.event.head.size = sizeof(room);
	room.event.sequence = frame->call.sequence;
	room.event.function = frame->call.function;
	gt_call_put(&room.event.head);
}

void gt_call_put_arguments(struct gt_call_frame *frame)
{
	const struct gt_plan *plan = frame->plan;

	for (int i = 0; i < plan->copies; i++)
		if (plan->copy[i].when == GT_COPY_ARGUMENTS)
			put_arguments(frame, plan->copy[i].slot);
}

void gt_call_put_strings(struct gt_call_frame *frame, bool succeeded)
{
	const struct gt_plan *plan = frame->plan;

	for (int i = 0; i < plan->copies; i++) {
		if (plan->copy[i].when == GT_COPY_STRING && !(frame->call.copied & 1 << i)) {
			put_string(frame, &plan->copy[i], succeeded);
			frame->call.copied |= (uint8_t)(1 << i);
		}
	}
}
