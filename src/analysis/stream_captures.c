/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/stream_captures.h"

#include <errno.h>

#include "base/hash.h"

/* A stream, or an event that was recorded in one. */
struct stream_capture_key {
	uint64_t handle;
	uint32_t process;
	uint32_t thread; /* of its own default stream; else 0 */
	uint64_t is_event;
};

struct gt_stream_captures {
	struct gt_hash
		*members; /* struct stream_capture_key -> number of the capture, as a pointer */
	uint64_t last;
};

struct gt_stream_captures *gt_stream_captures_new(void)
{
	struct gt_stream_captures *captures = calloc(1, sizeof(*captures));

	if (captures)
		captures->members = gt_hash_new();
	if (captures && !captures->members) {
		free(captures);
		return NULL;
	}
	return captures;
}

void gt_stream_captures_free(struct gt_stream_captures *captures)
{
	if (!captures)
		return;
	gt_hash_free(captures->members);
	free(captures);
}

static struct stream_capture_key stream_key(const struct gt_operation *operation)
{
	const struct gt_event *head = &operation->event->head;

	return (struct stream_capture_key){
		.handle = operation->stream,
		.process = head->process,
		.thread = operation->stream == GT_STREAM_PER_THREAD ? head->thread : 0,
	};
}

static struct stream_capture_key event_key(const struct gt_operation *operation)
{
	return (struct stream_capture_key){
		.handle = operation->address,
		.process = operation->event->head.process,
		.is_event = true,
	};
}

static uint64_t find(const struct gt_stream_captures *captures, struct stream_capture_key key)
{
	return (uintptr_t)gt_hash_get(captures->members, &key, sizeof(key));
}

static int set_capture(struct gt_stream_captures *captures, struct stream_capture_key key,
		       uint64_t number)
{
	if (number)
		return gt_hash_set(captures->members, &key, sizeof(key), (void *)(uintptr_t)number);
	gt_hash_remove(captures->members, &key, sizeof(key));
	return 0;
}

/* Errors after which the stream capture continues: 903 unmatched, 908 wrong thread (cudaError_t).
 */
static bool goes_on(const struct gt_operation *operation)
{
	uint32_t result = (uint32_t)operation->event->result;

	return operation->failed && (result == 903 || result == 908);
}

static void end_capture(struct gt_stream_captures *captures, uint64_t number)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(captures->members, &cursor, &key, &length, &value))
		if ((uintptr_t)value == number)
			gt_hash_remove(captures->members, key, length);
}

static int take_wait(struct gt_stream_captures *captures, struct gt_operation *operation)
{
	uint64_t number = find(captures, event_key(operation));

	if (!number)
		return 0;
	operation->capture = number;
	return set_capture(captures, stream_key(operation), number);
}

int gt_stream_captures_take(struct gt_stream_captures *captures, struct gt_operation *operation)
{
	if (operation->kind == GT_OPERATION_CAPTURE_BEGIN && !operation->failed &&
	    operation->has_stream) {
		operation->capture = ++captures->last;
		return set_capture(captures, stream_key(operation), operation->capture);
	}
	if (!gt_hash_count(captures->members))
		return 0;
	if (operation->has_stream)
		operation->capture = find(captures, stream_key(operation));
	if (operation->kind == GT_OPERATION_CAPTURE_END && operation->capture &&
	    !goes_on(operation))
		end_capture(captures, operation->capture);
	if (operation->failed || !operation->has_address)
		return 0;
	if (operation->kind == GT_OPERATION_EVENT_RECORD)
		return set_capture(captures, event_key(operation), operation->capture);
	return operation->kind == GT_OPERATION_EVENT_WAIT ? take_wait(captures, operation) : 0;
}

void gt_stream_captures_end_process(struct gt_stream_captures *captures, uint32_t process)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(captures->members, &cursor, &key, &length, &value))
		if (((const struct stream_capture_key *)key)->process == process)
			gt_hash_remove(captures->members, key, length);
}
