/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which device and which context a thread uses, by the effects of successful calls
 * (src/api/effects.def). The same rules as in the BPF programs: src/probe/api/current.bpf.h.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/calls/calls.h"

enum {
	CONTEXTS = 1024,    /* of the process that are known at a time */
	DEVICES = 64,       /* ordinals whose primary contexts and names are known */
	MAX_DEVICES = 4096, /* larger ordinals are invalid */
	DEVICE_NAME = 256,  /* bytes of a device's name, with its NUL */
};

struct call_context_fact {
	uint64_t handle;
	int16_t device;
	bool is_primary;
};

/* Of the process. `primaries` are read without the lock. */
static struct {
	atomic_flag lock;
	struct call_context_fact contexts[CONTEXTS];
	uint32_t next; /* to be replaced */
	_Atomic uint64_t primaries[DEVICES];
	_Atomic uint32_t reported[DEVICES]; /* by effect: device events that were written */
} known = {.lock = ATOMIC_FLAG_INIT};

static void lock_contexts(void)
{
	while (atomic_flag_test_and_set_explicit(&known.lock, memory_order_acquire))
		sched_yield();
}

static void unlock_contexts(void)
{
	atomic_flag_clear_explicit(&known.lock, memory_order_release);
}

void gt_call_current_forked(void)
{
	memset(&known, 0, sizeof(known));
	atomic_flag_clear(&known.lock);
}

static uint32_t context_number(uint64_t handle)
{
	return (uint32_t)(handle ^ handle >> 32);
}

static struct call_context_fact *find_context(uint64_t handle)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (known.contexts[i].handle == handle)
			return &known.contexts[i];
	return NULL;
}

static void emit_context(const struct gt_event *head, const struct call_context_fact *context)
{
	struct gt_event_context event = {
		.head = *head,
		.handle = context->handle,
		.number = context_number(context->handle),
		.flags = context->is_primary ? GT_CONTEXT_PRIMARY : 0,
	};

	event.head.kind = GT_EVENT_context;
	event.head.size = sizeof(event);
	event.head.device = context->device;
	gt_call_put(&event.head);
}

/* Emit a context unless that was done before. Return its device, if that is known. */
static int16_t learn_context(const struct gt_event *head, uint64_t handle, int16_t device,
			     bool is_primary)
{
	struct call_context_fact fact = {handle, device, is_primary}, *context;

	if (!handle)
		return device;
	lock_contexts();
	context = find_context(handle);
	if (context && (device == GT_DEVICE_UNKNOWN ||
			(context->device == device && context->is_primary == is_primary))) {
		device = context->device;
		unlock_contexts();
		return device;
	}
	if (!context)
		context = &known.contexts[known.next++ % CONTEXTS];
	*context = fact;
	unlock_contexts();
	emit_context(head, &fact);
	return device;
}

static bool has_primary(int16_t device)
{
	return device >= 0 && device < DEVICES;
}

static void learn_primary(const struct gt_event *head, uint64_t handle, int16_t device)
{
	if (!handle || !has_primary(device) || atomic_load(&known.primaries[device]) == handle)
		return;
	learn_context(head, handle, device, true);
	atomic_store(&known.primaries[device], handle);
}

static void forget_context(uint64_t handle)
{
	struct call_context_fact *context;

	lock_contexts();
	context = handle ? find_context(handle) : NULL;
	if (context && context->is_primary && has_primary(context->device))
		atomic_store(&known.primaries[context->device], 0);
	if (context)
		*context = (struct call_context_fact){0};
	unlock_contexts();
}

static struct gt_call_context *innermost(struct gt_call_current *where)
{
	return &where->contexts[where->depth - 1];
}

static void push_context(struct gt_call_current *where, uint64_t handle, int16_t device)
{
	if (where->depth < GT_CALL_CONTEXTS)
		where->depth++;
	*innermost(where) = (struct gt_call_context){handle, device};
}

static void pop_context(struct gt_call_current *where)
{
	if (where->depth)
		where->depth--;
}

/* The innermost context is this one, according to a call; 0: none. */
static void set_context(struct gt_call_current *where, uint64_t handle, int16_t device)
{
	pop_context(where);
	if (handle || device != GT_DEVICE_UNKNOWN)
		push_context(where, handle, device);
}

