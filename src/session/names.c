/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/names.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "event/kinds.h"

struct name {
	const struct gt_api_function *api; /* of functions */
	__u32 parent;                      /* of processes */
	char text[];
};

/* A string that a thread's next call was given. */
struct given {
	__u32 function;
	__u16 sequence;
	char text[];
};

/* What the kernel of a thread's latest launch was given. */
struct arguments {
	__u32 function;
	__u16 sequence;
	__u16 readable;
	size_t count;
	__u64 values[];
};

struct stack {
	size_t count;
	__u64 addresses[];
};

/* Keys of what is known by process and number. */
struct key {
	__u64 process;
	__u64 number;
};

#define MOST_ANCESTORS 16 /* that are asked for what a process was born with */

struct gt_names {
	struct gt_map *processes, *functions, *libraries; /* number -> struct name */
	struct gt_map *kernels;                           /* struct key -> struct name */
	struct gt_map *stacks;                            /* struct key -> struct stack */
	struct gt_map *given;                             /* thread -> struct given */
	struct gt_map *arguments;                         /* thread -> struct arguments */
	__u64 start;
	__s64 wall; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	bool has_wall, has_start, has_account;
	struct gt_event_account account;
};

struct gt_names *gt_names_new(void)
{
	struct gt_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->processes = gt_map_new();
	names->functions = gt_map_new();
	names->libraries = gt_map_new();
	names->kernels = gt_map_new();
	names->stacks = gt_map_new();
	names->given = gt_map_new();
	names->arguments = gt_map_new();
	if (!names->processes || !names->functions || !names->libraries || !names->kernels ||
	    !names->stacks || !names->given || !names->arguments) {
		gt_names_free(names);
		return NULL;
	}
	return names;
}

void gt_names_free(struct gt_names *names)
{
	if (!names)
		return;
	gt_map_free_with(names->processes, free);
	gt_map_free_with(names->functions, free);
	gt_map_free_with(names->libraries, free);
	gt_map_free_with(names->kernels, free);
	gt_map_free_with(names->stacks, free);
	gt_map_free_with(names->given, free);
	gt_map_free_with(names->arguments, free);
	free(names);
}

static struct name *name_new(const char *text, size_t length)
{
	struct name *name = calloc(1, sizeof(*name) + length + 1);

	if (name)
		memcpy(name->text, text, length);
	return name;
}

/* Puts something allocated into a map in place of what is there; takes it over also on failure. */
static int replace(struct gt_map *map, const void *key, size_t length, void *value)
{
	int error;

	if (!value)
		return -ENOMEM;
	free(gt_map_remove(map, key, length));
	error = gt_map_set(map, key, length, value);
	if (error)
		free(value);
	return error;
}

static int learn(struct gt_map *map, __u64 number, const struct gt_event *event,
		 struct name **ret_name)
{
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct name *name = name_new(text, length);
	int error = replace(map, &number, sizeof(number), name);

	if (!error && ret_name)
		*ret_name = name;
	return error;
}

static int learn_process(struct gt_names *names, const struct gt_event *event)
{
	struct name *name = NULL;
	int error = learn(names->processes, event->process, event, &name);

	if (!error)
		name->parent = ((const struct gt_event_process *)event)->parent;
	return error;
}

static int learn_string(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_string *string = (const void *)event;
	__u64 thread = event->thread;
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct given *given = calloc(1, sizeof(*given) + length + 1);

	if (given) {
		given->function = string->function;
		given->sequence = string->sequence;
		memcpy(given->text, text, length);
	}
	return replace(names->given, &thread, sizeof(thread), given);
}

static int learn_arguments(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_arguments *told = (const void *)event;
	__u64 thread = event->thread;
	size_t count = gt_event_tail_size(event) / sizeof(__u64);
	struct arguments *arguments = malloc(sizeof(*arguments) + count * sizeof(__u64));

	if (arguments) {
		*arguments =
			(struct arguments){told->function, told->sequence, told->readable, count};
		memcpy(arguments->values, told->values, count * sizeof(__u64));
	}
	return replace(names->arguments, &thread, sizeof(thread), arguments);
}

static int learn_stack(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_stack *told = (const void *)event;
	struct key key = {event->process, told->number};
	size_t count = gt_event_tail_size(event) / sizeof(__u64);
	struct stack *stack = malloc(sizeof(*stack) + count * sizeof(__u64));

	if (stack) {
		stack->count = count;
		memcpy(stack->addresses, told->addresses, count * sizeof(__u64));
	}
	return replace(names->stacks, &key, sizeof(key), stack);
}

