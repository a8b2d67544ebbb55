/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/supply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "names/handles.h"
#include "session/callers.h"
#include "session/cgroup.h"

#define MAX_STRING 2048
#define MAX_COMMAND 32768

struct gt_supply {
	struct gt_supply_options options;
	struct gt_callers *callers; /* NULL: stacks are not unwound here */
	struct gt_hash *met;        /* process -> its last `process` event */
};

struct gt_supply *gt_supply_new(const struct gt_supply_options *options)
{
	gt_auto(supply) struct gt_supply *supply = calloc(1, sizeof(*supply));

	if (!supply)
		return NULL;
	supply->options = *options;
	supply->met = gt_hash_new();
	if (options->stack_depth)
		supply->callers = gt_callers_new(options->stack_depth);
	return supply->met && (supply->callers || !options->stack_depth) ? gt_take(supply) : NULL;
}

void gt_supply_free(struct gt_supply *supply)
{
	if (!supply)
		return;
	if (supply->met)
		gt_hash_free_with(supply->met, free);
	gt_callers_free(supply->callers);
	free(supply);
}

static void tell(const struct gt_supply *supply, const struct gt_event *event)
{
	supply->options.tell(supply->options.context, event);
}

/* Tells something of a process in a text, at the time of the event that brought it up. */
static void tell_text(const struct gt_supply *supply, enum gt_event_kind kind,
		      const struct gt_event *of, const char *text, size_t length)
{
	struct gt_event *event = gt_event_new(kind, text, length);

	if (!event)
		return;
	event->time = of->time;
	event->process = event->thread = of->process;
	tell(supply, event);
	free(event);
}

/* The command line of a process that was just named, if it still can be read. */
static void tell_command(const struct gt_supply *supply, const struct gt_event *of)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_auto_file line = {0};

	gt_strbuf_printf(&path, "/proc/%u/cmdline", of->process);
	if (gt_file_read(gt_strbuf_string(&path), MAX_COMMAND, &line, NULL) || !line.size)
		return;
	tell_text(supply, GT_EVENT_command, of, (const char *)line.data, line.size);
}

static void tell_cgroup(const struct gt_supply *supply, const struct gt_event *of)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;

	if (supply->options.cgroups && !gt_cgroup_of_process(of->process, &path))
		tell_text(supply, GT_EVENT_cgroup, of, gt_strbuf_string(&path), path.length);
}

/* What a process had mapped when it was first seen; what it maps later is told by the sources. */
static void tell_mappings(const struct gt_supply *supply, const struct gt_event *of,
			  const struct gt_proc_maps *maps)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;

	for (size_t i = 0; i < maps->count; i++) {
		const struct gt_proc_mapping *mapping = &maps->items[i];
		struct gt_event_mapping *event;

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping) ||
		    gt_proc_mapping_range(maps, mapping, &path, NULL))
			continue;
		event = (void *)gt_event_new(GT_EVENT_mapping, gt_strbuf_string(&path),
					     path.length);
		if (!event)
			return;
		event->head.time = of->time;
		event->head.process = event->head.thread = of->process;
		event->start = mapping->start;
		event->end = mapping->end;
		event->offset = mapping->offset;
		event->inode = mapping->inode;
		tell(supply, &event->head);
		free(event);
	}
}

struct met {
	const struct gt_supply *supply;
	const struct gt_event *of;
};

static void tell_handle(void *context, uint64_t handle, const char *kernel)
{
	const struct met *met = context;
	struct gt_event_kernel *event =
		(void *)gt_event_new(GT_EVENT_kernel, kernel, strlen(kernel));

	if (!event)
		return;
	event->head.time = met->of->time;
	event->head.process = event->head.thread = met->of->process;
	event->handle = handle;
	tell(met->supply, &event->head);
	free(event);
}

/* What its address space tells. */
static void tell_space(const struct gt_supply *supply, const struct gt_event *of)
{
	gt_auto_proc_maps maps = {0};

	if (gt_proc_maps_read(of->process, &maps, NULL))
		return;
	tell_mappings(supply, of, &maps);
	gt_handles_read(&maps, tell_handle, &(struct met){supply, of});
}

