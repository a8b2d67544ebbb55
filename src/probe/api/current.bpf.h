/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which device and which context a thread uses, by the effects of successful calls
 * (src/api/effects.def).
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "api/plan.h"
#include "event/event.h"
#include "probe/api/shared.bpf.h"
#include "probe/task.bpf.h"

#define MAX_CONTEXT                                                                                \
	8 /* a power of two: contexts pushed in a thread; the last one is overwritten              \
	   */
#define MAX_DEVICES 4096   /* larger ordinals are invalid */
#define GT_DEVICE_NAME 256 /* bytes of a device's name, with its NUL */
#define DEVICE_HEAD_WORDS (sizeof(struct gt_event_device) / sizeof(__u64))
#define DEVICE_WORDS (DEVICE_HEAD_WORDS + GT_DEVICE_NAME / sizeof(__u64) + 1)

/* A context that is or was current in a thread. */
struct current_context {
	__u64 handle; /* 0: the primary context of `device`, whichever that is */
	__s16 device; /* or GT_DEVICE_UNKNOWN */
};

struct current_state {
	__s16 device;  /* that the runtime uses in the thread, or GT_DEVICE_UNKNOWN */
	__u16 depth;   /* contexts in use */
	__u32 version; /* value of `primaries` when `primary` was found; 0: not yet */
	struct current_context primary; /* of the device; its handle is 0 if that is not known */
	struct current_context contexts[MAX_CONTEXT];
};

/* Key of known contexts: by handle, and of primary contexts by device. */
struct context_key {
	__u32 process;
	__u32 ordinal; /* 1 + the device; 0: by handle */
	__u64 handle;
};

struct context_fact {
	__u64 handle;
	__s16 device;
	__u8 primary;
	__u8 padding[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct context_key);
	__type(value, struct context_fact);
} contexts SEC(".maps");

/* Devices that were reported: process, ordinal and effect. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u8);
} reported_devices SEC(".maps");

/* Changes with each change of a primary context in `contexts`; 0: none is known. */
volatile __u32 primaries;

/* The number of a context: a hash of its handle, an address that is unique in the process. */
static __always_inline __u32 context_number(__u64 handle)
{
	return handle ^ handle >> 32;
}

/* Emit a context unless that was done before. Returns its device, if that is known. */
static __noinline __s16 learn_context(const struct gt_event *head, __u64 handle, __s16 device,
				      bool primary)
{
	struct context_key key = {.process = head->process, .handle = handle};
	struct context_fact fact = {.handle = handle, .device = device, .primary = primary};
	struct context_fact *known = bpf_map_lookup_elem(&contexts, &key);
	struct gt_event_context event = {.handle = handle};

	if (known &&
	    (device == GT_DEVICE_UNKNOWN || (known->device == device && known->primary == primary)))
		return known->device;
	event.head = *head;
	event.head.kind = GT_EVENT_context;
	event.head.size = sizeof(event);
	event.head.device = device;
	event.number = context_number(handle);
	event.flags = primary ? GT_CONTEXT_PRIMARY : 0;
	if (put_record(&event, sizeof(event)))
		COUNT(others_lost);
	else
		cache_entry(&contexts, &key, &fact);
	return device;
}

/* Learn the handle of the primary context of a device. */
static __noinline void learn_primary(const struct gt_event *head, __u64 handle, __s16 device)
{
	struct context_key key = {.process = head->process, .ordinal = device + 1u};
	struct context_fact fact = {.handle = handle, .device = device, .primary = true};
	struct context_fact *known = bpf_map_lookup_elem(&contexts, &key);

	if (!handle || device < 0 || (known && known->handle == handle))
		return;
	learn_context(head, handle, device, true);
	cache_entry(&contexts, &key, &fact);
	__sync_fetch_and_add(&primaries, 1);
}

static __noinline void forget_context(__u32 process, __u64 handle)
{
	struct context_key key = {.process = process, .handle = handle};
	struct context_fact *known = bpf_map_lookup_elem(&contexts, &key);
	struct context_key of_device = {.process = process};

	if (!known)
		return;
	of_device.ordinal = known->device + 1u;
	if (known->primary) {
		bpf_map_delete_elem(&contexts, &of_device);
		__sync_fetch_and_add(&primaries, 1);
	}
	bpf_map_delete_elem(&contexts, &key);
}

static __always_inline struct current_context *innermost(struct current_state *where)
{
	return &where->contexts[(where->depth - 1) & (MAX_CONTEXT - 1)];
}

static __always_inline void push_context(struct current_state *where, __u64 handle, __s16 device)
{
	struct current_context *current;

	if (where->depth < MAX_CONTEXT)
		where->depth++;
	current = innermost(where);
	current->handle = handle;
	current->device = device;
}

static __always_inline void pop_context(struct current_state *where)
{
	if (where->depth)
		where->depth--;
}

/* The innermost context is this one, according to a call; 0: none. */
static __always_inline void set_context(struct current_state *where, __u64 handle, __s16 device)
{
	pop_context(where);
	if (handle || device != GT_DEVICE_UNKNOWN)
		push_context(where, handle, device);
}

