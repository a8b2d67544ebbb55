/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/names.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "elf/symbolize.h"
#include "event/kinds.h"
#include "session/container.h"

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

struct cgroup {
	char container[GT_CONTAINER_ID];
	char path[];
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
	bool cut;
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
	struct gt_map *commands;                          /* process -> struct name */
	struct gt_map *cgroups;                           /* process -> struct cgroup */
	struct gt_devices *devices;
	struct gt_map *kernels;   /* struct key -> struct name */
	struct gt_map *stacks;    /* struct key -> struct stack */
	struct gt_map *given;     /* thread -> struct given */
	struct gt_map *arguments; /* thread -> struct arguments */
	struct gt_map *files;     /* path of a mapped file -> it again; "" once it was read */
	struct gt_parameters *parameters; /* of the kernels in those that were read */
	struct gt_space *space;
	struct gt_symbolizer *symbols; /* of host functions that stand for kernels */
	struct gt_symbolizer *lines;   /* of callers */
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
	names->commands = gt_map_new();
	names->cgroups = gt_map_new();
	names->devices = gt_devices_new();
	names->kernels = gt_map_new();
	names->stacks = gt_map_new();
	names->given = gt_map_new();
	names->arguments = gt_map_new();
	names->files = gt_map_new();
	names->parameters = gt_parameters_new();
	names->space = gt_space_new();
	if (names->space)
		names->lines = gt_symbolizer_new(names->space, NULL);
	if (names->space)
		names->symbols = gt_symbolizer_new(
			names->space, &(struct gt_symbolizer_options){.no_lines = true});
	if (!names->processes || !names->functions || !names->libraries || !names->commands ||
	    !names->cgroups || !names->devices || !names->kernels || !names->stacks ||
	    !names->given || !names->arguments || !names->symbols || !names->lines ||
	    !names->files || !names->parameters) {
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
	gt_map_free_with(names->commands, free);
	gt_map_free_with(names->cgroups, free);
	gt_devices_free(names->devices);
	gt_map_free_with(names->kernels, free);
	gt_map_free_with(names->stacks, free);
	gt_map_free_with(names->given, free);
	gt_map_free_with(names->arguments, free);
	gt_symbolizer_free(names->symbols);
	gt_symbolizer_free(names->lines);
	gt_space_free(names->space);
	gt_map_free_with(names->files, free);
	gt_parameters_free(names->parameters);
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
	__u32 parent = ((const struct gt_event_process *)event)->parent;
	bool is_new = !gt_map_get_u64(names->processes, event->process);
	struct name *name = NULL;
	int error = learn(names->processes, event->process, event, &name);

	if (!error && is_new && parent)
		error = gt_space_fork(names->space, parent, event->process);

	if (!error)
		name->parent = parent;
	return error;
}

static int learn_command(struct gt_names *names, const struct gt_event *event)
{
	struct name *name = NULL;
	size_t length;
	int error = learn(names->commands, event->process, event, &name);

	gt_event_text(event, &length);
	for (size_t i = 0; !error && i < length; i++)
		if (!name->text[i])
			name->text[i] = ' ';
	return error;
}

static int learn_cgroup(struct gt_names *names, const struct gt_event *event)
{
	__u64 process = event->process;
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup) + length + 1);

	if (cgroup) {
		memcpy(cgroup->path, text, length);
		gt_container_id(cgroup->path, cgroup->container);
	}
	return replace(names->cgroups, &process, sizeof(process), cgroup);
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
		stack->cut = told->flags & GT_STACK_TRUNCATED;
		stack->count = count;
		memcpy(stack->addresses, told->addresses, count * sizeof(__u64));
	}
	return replace(names->stacks, &key, sizeof(key), stack);
}

static int learn_mapping(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_mapping *mapping = (const void *)event;
	size_t length;
	const char *path = gt_event_text(event, &length);
	int error = gt_space_map(names->space, event->process, mapping->start, mapping->end,
				 mapping->offset, mapping->inode, path, length);

	/* A mapping that is none, in a damaged capture, costs names and nothing else. */
	if (error == -ENOMEM)
		return error;
	return length && path[0] == '/' && !gt_map_get(names->files, path, length)
		       ? replace(names->files, path, length, strndup(path, length))
		       : 0;
}

/* The string that a call was given; NULL: none was told. */
static const char *given_string(const struct gt_names *names, const struct gt_event_call *call)
{
	const struct given *given = gt_map_get_u64(names->given, call->head.thread);

	return given && given->function == call->function && given->sequence == call->sequence
		       ? given->text
		       : NULL;
}

/* What a call tells of kernels: registrations, look-ups by name, handles of handles. */
static int learn_kernel(struct gt_names *names, const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	struct gt_api_naming naming;
	const char *text;
	struct key key;

	if (!api || !gt_api_naming(api, call, &naming))
		return 0;
	if (naming.name_argument >= 0) {
		text = given_string(names, call);
	} else {
		text = gt_names_kernel(names, call->head.process, naming.same_as);
	}
	if (!text)
		return 0;
	key = (struct key){call->head.process, naming.handle};
	return replace(names->kernels, &key, sizeof(key), name_new(text, strlen(text)));
}

