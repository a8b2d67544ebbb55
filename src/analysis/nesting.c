/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/nesting.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define MAX_HELD 1024 /* calls of one thread: more are passed on as they come */

struct nesting_thread {
	uint32_t process;
	GT_VEC(struct gt_event_call *) held;
};

struct gt_nesting {
	struct gt_hash
		*threads; /* those that have held calls: thread id -> struct nesting_thread */
};

struct gt_nesting *gt_nesting_new(void)
{
	struct gt_nesting *nesting = calloc(1, sizeof(*nesting));

	if (nesting)
		nesting->threads = gt_hash_new();
	if (nesting && !nesting->threads) {
		free(nesting);
		return NULL;
	}
	return nesting;
}

static void free_thread(void *opaque)
{
	struct nesting_thread *thread = opaque;

	gt_vec_each (call, &thread->held)
		free(*call);
	gt_vec_free(&thread->held);
	free(thread);
}

void gt_nesting_free(struct gt_nesting *nesting)
{
	if (!nesting)
		return;
	gt_hash_free_with(nesting->threads, free_thread);
	free(nesting);
}

static struct nesting_thread *thread_of(struct gt_nesting *nesting, const struct gt_event *event)
{
	struct nesting_thread *thread = gt_hash_get_u64(nesting->threads, event->thread);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread || gt_hash_set_u64(nesting->threads, event->thread, thread)) {
		free(thread);
		return NULL;
	}
	thread->process = event->process;
	return thread;
}

static int hold_call(struct nesting_thread *thread, const struct gt_event_call *call)
{
	struct gt_event_call *copy = malloc(call->head.size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, call, call->head.size);
	if (gt_vec_push(&thread->held, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static bool call_failed(const struct gt_api_function *api, const struct gt_event_call *call)
{
	return api && gt_api_failed(api, call->result);
}

static bool is_part(const struct gt_names *names, const struct gt_event_call *inner,
		    const struct gt_event_call *outer)
{
	const struct gt_api_function *a = gt_names_api(names, inner->function);
	const struct gt_api_function *b = gt_names_api(names, outer->function);

	if (outer->state & GT_CALL_UNFINISHED)
		return false;
	return (a && b && a->category == b->category) ||
	       (call_failed(a, inner) && call_failed(b, outer));
}

static bool encloses_call(const struct gt_event_call *outer, const struct gt_event_call *inner)
{
	return outer->depth < inner->depth &&
	       outer->head.time - outer->duration <= inner->head.time - inner->duration;
}

/* Passes on what is held of a thread. */
static int release_held(struct nesting_thread *thread, const struct gt_names *names,
			gt_nesting_sink sink, void *context)
{
	int error = 0;

	gt_vec_each (call, &thread->held) {
		if (!error)
			error = sink(context, names, *call);
		free(*call);
	}
	thread->held.count = 0;
	return error;
}

static int release_all_held(struct gt_nesting *nesting, const struct gt_names *names,
			    const uint32_t *process, gt_nesting_sink sink, void *context)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;
	int error = 0;

	while (gt_hash_next(nesting->threads, &cursor, &key, &length, &value)) {
		struct nesting_thread *thread = value;
		int result;

		if (process && thread->process != *process)
			continue;
		result = release_held(thread, names, sink, context);
		error = error ? error : result;
		gt_hash_remove(nesting->threads, key, length);
		free_thread(thread);
	}
	return error;
}

/* An outer call returned: what is part of it is gone. */
static void drop_parts(struct nesting_thread *thread, const struct gt_names *names,
		       const struct gt_event_call *outer)
{
	size_t kept = 0;

	gt_vec_each (call, &thread->held) {
		if (encloses_call(outer, *call) && is_part(names, *call, outer))
			free(*call);
		else
			thread->held.items[kept++] = *call;
	}
	thread->held.count = kept;
}

static int take_call(struct gt_nesting *nesting, const struct gt_names *names,
		     const struct gt_event_call *call, gt_nesting_sink sink, void *context)
{
	struct nesting_thread *thread = gt_hash_get_u64(nesting->threads, call->head.thread);
	int error = 0;

	if (thread)
		drop_parts(thread, names, call);
	if (call->depth) {
		thread = thread_of(nesting, &call->head);
		if (!thread)
			return -ENOMEM;
		if (thread->held.count < MAX_HELD)
			return hold_call(thread, call);
	}
	if (thread)
		error = release_held(thread, names, sink, context);
	return error ? error : sink(context, names, call);
}

int gt_nesting_take(struct gt_nesting *nesting, const struct gt_names *names,
		    const struct gt_event *event, gt_nesting_sink sink, void *context)
{
	switch (event->kind) {
	case GT_EVENT_call:
		return take_call(nesting, names, (const void *)event, sink, context);
	case GT_EVENT_exit:
		return release_all_held(nesting, names, &event->process, sink, context);
	case GT_EVENT_account:
		return release_all_held(nesting, names, NULL, sink, context);
	default:
		return 0;
	}
}
