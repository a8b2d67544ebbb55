/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mix.h"
#include "elf/unwind.h"
#include "event/kinds.h"

#define MAX_CALLERS 127

/* The latest stack of a thread. */
struct latest_stack {
	__u64 number;
	__u32 function;
	__u16 sequence;
};

struct gt_callers {
	size_t depth;
	struct gt_space *space;
	struct gt_unwinder *unwinder;
	struct gt_hash *latest;   /* thread -> struct latest_stack */
	struct gt_hash *recorded; /* process and number -> any */
	struct gt_hash *pythons;  /* thread -> struct gt_event_python, of the next `memory` event */
};

struct gt_callers *gt_callers_new(unsigned depth)
{
	gt_auto(callers) struct gt_callers *callers = calloc(1, sizeof(*callers));

	if (!callers)
		return NULL;
	callers->depth = depth < MAX_CALLERS ? depth : MAX_CALLERS;
	callers->space = gt_space_new();
	callers->unwinder = callers->space ? gt_unwinder_new(callers->space) : NULL;
	callers->latest = gt_hash_new();
	callers->recorded = gt_hash_new();
	callers->pythons = gt_hash_new();
	if (!callers->unwinder || !callers->latest || !callers->recorded || !callers->pythons)
		return NULL;
	return gt_take(callers);
}

void gt_callers_free(struct gt_callers *callers)
{
	if (!callers)
		return;
	gt_unwinder_free(callers->unwinder);
	gt_space_free(callers->space);
	gt_hash_free_with(callers->latest, free);
	gt_hash_free(callers->recorded);
	gt_hash_free_with(callers->pythons, free);
	free(callers);
}

int gt_callers_learn(struct gt_callers *callers, const struct gt_event *event)
{
	const struct gt_event_mapping *mapping = (const void *)event;
	size_t length;
	const char *path;
	int error;

	if (event->kind != GT_EVENT_mapping)
		return 0;
	path = gt_event_text(event, &length);
	error = gt_space_map(callers->space, event->process,
			     &(struct gt_space_request){.start = mapping->start,
							.end = mapping->end,
							.offset = mapping->offset,
							.inode = mapping->inode,
							.path = path,
							.length = length});
	return error == -ENOMEM ? error : 0;
}

int gt_callers_take_python(struct gt_callers *callers, const struct gt_event_python *python)
{
	struct gt_event_python *copy = malloc(python->head.size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, python, python->head.size);
	free(gt_hash_remove_u64(callers->pythons, python->head.thread));
	if (!gt_hash_set_u64(callers->pythons, python->head.thread, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

/* The Python frames of a `memory` event, which the caller frees; NULL: none. */
static struct gt_event_python *python_of(struct gt_callers *callers,
					 const struct gt_event_memory *memory)
{
	struct gt_event_python *python = gt_hash_remove_u64(callers->pythons, memory->head.thread);

	/* Of a call whose `memory` event was lost. */
	if (python && python->head.time != memory->head.time) {
		free(python);
		return NULL;
	}
	return python;
}

/* The number of a stack; 0: it has no callers, so there is no `stack` event. */
static __u64 hash_stack(const uint64_t *addresses, size_t count,
			const struct gt_event_python *python)
{
	__u64 hash = 0x9e3779b97f4a7c15u ^ (python ? python->number : 0);

	if (!count && !python)
		return 0;
	for (size_t i = 0; i < count; i++)
		hash = gt_hash_mix(hash, addresses[i]);
	return hash ? hash : 1;
}

static int remember_stack(struct gt_callers *callers, const struct gt_event_memory *memory,
			  __u64 number)
{
	struct latest_stack *latest = gt_hash_get_u64(callers->latest, memory->head.thread);
	int error;

	if (!latest) {
		latest = calloc(1, sizeof(*latest));
		error = latest ? gt_hash_set_u64(callers->latest, memory->head.thread, latest)
			       : -ENOMEM;
		if (error) {
			free(latest);
			return error;
		}
	}
	*latest = (struct latest_stack){number, memory->function, memory->sequence};
	return 0;
}

static struct gt_event_stack *make_stack(const struct gt_event_memory *memory, __u64 number,
					 const uint64_t *addresses,
					 const struct gt_unwound *unwound)
{
	struct gt_event_stack *stack = (void *)gt_event_new(GT_EVENT_stack, (const char *)addresses,
							    unwound->count * sizeof(*addresses));

	if (!stack)
		return NULL;
	stack->head.time = memory->head.time;
	stack->head.process = memory->head.process;
	stack->head.thread = memory->head.thread;
	stack->number = number;
	stack->flags = GT_STACK_UNWOUND;
	if (unwound->end != GT_UNWIND_OUTERMOST)
		stack->flags |= GT_STACK_TRUNCATED;
	return stack;
}

int gt_callers_unwind(struct gt_callers *callers, const struct gt_event_memory *memory,
		      struct gt_event_python **ret_python, struct gt_event_stack **ret_stack)
{
	gt_autofree struct gt_event_python *python = python_of(callers, memory);
	struct gt_unwind_stack copy = {
		.start = memory->stack_pointer,
		.data = memory->bytes,
		.size = gt_event_tail_size(&memory->head),
	};
	struct gt_unwind_registers registers;
	uint64_t addresses[MAX_CALLERS];
	struct gt_unwound unwound;
	__u64 key[2];

	*ret_stack = NULL;
	*ret_python = NULL;
	gt_unwind_registers_set(&registers, memory->pc, memory->stack_pointer,
				memory->frame_pointer, memory->link);
	registers.is_entry = true;
	gt_unwind(callers->unwinder, memory->head.process, &registers, &copy, addresses,
		  callers->depth, &unwound);
	key[0] = memory->head.process;
	key[1] = hash_stack(addresses, unwound.count, python);
	if (remember_stack(callers, memory, key[1]))
		return -ENOMEM;
	if (!key[1] || gt_hash_get(callers->recorded, key, sizeof(key)))
		return 0;
	*ret_stack = make_stack(memory, key[1], addresses, &unwound);
	if (!*ret_stack)
		return -ENOMEM;
	if (python)
		python->number = key[1];
	*ret_python = gt_take(python);
	/* A stack that cannot be noted as recorded is recorded once more. */
	gt_hash_set(callers->recorded, key, sizeof(key), callers);
	return 0;
}

__u64 gt_callers_of(struct gt_callers *callers, const struct gt_event_call *call)
{
	const struct latest_stack *latest = gt_hash_get_u64(callers->latest, call->head.thread);

	if (!latest || latest->function != call->function || latest->sequence != call->sequence)
		return 0;
	return latest->number;
}