/* What a call tells of kernels: registrations, look-ups by name, handles of handles. */
static int learn_kernel(struct gt_names *names, const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	const struct given *given;
	struct gt_api_naming naming;
	const char *text;
	struct key key;

	if (!api || !gt_api_naming(api, call, &naming))
		return 0;
	if (naming.name_argument >= 0) {
		given = gt_map_get_u64(names->given, call->head.thread);
		if (!given || given->function != call->function ||
		    given->sequence != call->sequence)
			return 0;
		text = given->text;
	} else {
		text = gt_names_kernel(names, call->head.process, naming.same_as);
		if (!text)
			return 0;
	}
	key = (struct key){call->head.process, naming.handle};
	return replace(names->kernels, &key, sizeof(key), name_new(text, strlen(text)));
}

static int learn_function(struct gt_names *names, const struct gt_event *event)
{
	struct name *name = NULL;
	int row, error = learn(names->functions, ((const struct gt_event_function *)event)->number,
			       event, &name);

	if (error)
		return error;
	row = gt_api_find(name->text);
	name->api = row >= 0 ? gt_api_function(row) : NULL;
	return 0;
}

int gt_names_take(struct gt_names *names, const struct gt_event *event)
{
	if (!names->has_start && event->clock == GT_CLOCK_MONOTONIC && event->time) {
		names->start = event->time;
		names->has_start = true;
	}
	switch (event->kind) {
	case GT_EVENT_process:
		return learn_process(names, event);
	case GT_EVENT_call:
	case GT_EVENT_aside:
		return learn_kernel(names, (const struct gt_event_call *)event);
	case GT_EVENT_string:
		return learn_string(names, event);
	case GT_EVENT_arguments:
		return learn_arguments(names, event);
	case GT_EVENT_stack:
		return learn_stack(names, event);
	case GT_EVENT_function:
		return learn_function(names, event);
	case GT_EVENT_library:
		return learn(names->libraries, ((const struct gt_event_library *)event)->number,
			     event, NULL);
	case GT_EVENT_clock:
		names->wall = ((const struct gt_event_clock *)event)->realtime - event->time;
		names->has_wall = true;
		return 0;
	case GT_EVENT_account:
		names->account = *(const struct gt_event_account *)event;
		names->has_account = true;
		return 0;
	}
	return 0;
}

static const char *text_of(const struct gt_map *map, __u64 number)
{
	const struct name *name = gt_map_get_u64(map, number);

	return name ? name->text : "?";
}

const char *gt_names_process(const struct gt_names *names, __u32 process)
{
	return text_of(names->processes, process);
}

const char *gt_names_function(const struct gt_names *names, __u32 function)
{
	return text_of(names->functions, function);
}

const struct gt_api_function *gt_names_api(const struct gt_names *names, __u32 function)
{
	const struct name *name = gt_map_get_u64(names->functions, function);

	return name ? name->api : NULL;
}

__u32 gt_names_parent(const struct gt_names *names, __u32 process)
{
	const struct name *name = gt_map_get_u64(names->processes, process);

	return name ? name->parent : 0;
}

const char *gt_names_kernel(const struct gt_names *names, __u32 process, __u64 handle)
{
	for (int i = 0; i < MOST_ANCESTORS && process; i++) {
		struct key key = {process, handle};
		const struct name *name = gt_map_get(names->kernels, &key, sizeof(key));

		if (name)
			return name->text;
		process = gt_names_parent(names, process);
	}
	return NULL;
}

const char *gt_names_launched(const struct gt_names *names, const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	uint64_t handle;

	return api && gt_api_launched(api, call, &handle)
		       ? gt_names_kernel(names, call->head.process, handle)
		       : NULL;
}

const __u64 *gt_names_arguments(const struct gt_names *names, const struct gt_event_call *call,
				size_t *ret_count, __u32 *ret_readable)
{
	const struct arguments *arguments = gt_map_get_u64(names->arguments, call->head.thread);

	if (!arguments || arguments->function != call->function ||
	    arguments->sequence != call->sequence)
		return NULL;
	*ret_count = arguments->count;
	*ret_readable = arguments->readable;
	return arguments->values;
}

const __u64 *gt_names_stack(const struct gt_names *names, __u32 process, __u64 stack,
			    size_t *ret_count)
{
	struct key key = {process, stack};
	const struct stack *known = gt_map_get(names->stacks, &key, sizeof(key));

	if (!known)
		return NULL;
	*ret_count = known->count;
	return known->addresses;
}

const char *gt_names_library(const struct gt_names *names, __u32 library)
{
	return text_of(names->libraries, library);
}

__u64 gt_names_wall_time(const struct gt_names *names, __u64 time)
{
	return names->has_wall ? time + names->wall : 0;
}

__u64 gt_names_start_time(const struct gt_names *names)
{
	return names->start;
}

const struct gt_event_account *gt_names_account(const struct gt_names *names)
{
	return names->has_account ? &names->account : NULL;
}
