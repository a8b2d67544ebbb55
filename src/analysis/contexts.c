/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/contexts.h"

#include <errno.h>

#include "base/hash.h"

#define DEEPEST 16 /* contexts pushed in a thread; what is pushed beyond replaces the last */

struct context_thread {
	uint32_t process;
	unsigned depth;
	uint64_t stack[DEEPEST];
};

/* A process and a handle. */
struct primary_context {
	uint64_t process, handle;
};

struct gt_contexts {
	struct gt_hash *threads;   /* thread id -> struct context_thread */
	struct gt_hash *primaries; /* struct primary_context -> any */
	struct gt_hash *retained;  /* process and device -> how often, as a pointer */
};

struct gt_contexts *gt_contexts_new(void)
{
	struct gt_contexts *contexts = calloc(1, sizeof(*contexts));

	if (!contexts)
		return NULL;
	contexts->threads = gt_hash_new();
	contexts->primaries = gt_hash_new();
	contexts->retained = gt_hash_new();
	if (contexts->threads && contexts->primaries && contexts->retained)
		return contexts;
	gt_contexts_free(contexts);
	return NULL;
}

void gt_contexts_free(struct gt_contexts *contexts)
{
	if (!contexts)
		return;
	if (contexts->threads)
		gt_hash_free_with(contexts->threads, free);
	gt_hash_free(contexts->primaries);
	gt_hash_free(contexts->retained);
	free(contexts);
}

static struct context_thread *thread_of(struct gt_contexts *contexts, const struct gt_event *event)
{
	struct context_thread *thread = gt_hash_get_u64(contexts->threads, event->thread);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread || gt_hash_set_u64(contexts->threads, event->thread, thread)) {
		free(thread);
		return NULL;
	}
	thread->process = event->process;
	return thread;
}

static void push_context(struct context_thread *thread, uint64_t handle)
{
	if (thread->depth < DEEPEST)
		thread->depth++;
	thread->stack[thread->depth - 1] = handle;
}

static void drop_context(struct context_thread *thread)
{
	if (thread->depth)
		thread->depth--;
}

static uint64_t device_key(const struct gt_operation *operation)
{
	return (uint64_t)operation->event->head.process << 32 | (uint32_t)operation->other;
}

static uintptr_t times_retained(const struct gt_contexts *contexts,
				const struct gt_operation *operation)
{
	return (uintptr_t)gt_hash_get_u64(contexts->retained, device_key(operation));
}

bool gt_contexts_is_last_release(const struct gt_contexts *contexts,
				 const struct gt_operation *operation)
{
	return operation->has_other && times_retained(contexts, operation) == 1;
}

static int take_primary(struct gt_contexts *contexts, const struct gt_operation *operation)
{
	struct primary_context primary = {operation->event->head.process, operation->address};
	uintptr_t times = times_retained(contexts, operation);

	if (operation->kind == GT_OPERATION_CONTEXT_PRIMARY)
		times++;
	else if (times)
		times--;
	if (!times)
		gt_hash_remove_u64(contexts->retained, device_key(operation));
	else if (gt_hash_set_u64(contexts->retained, device_key(operation), (void *)times))
		return -ENOMEM;
	return operation->has_address
		       ? gt_hash_set(contexts->primaries, &primary, sizeof(primary), contexts)
		       : 0;
}

int gt_contexts_take(struct gt_contexts *contexts, const struct gt_operation *operation)
{
	struct context_thread *thread;

	if (operation->failed || operation->kind < GT_OPERATION_CONTEXT_PRIMARY ||
	    operation->kind > GT_OPERATION_CONTEXT_POP)
		return 0;
	if (operation->kind <= GT_OPERATION_CONTEXT_RELEASE)
		return take_primary(contexts, operation);
	thread = thread_of(contexts, &operation->event->head);
	if (!thread)
		return -ENOMEM;
	switch (operation->kind) {
	case GT_OPERATION_CONTEXT_SET:
		drop_context(thread);
		push_context(thread, operation->address);
		break;
	case GT_OPERATION_CONTEXT_CREATE:
	case GT_OPERATION_CONTEXT_PUSH:
		push_context(thread, operation->address);
		break;
	case GT_OPERATION_CONTEXT_DESTROY: /* one that is current is popped, too */
		if (thread->depth && thread->stack[thread->depth - 1] == operation->address)
			drop_context(thread);
		break;
	default:
		drop_context(thread);
	}
	return 0;
}

uint64_t gt_contexts_number(const struct gt_contexts *contexts, uint32_t process, uint64_t handle)
{
	struct primary_context primary = {process, handle};

	return gt_hash_get(contexts->primaries, &primary, sizeof(primary)) ? 0 : handle;
}

uint64_t gt_contexts_current(const struct gt_contexts *contexts, const struct gt_event *event)
{
	const struct context_thread *thread = gt_hash_get_u64(contexts->threads, event->thread);

	if (!thread || !thread->depth || thread->process != event->process)
		return 0;
	return gt_contexts_number(contexts, event->process, thread->stack[thread->depth - 1]);
}

void gt_contexts_end_process(struct gt_contexts *contexts, uint32_t process)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(contexts->threads, &cursor, &key, &length, &value)) {
		if (((struct context_thread *)value)->process != process)
			continue;
		gt_hash_remove(contexts->threads, key, length);
		free(value);
	}
	cursor = 0;
	while (gt_hash_next(contexts->primaries, &cursor, &key, &length, &value))
		if (((const struct primary_context *)key)->process == process)
			gt_hash_remove(contexts->primaries, key, length);
	cursor = 0;
	while (gt_hash_next(contexts->retained, &cursor, &key, &length, &value))
		if (*(const uint64_t *)key >> 32 == process)
			gt_hash_remove(contexts->retained, key, length);
}