/* Forget the primary context of a device: the next one may have another handle. */
static __noinline void reset_primary(struct current_state *where, __u32 process, __s16 device)
{
	struct context_key key = {.process = process, .ordinal = device + 1u};
	struct context_fact *known = bpf_map_lookup_elem(&contexts, &key);
	__u64 handle;

	if (device < 0 || !known)
		return;
	handle = known->handle;
	forget_context(process, handle);
	for (int i = 0; i < MAX_CONTEXT; i++)
		if (where->contexts[i].handle == handle)
			where->contexts[i].handle = 0;
}

/* Applies the effect of a successful call; `value` and `device` are those of its plan. */
static __noinline void learn_current(struct current_state *where, const struct gt_event *head,
				     __u8 effect, __u64 value, __s16 device)
{
	__u64 handle = value;

	if (effect == GT_EFFECT_CONTEXT_CREATE || effect == GT_EFFECT_CONTEXT_GET ||
	    effect == GT_EFFECT_CONTEXT_PRIMARY) {
		if (bpf_probe_read_user(&handle, sizeof(handle), (void *)value))
			return;
	}
	switch (effect) {
	case GT_EFFECT_DEVICE_SET:
		where->device = device;
		set_context(where, 0, device);
		break;
	case GT_EFFECT_CONTEXT_SET:
	case GT_EFFECT_CONTEXT_GET:
		if (handle)
			device = learn_context(head, handle, GT_DEVICE_UNKNOWN, false);
		set_context(where, handle, device);
		break;
	case GT_EFFECT_CONTEXT_PUSH:
		push_context(where, handle, learn_context(head, handle, GT_DEVICE_UNKNOWN, false));
		break;
	case GT_EFFECT_CONTEXT_POP:
		pop_context(where);
		break;
	case GT_EFFECT_CONTEXT_CREATE:
		push_context(where, handle, learn_context(head, handle, device, false));
		break;
	case GT_EFFECT_CONTEXT_DESTROY:
		forget_context(head->process, handle);
		if (where->depth && innermost(where)->handle == handle)
			pop_context(where);
		break;
	case GT_EFFECT_CONTEXT_PRIMARY:
		learn_primary(head, handle, device);
		break;
	case GT_EFFECT_CONTEXT_RESET:
		reset_primary(where, head->process,
			      device == GT_DEVICE_UNKNOWN ? head->device : device);
		break;
	}
}

/* The primary context of a device, found in `contexts` once after each change; 0: not known. */
static __always_inline __u64 primary_context(struct current_state *where, __u32 process,
					     __s16 device)
{
	struct context_key key = {.process = process, .ordinal = device + 1u};
	__u32 version = primaries;

	if (where->version != version || where->primary.device != device) {
		struct context_fact *known = bpf_map_lookup_elem(&contexts, &key);

		where->primary.handle = known ? known->handle : 0;
		where->primary.device = device;
		where->version = version;
	}
	return where->primary.handle;
}

/* Set the device and the context of a call of the thread. */
static __always_inline void put_current(struct current_state *where, struct gt_event_call *call,
					bool runtime)
{
	struct current_context current = {.device = runtime ? where->device : GT_DEVICE_UNKNOWN};

	if (where->depth) {
		current.handle = innermost(where)->handle;
		if (innermost(where)->device != GT_DEVICE_UNKNOWN)
			current.device = innermost(where)->device;
	}
	if (!current.handle && current.device != GT_DEVICE_UNKNOWN && primaries)
		current.handle = primary_context(where, call->head.process, current.device);
	call->head.device = current.device;
	call->context = context_number(current.handle);
}

/*
 * Which device an ordinal is: name and UUID, as returned to the program. `room` takes the
 * event. struct cudaDeviceProp begins with the name, in 256 bytes, and the UUID (driver_types.h,
 * CUDA 10 and later).
 */
static __noinline void learn_device(__u64 *room, const struct gt_event *head, __u8 effect,
				    __u64 value, __s16 device)
{
	struct gt_event_device *event = (void *)room;
	__u64 key = (__u64)head->process << 32 | (__u64)(__u16)device << 8 | effect, length = 0;
	__u64 uuid = effect == GT_EFFECT_DEVICE_PROPERTIES ? value + GT_DEVICE_NAME : value;
	char *name = (char *)(room + DEVICE_HEAD_WORDS);
	__u8 reported = 1;

	if (device < 0 || bpf_map_lookup_elem(&reported_devices, &key))
		return;
	event->head = *head;
	event->head.kind = GT_EVENT_device;
	event->head.device = device;
	event->flags = 0;
	event->reserved = 0;
	event->uuid_first = event->uuid_last = 0;
	if (effect != GT_EFFECT_DEVICE_NAME &&
	    !bpf_probe_read_user(&event->uuid_first, 2 * sizeof(__u64), (void *)uuid))
		event->flags = GT_DEVICE_HAS_UUID;
	if (effect != GT_EFFECT_DEVICE_UUID) {
		long read = bpf_probe_read_user_str(name, GT_DEVICE_NAME, (void *)value);

		if (read > 0 && read <= GT_DEVICE_NAME)
			length = read - 1;
		*(__u64 *)&name[length & (GT_DEVICE_NAME - 1)] = 0;
	}
	event->head.size = (sizeof(*event) + length + 7) & ~7;
	if (put_record(event, event->head.size & (2 * GT_DEVICE_NAME - 1)))
		COUNT(others_lost);
	else
		cache_entry(&reported_devices, &key, &reported);
}