/* Forget the primary context of a device: the next one may have another handle. */
static void reset_primary(struct gt_call_current *where, int16_t device)
{
	uint64_t handle = has_primary(device) ? atomic_load(&known.primaries[device]) : 0;

	if (!handle)
		return;
	forget_context(handle);
	for (int i = 0; i < GT_CALL_CONTEXTS; i++)
		if (where->contexts[i].handle == handle)
			where->contexts[i].handle = 0;
}

/* `value` and `device` are those of the call's plan. */
static void learn_current(struct gt_call_current *where, const struct gt_event *head,
			  uint8_t effect, uint64_t value, int16_t device)
{
	uint64_t handle = value;

	if (effect == GT_EFFECT_CONTEXT_CREATE || effect == GT_EFFECT_CONTEXT_GET ||
	    effect == GT_EFFECT_CONTEXT_PRIMARY) {
		if (!value)
			return;
		/* The successful call has written it. */
		memcpy(&handle, (const void *)(uintptr_t)value, sizeof(handle));
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
		forget_context(handle);
		if (where->depth && innermost(where)->handle == handle)
			pop_context(where);
		break;
	case GT_EFFECT_CONTEXT_PRIMARY:
		learn_primary(head, handle, device);
		break;
	case GT_EFFECT_CONTEXT_RESET:
		reset_primary(where, device == GT_DEVICE_UNKNOWN ? head->device : device);
		break;
	default:
		break;
	}
}

/*
 * Emit which device an ordinal is: name and UUID, as returned to the program. struct cudaDeviceProp
 * begins with the name, in 256 bytes, and the UUID (driver_types.h, CUDA 10 and later).
 */
static void learn_device(const struct gt_event *head, uint8_t effect, uint64_t value,
			 int16_t device)
{
	union {
		struct gt_event_device event;
		char bytes[sizeof(struct gt_event_device) + DEVICE_NAME + sizeof(uint64_t)];
	} room = {.event = {.head = *head}};
	uint64_t uuid = effect == GT_EFFECT_DEVICE_PROPERTIES ? value + DEVICE_NAME : value;
	size_t length = 0;

	if (device < 0 || (device < DEVICES &&
			   atomic_fetch_or(&known.reported[device], 1u << effect) & 1u << effect))
		return;
	if (effect != GT_EFFECT_DEVICE_NAME &&
	    gt_call_read(&room.event.uuid_first, 2 * sizeof(uint64_t), uuid) ==
		    2 * sizeof(uint64_t))
		room.event.flags = GT_DEVICE_HAS_UUID;
	if (effect != GT_EFFECT_DEVICE_UUID) {
		size_t size = gt_call_read(room.event.name, DEVICE_NAME, value);

		length = strnlen(room.event.name, size);
		memset(room.event.name + length, 0, sizeof(room) - sizeof(room.event) - length);
	}
	room.event.head.kind = GT_EVENT_device;
	room.event.head.device = device;
	room.event.head.size = (uint16_t)((sizeof(room.event) + length + 7) & ~7ull);
	gt_call_put(&room.event.head);
}

void gt_call_apply_effect(struct gt_call_thread *thread, struct gt_call_frame *frame)
{
	const struct gt_plan *plan = frame->plan;
	const uint64_t *words = frame->record + GT_CALL_HEAD_WORDS;
	uint64_t value = words[(plan->effect_value - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	uint64_t ordinal = words[(plan->effect_device - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	int16_t device = GT_DEVICE_UNKNOWN;

	if (plan->effect_device && (uint32_t)ordinal < MAX_DEVICES)
		device = (int16_t)ordinal;
	if (plan->effect >= GT_EFFECT_DEVICE_UUID)
		learn_device(&frame->call.head, plan->effect, value, device);
	else
		learn_current(&thread->where, &frame->call.head, plan->effect, value, device);
}

void gt_call_put_current(const struct gt_call_thread *thread, struct gt_event_call *call,
			 bool is_runtime)
{
	const struct gt_call_current *where = &thread->where;
	struct gt_call_context current = {
		.device = is_runtime ? where->device : GT_DEVICE_UNKNOWN,
	};

	if (where->depth) {
		const struct gt_call_context *top = &where->contexts[where->depth - 1];

		current.handle = top->handle;
		if (top->device != GT_DEVICE_UNKNOWN)
			current.device = top->device;
	}
	if (!current.handle && has_primary(current.device))
		current.handle = atomic_load_explicit(&known.primaries[current.device],
						      memory_order_relaxed);
	call->head.device = current.device;
	call->context = context_number(current.handle);
}
