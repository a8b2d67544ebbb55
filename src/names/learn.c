/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Learning names from events. */
#include <errno.h>
#include <string.h>

#include "event/kinds.h"
#include "names/kept.h"
#include "names/private.h"

struct known_name *gt_name_new(const char *text, size_t length)
{
	struct known_name *name = calloc(1, sizeof(*name) + length + 1);

	if (name)
		memcpy(name->text, text, length);
	return name;
}

int gt_names_replace(struct gt_hash *map, const void *key, size_t length, void *value)
{
	int error;

	if (!value)
		return -ENOMEM;
	free(gt_hash_remove(map, key, length));
	error = gt_hash_set(map, key, length, value);
	if (error)
		free(value);
	return error;
}

/*
 * The same for names of functions and kernels, whose texts stand at an offset. Analyses refer to
 * them: the earlier one lives as long as the names.
 */
static int rename_in(struct gt_names *names, struct gt_hash *map, const void *key, size_t length,
		     void *name, size_t text)
{
	void *before = gt_hash_get(map, key, length);

	if (!name)
		return -ENOMEM;
	if (before && !strcmp((char *)before + text, (char *)name + text)) {
		free(name);
		return 0;
	}
	if (before && gt_vec_push(&names->retired, before)) {
		free(name);
		return -ENOMEM;
	}
	gt_hash_remove(map, key, length);
	return gt_names_replace(map, key, length, name);
}

static int learn(struct gt_hash *map, __u64 number, const struct gt_event *event,
		 struct known_name **ret_name)
{
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct known_name *name = gt_name_new(text, length);
	int error = gt_names_replace(map, &number, sizeof(number), name);

	if (!error && ret_name)
		*ret_name = name;
	return error;
}

static int learn_process(struct gt_names *names, const struct gt_event *event)
{
	__u32 parent = ((const struct gt_event_process *)event)->parent;
	bool is_new = !gt_hash_get_u64(names->processes, event->process);
	struct known_name *name = NULL;
	int error = learn(names->processes, event->process, event, &name);

	if (!error && is_new && parent)
		error = gt_space_fork(names->space, parent, event->process);
	if (!error)
		name->parent = parent;
	return error;
}

static int learn_command(struct gt_names *names, const struct gt_event *event)
{
	struct known_name *name = NULL;
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
	struct known_cgroup *cgroup = calloc(1, sizeof(*cgroup) + length + 1);

	if (cgroup) {
		memcpy(cgroup->path, text, length);
		gt_container_id(cgroup->path, cgroup->container);
	}
	return gt_names_replace(names->cgroups, &process, sizeof(process), cgroup);
}

static int learn_string(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_string *string = (const void *)event;
	struct names_key key = gt_given_key(event->thread, string->sequence, string->slot);
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct known_string *given = calloc(1, sizeof(*given) + length + 1);

	if (given) {
		given->function = string->function;
		given->sequence = string->sequence;
		given->truncated = string->truncated;
		memcpy(given->text, text, length);
	}
	return gt_names_replace(names->given, &key, sizeof(key), given);
}

static int learn_arguments(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_arguments *record = (const void *)event;
	__u64 thread = event->thread;
	size_t count = gt_event_tail_size(event) / sizeof(__u64);
	struct launch_values *arguments = malloc(sizeof(*arguments) + count * sizeof(__u64));

	if (arguments) {
		*arguments = (struct launch_values){record->function, record->sequence,
						    record->readable, count};
		memcpy(arguments->values, record->values, count * sizeof(__u64));
	}
	return gt_names_replace(names->arguments, &thread, sizeof(thread), arguments);
}

/* What is needed of the map for perf is read now: with its process it may disappear. */
static void read_perf_map(const struct gt_names *names, __u32 process, const __u64 *addresses,
			  size_t count)
{
	struct gt_location location;

	for (size_t i = 0; names->perf_maps && i < count; i++)
		if (!gt_python_is_frame(addresses[i]) &&
		    !gt_space_at(names->space, process, addresses[i]))
			gt_perf_maps_find(names->perf_maps, process, addresses[i], true, &location);
}

static int learn_stack(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_stack *record = (const void *)event;
	struct names_key key = {event->process, record->number};
	size_t count = gt_event_tail_size(event) / sizeof(__u64);
	struct known_stack *stack = malloc(sizeof(*stack) + count * sizeof(__u64));

	read_perf_map(names, event->process, record->addresses, count);
	if (stack) {
		stack->truncated = record->flags & GT_STACK_TRUNCATED;
		stack->count = count;
		memcpy(stack->addresses, record->addresses, count * sizeof(__u64));
	}
	return gt_names_replace(names->stacks, &key, sizeof(key), stack);
}

static int learn_mapping(struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_mapping *mapping = (const void *)event;
	size_t length;
	const char *path = gt_event_text(event, &length);
	int error = gt_space_map(names->space, event->process,
				 &(struct gt_space_request){.start = mapping->start,
							    .end = mapping->end,
							    .offset = mapping->offset,
							    .inode = mapping->inode,
							    .path = path,
							    .length = length});

	/* An invalid mapping, in a corrupt capture, costs names and nothing else. */
	if (error == -ENOMEM)
		return error;
	return length && path[0] == '/' ? gt_kernel_search_add(names->search, path, length) : 0;
}

