/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/keep.h"

#include <string.h>

#include "base/hash.h"
#include "event/kinds.h"
#include "names/kept.h"

struct gt_keep {
	struct gt_hash *addresses; /* {process, address} -> any */
	struct gt_hash *kernels;   /* name -> any */
	struct gt_hash *handles;   /* {process, handle} -> any */
};

struct gt_keep *gt_keep_new(void)
{
	gt_auto(keep) struct gt_keep *keep = calloc(1, sizeof(*keep));

	if (!keep)
		return NULL;
	keep->addresses = gt_hash_new();
	keep->kernels = gt_hash_new();
	keep->handles = gt_hash_new();
	return keep->addresses && keep->kernels && keep->handles ? gt_take(keep) : NULL;
}

void gt_keep_free(struct gt_keep *keep)
{
	if (!keep)
		return;
	gt_hash_free(keep->addresses);
	gt_hash_free(keep->kernels);
	gt_hash_free(keep->handles);
	free(keep);
}

/* Whether it is the first time that a key is seen. Without memory each time is. */
static bool is_first(struct gt_hash *seen, const void *key, size_t length)
{
	if (gt_hash_get(seen, key, length))
		return false;
	gt_hash_set(seen, key, length, seen);
	return true;
}

static void keep_stack(struct gt_keep *keep, const struct gt_names *names,
		       const struct gt_event_stack *stack, struct gt_event_queue *queue)
{
	size_t count = gt_event_tail_size(&stack->head) / sizeof(stack->addresses[0]);

	for (size_t i = 0; i < count; i++) {
		const __u64 key[] = {stack->head.process, stack->addresses[i]};
		struct gt_location location;
		struct gt_event *event;

		if (!is_first(keep->addresses, key, sizeof(key)))
			continue;
		gt_names_location(names, stack->head.process, stack->addresses[i], true, &location);
		if (!location.path)
			continue;
		event = gt_kept_location_event(stack->head.process, stack->addresses[i], &location);
		if (event)
			event->time = stack->head.time;
		gt_event_queue_push(queue, event);
	}
}

/* The name of a handle may have come from a symbol. */
static void keep_handle(struct gt_keep *keep, uint64_t handle, const char *kernel,
			const struct gt_event *call, struct gt_event_queue *queue)
{
	const __u64 key[] = {call->process, handle};
	struct gt_event_kernel *event;

	if (!is_first(keep->handles, key, sizeof(key)))
		return;
	event = (void *)gt_event_new(GT_EVENT_kernel, kernel, strlen(kernel));
	if (event) {
		event->head.process = call->process;
		event->head.time = call->time;
		event->handle = handle;
	}
	gt_event_queue_push(queue, event ? &event->head : NULL);
}

static void keep_kernel(struct gt_keep *keep, const struct gt_names *names,
			const struct gt_event_call *call, struct gt_event_queue *queue)
{
	const struct gt_kernel *resources;
	const char *kernel;
	struct gt_call decoded;
	struct gt_event *event;
	uint64_t handle;

	gt_names_decode(names, call, &decoded);
	if (!decoded.function || !gt_call_kernel(&decoded, &handle))
		return;
	kernel = gt_names_kernel(names, call->head.process, handle);
	if (!kernel)
		return;
	keep_handle(keep, handle, kernel, &call->head, queue);
	if (!is_first(keep->kernels, kernel, strlen(kernel)))
		return;
	resources = gt_names_parameters(names, kernel);
	if (!resources)
		return;
	event = gt_kept_resources_event(resources);
	if (event) {
		event->process = call->head.process;
		event->time = call->head.time;
	}
	gt_event_queue_push(queue, event);
}

void gt_keep_take(struct gt_keep *keep, const struct gt_names *names, const struct gt_event *event,
		  struct gt_event_queue *queue)
{
	if (event->kind == GT_EVENT_stack)
		keep_stack(keep, names, (const void *)event, queue);
	else if (event->kind == GT_EVENT_call)
		keep_kernel(keep, names, (const void *)event, queue);
}
