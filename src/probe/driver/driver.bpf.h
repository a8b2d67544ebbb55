/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the sources of GPU drivers (i915, xe, amdgpu) share: the buffers and requests of processes.
 * Include it once, with DRIVER_BUFFER and DRIVER_REQUEST defined: GT_EVENT_* of the source, whose
 * layouts are the same. A buffer or a request belongs to the process that created or submitted it;
 * the driver binds, moves, runs and frees it in kernel threads, too.
 */
#pragma once

#define UNPREEMPTED_PROGRAMS

#include "probe/layer.bpf.h"

#include "probe/driver/driver.h"
#include "probe/drm/types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct drm_gem_object {
	struct drm_device *dev;
	unsigned long size;
};

struct ttm_resource {
	__u32 mem_type;
};

struct ttm_buffer_object {
	struct drm_gem_object base;
	struct ttm_resource *resource;
};

#pragma clang attribute pop

/* A buffer that a traced process, or any if none is selected, created. */
struct driver_buffer {
	__u64 bytes;
	__u32 process, thread;
	__u32 binds, moves, faults;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_MAX_DRIVER_BUFFERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct driver_buffer);
} buffers SEC(".maps");

/* A request that is not done: by the address of the job, or of the fence. */
struct driver_request {
	__u64 submitted, run; /* when; 0: not known, not yet */
	__u32 process, thread;
	__u32 engine_class;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_DRIVER_REQUESTS);
	__type(key, __u64);
	__type(value, struct driver_request);
} requests SEC(".maps");

__u64 allocated; /* bytes of `buffers` */

/* The layouts of GT_EVENT_*_buffer and GT_EVENT_*_request with room for the names. */
union driver_buffer_event {
	struct gt_event_i915_buffer event;
	char room[sizeof(struct gt_event_i915_buffer) + GT_DRM_NAME_SIZE];
};

union driver_request_event {
	struct gt_event_i915_request event;
	char room[sizeof(struct gt_event_i915_request) + 2 * GT_DRM_NAME_SIZE];
};

/*
 * The process of an event: that of the owner, else that of the current thread. False: the event is
 * not shown.
 */
static __always_inline bool find_owner(__u32 process, __u32 owner_thread,
				       struct layer_thread *ret_thread)
{
	struct layer_thread *thread;

	if (process) {
		ret_thread->process = process;
		ret_thread->thread = owner_thread;
		return true;
	}
	thread = traced_thread();
	if (thread) {
		ret_thread->process = thread->process;
		ret_thread->thread = thread->thread;
		return true;
	}
	if (filters_processes())
		COUNT_EVENTS(unattributed);
	return !filters_processes();
}

/* ---- buffers ------------------------------------------------------------------------------ */

/* How often this was done to the buffer before. */
static __always_inline __u32 count_operation(struct driver_buffer *buffer, __u32 operation)
{
	__u32 *counter = operation == GT_DRIVER_BIND    ? &buffer->binds
			 : operation == GT_DRIVER_MOVE  ? &buffer->moves
			 : operation == GT_DRIVER_FAULT ? &buffer->faults
							: NULL;
	__u32 before;

	if (!counter)
		return 0;
	before = *(volatile __u32 *)counter;
	__sync_fetch_and_add(counter, 1);
	return before;
}

static __always_inline void put_buffer(union driver_buffer_event *event, __u32 operation,
				       struct device *device)
{
	__u64 key = event->event.buffer;
	struct driver_buffer *buffer = key ? bpf_map_lookup_elem(&buffers, &key) : NULL;
	struct layer_thread thread = {};

	if (!find_owner(buffer ? buffer->process : 0, buffer ? buffer->thread : 0, &thread))
		return;
	fill_head(&event->event.head, &thread, DRIVER_BUFFER, sizeof(*event));
	event->event.operation = operation;
	event->event.allocated = allocated;
	if (buffer)
		event->event.repeats = count_operation(buffer, operation);
	put_device_name(event->event.names, device);
	put_event(event, sizeof(*event));
}

static __always_inline struct device *device_of(struct drm_gem_object *object)
{
	return BPF_CORE_READ(object, dev, dev);
}

/* Enter a buffer of the current thread's process into the ledger, and show it. */
static __always_inline void create_buffer(union driver_buffer_event *event, struct device *device)
{
	struct layer_thread *thread = traced_thread();
	struct driver_buffer buffer = {.bytes = event->event.bytes};
	const struct driver_buffer *unended;
	__u64 key = event->event.buffer;

	if (!thread)
		return;
	buffer.process = thread->process;
	buffer.thread = thread->thread;
	/* The end of an earlier buffer at this address was missed. */
	unended = bpf_map_lookup_elem(&buffers, &key);
	if (unended)
		__sync_fetch_and_add(&allocated, -unended->bytes);
	if (!put_map_entry(&buffers, &key, &buffer))
		__sync_fetch_and_add(&allocated, buffer.bytes);
	put_buffer(event, GT_DRIVER_CREATE, device);
}

/* Remove a buffer of the ledger, and show its end; those that are older than the session are not
 * in it, and not shown. */
static __always_inline void destroy_buffer(__u64 key, struct device *device)
{
	struct driver_buffer *buffer = bpf_map_lookup_elem(&buffers, &key);
	union driver_buffer_event event = {.room = {}};

	if (!buffer)
		return;
	event.event.buffer = key;
	event.event.bytes = buffer->bytes;
	__sync_fetch_and_add(&allocated, -buffer->bytes);
	put_buffer(&event, GT_DRIVER_DESTROY, device);
	bpf_map_delete_elem(&buffers, &key);
}

/* ---- requests ----------------------------------------------------------------------------- */

/* Show a step of the request with this key; what the event has of it is filled in by the caller. */
static __always_inline void put_request(__u64 key, union driver_request_event *event,
					__u32 operation, struct device *device)
{
	struct driver_request *request = bpf_map_lookup_elem(&requests, &key);
	struct layer_thread thread = {};
	__u64 now = bpf_ktime_get_ns();

	if (operation == GT_DRIVER_SUBMIT) {
		struct driver_request fresh = {.submitted = now,
					       .engine_class = event->event.engine_class};
		struct layer_thread *submitter = traced_thread();

		if (!submitter)
			return;
		fresh.process = submitter->process;
		fresh.thread = submitter->thread;
		add_lru_entry(&requests, &key, &fresh);
		request = NULL;
	}
	if (!find_owner(request ? request->process : 0, request ? request->thread : 0, &thread))
		return;
	if (request && operation == GT_DRIVER_RUN) {
		/* One that is preempted on the hardware is put there again. */
		if (request->run)
			return;
		request->run = now;
	}
	if (request && request->run)
		event->event.delay = request->run - request->submitted;
	if (request && operation == GT_DRIVER_DONE) {
		event->event.engine_class = request->engine_class;
		event->event.ran = now - (request->run ? request->run : request->submitted);
	}
	fill_head(&event->event.head, &thread, DRIVER_REQUEST, sizeof(*event));
	event->event.head.time = now; /* that of `delay` and `ran` */
	event->event.operation = operation;
	put_device_name((char *)event->event.names + GT_DRM_NAME_SIZE, device);
	put_event(event, sizeof(*event));
	if (operation == GT_DRIVER_DONE)
		remove_lru_entry(&requests, &key);
}