/* Learn what a call reads from the driver about a kernel. */
static int learn_registers(struct gt_names *names, const struct gt_call *call)
{
	struct known_registers *known;
	const char *kernel;
	uint64_t handle;
	uint32_t count;

	if (!gt_call_registers(call, &handle, &count))
		return 0;
	kernel = gt_names_kernel(names, call->event->head.process, handle);
	if (!kernel)
		return 0;
	known = gt_hash_get_str(names->registers, kernel);
	if (known) {
		known->differ |= known->count != count;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (known)
		known->count = count;
	return gt_names_replace(names->registers, kernel, strlen(kernel), known);
}

/* Learn kernels from a call: registrations, look-ups by name, handles of handles. */
static int learn_kernel(struct gt_names *names, const struct gt_event_call *event)
{
	struct gt_call_naming naming;
	struct gt_call call;
	const char *text;
	struct names_key key;
	int error;

	gt_names_decode(names, event, &call);
	if (!call.function)
		return 0;
	if (call.layout->setting)
		return gt_names_learn_setting(names, &call);
	if (call.layout->sized)
		return gt_names_learn_size(names, &call);
	if (!gt_call_naming(&call, &naming))
		return learn_registers(names, &call);
	error = gt_names_renew_settings(names, event->head.process, naming.handle, naming.same_as);
	if (error)
		return error;
	if (naming.name_argument >= 0)
		text = gt_names_given(names, &call);
	else
		text = gt_names_kernel(names, event->head.process, naming.same_as);
	if (!text)
		return 0;
	key = (struct names_key){event->head.process, naming.handle};
	gt_names_learn_home(names, event->head.process, naming.handle, text);
	return rename_in(names, names->kernels, &key, sizeof(key), gt_name_new(text, strlen(text)),
			 offsetof(struct known_name, text));
}

/* A handle that a process had before it was traced. */
static int learn_handle(struct gt_names *names, const struct gt_event *event)
{
	struct names_key key = {event->process, ((const struct gt_event_kernel *)event)->handle};
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct known_name *name = gt_name_new(text, length);

	if (name)
		gt_names_learn_home(names, event->process, key.number, name->text);
	return rename_in(names, names->kernels, &key, sizeof(key), name,
			 offsetof(struct known_name, text));
}

/* The first one of an address stays: others may refer to its texts. */
static int learn_location(struct gt_names *names, const struct gt_event_location *event)
{
	struct names_key key = {event->head.process, event->address};
	struct gt_kept_location *kept;
	int error;

	if (gt_hash_get(names->kept, &key, sizeof(key)))
		return 0;
	kept = gt_kept_location_new(event);
	error = kept ? gt_hash_set(names->kept, &key, sizeof(key), kept) : -ENOMEM;
	if (error)
		gt_kept_location_free(kept);
	return error;
}

static int learn_rank(struct gt_names *names, const struct gt_event_rank *event)
{
	struct known_rank *known = gt_hash_get_u64(names->ranks, event->head.process);
	bool is_new = !known;

	if (is_new)
		known = malloc(sizeof(*known));
	if (!known)
		return -ENOMEM;
	*known = (struct known_rank){event->rank, event->ranks};
	if (!is_new || !gt_hash_set_u64(names->ranks, event->head.process, known))
		return 0;
	free(known);
	return -ENOMEM;
}

/* The row is found by the name, since the number may be another version's. */
static int learn_function(struct gt_names *names, const struct gt_event *event)
{
	__u64 number = ((const struct gt_event_function *)event)->number;
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct function_name *name = calloc(1, sizeof(*name) + length + 1);
	int row;

	if (name) {
		memcpy(name->text, text, length);
		row = gt_api_find(name->text);
		name->known = row >= 0;
		if (name->known)
			gt_api_lay_out(gt_api_function((unsigned)row), GT_MACHINE_HERE,
				       &name->layout);
	}
	return rename_in(names, names->functions, &number, sizeof(number), name,
			 offsetof(struct function_name, text));
}

/* Events on which gt_names_stack and gt_names_location depend. */
static bool changes_code(const struct gt_names *names, const struct gt_event *event)
{
	struct names_key key = {event->process, 0};

	switch (event->kind) {
	case GT_EVENT_process:
	case GT_EVENT_mapping:
	case GT_EVENT_code:
	case GT_EVENT_python:
	case GT_EVENT_location:
		return true;
	case GT_EVENT_stack:
		key.number = ((const struct gt_event_stack *)event)->number;
		return names->perf_maps || gt_hash_get(names->stacks, &key, sizeof(key));
	}
	return false;
}

uint64_t gt_names_code_changes(const struct gt_names *names)
{
	return names->code_changes;
}

int gt_names_take(struct gt_names *names, const struct gt_event *event)
{
	if (changes_code(names, event))
		names->code_changes++;
	if (!names->has_start && event->clock == GT_CLOCK_MONOTONIC && event->time) {
		names->start = event->time;
		names->has_start = true;
	}
	switch (event->kind) {
	case GT_EVENT_process:
		return learn_process(names, event);
	case GT_EVENT_call:
	case GT_EVENT_implicit:
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
	case GT_EVENT_code:
	case GT_EVENT_python:
		return gt_python_names_take(names->python, event);
	case GT_EVENT_location:
		return learn_location(names, (const void *)event);
	case GT_EVENT_resources:
		return gt_kept_resources_add((const void *)event,
					     gt_kernel_search_found(names->search));
	case GT_EVENT_command:
		return learn_command(names, event);
	case GT_EVENT_rank:
		return learn_rank(names, (const void *)event);
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
	case GT_EVENT_gap:
		return gt_known_gaps_take(&names->gaps, event);
	case GT_EVENT_totals:
		return gt_known_totals_take(&names->totals, event);
	case GT_EVENT_overhead:
		names->overhead = *(const struct gt_event_overhead *)event;
		names->has_overhead = true;
		return 0;
	case GT_EVENT_via:
		names->via |= ((const struct gt_event_via *)event)->methods;
		return 0;
	case GT_EVENT_machine:
		return gt_machines_take(&names->machines, event);
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