/* Each thread tells its process: all but the first say nothing new. */
static bool is_known(const struct gt_supply *supply, const struct gt_event *event)
{
	const struct gt_event_process *told = (const void *)event;
	const struct gt_event_process *known = gt_hash_get_u64(supply->met, event->process);

	return known && known->parent == told->parent && known->uid == told->uid &&
	       known->head.size == event->size &&
	       !memcmp(known->name, told->name, gt_event_tail_size(event));
}

/* A process is seen for the first time, or under a new name (exec). */
static void meet_process(struct gt_supply *supply, const struct gt_event *event)
{
	const struct gt_event_process *known = gt_hash_get_u64(supply->met, event->process);
	bool same_name = known && known->head.size == event->size &&
			 !memcmp(known->name, ((const struct gt_event_process *)event)->name,
				 gt_event_tail_size(event));
	struct gt_event *copy = malloc(event->size);

	free(gt_hash_remove_u64(supply->met, event->process));
	if (copy)
		memcpy(copy, event, event->size);
	if (!copy || gt_hash_set_u64(supply->met, event->process, copy))
		free(copy);
	if (same_name)
		return;
	tell_command(supply, event);
	tell_cgroup(supply, event);
	tell_space(supply, event);
}

/* A string that the BPF program could not read, since its page was not there: read from here. */
static void tell_string(const struct gt_supply *supply, const struct gt_event_call *call)
{
	const struct gt_api_function *function = gt_api_function(call->function);
	struct gt_event_string *event;
	char text[MAX_STRING], path[64];
	gt_autoclose int memory = -1;
	uint64_t address;
	uint8_t slot;
	ssize_t length;

	if (!function || !gt_api_missing_string(function, call, &address, &slot))
		return;
	snprintf(path, sizeof(path), "/proc/%u/mem", call->head.process);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	length = memory < 0 ? -1 : pread(memory, text, sizeof(text), (off_t)address);
	if (length <= 0)
		return;
	length = (ssize_t)strnlen(text, (size_t)length);
	event = (void *)gt_event_new(GT_EVENT_string, text, (size_t)length);
	if (!event)
		return;
	event->head.time = call->head.time;
	event->head.process = call->head.process;
	event->head.thread = call->head.thread;
	event->sequence = call->sequence;
	event->slot = slot;
	event->truncated = length == sizeof(text);
	event->function = call->function;
	tell(supply, &event->head);
	free(event);
}

static int tell_unwound(const struct gt_supply *supply, const struct gt_event_memory *memory)
{
	struct gt_event_stack *stack = NULL;
	int error = supply->callers ? gt_callers_unwind(supply->callers, memory, &stack) : 0;

	if (stack)
		tell(supply, &stack->head);
	free(stack);
	return error;
}

/* The record of a call whose stack was unwound here gets the stack's number here. */
static void tell_with_stack(const struct gt_supply *supply, const struct gt_event *event)
{
	bool is_call = event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry;
	__u64 stack = supply->callers && is_call
			      ? gt_callers_of(supply->callers, (const void *)event)
			      : 0;
	gt_autofree struct gt_event_call *call = stack ? malloc(event->size) : NULL;

	if (!call) {
		tell(supply, event);
		return;
	}
	memcpy(call, event, event->size);
	call->stack = stack;
	tell(supply, &call->head);
}

int gt_supply_take(struct gt_supply *supply, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_memory)
		return tell_unwound(supply, (const void *)event);
	if (event->kind == GT_EVENT_process && is_known(supply, event))
		return 0;
	if (event->kind == GT_EVENT_call || event->kind == GT_EVENT_implicit)
		tell_string(supply, (const void *)event);
	tell_with_stack(supply, event);
	if (event->kind == GT_EVENT_process && event->process)
		meet_process(supply, event);
	return 0;
}

int gt_supply_learn(struct gt_supply *supply, const struct gt_event *event)
{
	return supply->callers ? gt_callers_learn(supply->callers, event) : 0;
}

bool gt_supply_has_met(const struct gt_supply *supply, __u32 process)
{
	return gt_hash_get_u64(supply->met, process);
}