/* A handle that a process had before it was seen. */
static int learn_handle(struct gt_names *names, const struct gt_event *event)
{
	struct key key = {event->process, ((const struct gt_event_kernel *)event)->handle};
	size_t length;
	const char *name = gt_event_text(event, &length);

	return replace(names->kernels, &key, sizeof(key), name_new(name, length));
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
	case GT_EVENT_kernel:
		return learn_handle(names, event);
	case GT_EVENT_string:
		return learn_string(names, event);
	case GT_EVENT_arguments:
		return learn_arguments(names, event);
	case GT_EVENT_mapping:
		return learn_mapping(names, event);
	case GT_EVENT_stack:
		return learn_stack(names, event);
	case GT_EVENT_command:
		return learn_command(names, event);
	case GT_EVENT_cgroup:
		return learn_cgroup(names, event);
	case GT_EVENT_device:
	case GT_EVENT_context:
		return gt_devices_take(names->devices, event);
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

bool gt_names_device(const struct gt_names *names, __u32 process, int ordinal,
		     struct gt_device *ret_device)
{
	return gt_devices_find(names->devices, process, ordinal, ret_device);
}

const struct gt_context *gt_names_context(const struct gt_names *names,
					  const struct gt_event_call *call)
{
	return gt_devices_context(names->devices, call->head.process, call->context);
}

const char *gt_names_command(const struct gt_names *names, __u32 process)
{
	const struct name *name = gt_map_get_u64(names->commands, process);

	return name ? name->text : NULL;
}

const char *gt_names_cgroup(const struct gt_names *names, __u32 process)
{
	const struct cgroup *cgroup = gt_map_get_u64(names->cgroups, process);

	return cgroup ? cgroup->path : NULL;
}

const char *gt_names_container(const struct gt_names *names, __u32 process)
{
	const struct cgroup *cgroup = gt_map_get_u64(names->cgroups, process);

	return cgroup && cgroup->container[0] ? cgroup->container : NULL;
}

#define STUB_MARK "__device_stub__"

/*
 * The kernel's name out of its host function's: nvcc gives both one name, and calls a function
 * "__device_stub_" and that; clang puts the mark into the last part of the name itself, whose
 * length stands before it.
 */
static struct name *name_of_stub(const char *symbol)
{
	const char *mark = strstr(symbol, STUB_MARK), *digits = mark;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	unsigned long length;

	if (mark == symbol && !strncmp(symbol, "__device_stub__Z", 16))
		return name_new(symbol + 14, strlen(symbol) - 14);
	while (digits && digits > symbol && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	length = digits ? strtoul(digits, NULL, 10) : 0;
	if (length <= strlen(STUB_MARK))
		return name_new(symbol, strlen(symbol));
	gt_strbuf_printf(&text, "%.*s%lu%s", (int)(digits - symbol), symbol,
			 length - strlen(STUB_MARK), mark + strlen(STUB_MARK));
	return name_new(gt_strbuf_string(&text), text.length);
}

/* A process that was attached to late registered its kernels unseen: the symbol may tell. */
static const char *name_by_symbol(const struct gt_names *names, __u32 process, __u64 handle)
{
	struct key key = {process, handle};
	struct gt_location location;
	const struct gt_frame *function;
	struct name *name;

	gt_symbolize(names->symbols, process, handle, false, &location);
	if (!location.frame_count)
		return NULL;
	function = &location.frames[location.frame_count - 1];
	if (!function->symbol || function->offset)
		return NULL;
	name = name_of_stub(function->symbol);
	return replace(names->kernels, &key, sizeof(key), name) ? NULL : name->text;
}

const char *gt_names_kernel(const struct gt_names *names, __u32 process, __u64 handle)
{
	__u32 ancestor = process;

	for (int i = 0; i < MOST_ANCESTORS && ancestor; i++) {
		struct key key = {ancestor, handle};
		const struct name *name = gt_map_get(names->kernels, &key, sizeof(key));

		if (name)
			return name->text;
		ancestor = gt_names_parent(names, ancestor);
	}
	return name_by_symbol(names, process, handle);
}

const char *gt_names_launched(const struct gt_names *names, const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	uint64_t handle;

	return api && gt_api_launched(api, call, &handle)
		       ? gt_names_kernel(names, call->head.process, handle)
		       : NULL;
}

const char *gt_names_call_kernel(const struct gt_names *names, const struct gt_event_call *call)
{
	const char *launched = gt_names_launched(names, call);

	return launched ? launched : given_string(names, call);
}

bool gt_names_launch_arguments(const struct gt_names *names, const struct gt_event_call *call,
			       struct gt_launch_arguments *ret_arguments)
{
	const struct arguments *arguments = gt_map_get_u64(names->arguments, call->head.thread);

	if (!arguments || arguments->function != call->function ||
	    arguments->sequence != call->sequence)
		return false;
	*ret_arguments = (struct gt_launch_arguments){.valid = arguments->readable};
	for (size_t i = 0; i < arguments->count && i < GT_ARGUMENT_WORDS; i++)
		ret_arguments->words[i] = arguments->values[i];
	return true;
}

const struct gt_kernel *gt_names_parameters(const struct gt_names *names, const char *kernel)
{
	const struct gt_kernel *found = gt_parameters_find(names->parameters, kernel);
	size_t cursor = 0;
	void *path;

	while (!found && gt_map_next(names->files, &cursor, NULL, NULL, &path)) {
		if (!*(char *)path)
			continue; /* it was read */
		gt_parameters_add_file(names->parameters, path, NULL, NULL);
		*(char *)path = '\0';
		found = gt_parameters_find(names->parameters, kernel);
	}
	return found;
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

bool gt_names_stack_is_cut(const struct gt_names *names, __u32 process, __u64 stack)
{
	struct key key = {process, stack};
	const struct stack *known = gt_map_get(names->stacks, &key, sizeof(key));

	return known && known->cut;
}

void gt_names_location(const struct gt_names *names, __u32 process, __u64 address, bool is_return,
		       struct gt_location *ret_location)
{
	gt_symbolize(names->lines, process, address, is_return, ret_location);
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
