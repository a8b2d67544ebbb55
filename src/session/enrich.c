/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/enrich.h"

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
#include "probe/api/unwind_maps.h"
#include "probe/python/find.h"
#include "session/callers.h"
#include "session/cgroup.h"
#include "session/rank.h"

#define MAX_STRING 2048
#define MAX_COMMAND 32768
#define MAX_ENVIRONMENT (4u << 20) /* Linux limits it to a part of the stack's limit */

struct gt_enrich {
	struct gt_enrich_options options;
	struct gt_callers *callers;         /* NULL: no stacks are unwound here */
	struct gt_unwind_maps *unwind_maps; /* NULL: not wanted */
	struct gt_hash *processes;          /* process -> its latest `process` event */
	struct gt_pythons *pythons;         /* NULL: not wanted */
	struct gt_enriched result;
	uint64_t lost; /* beside those of the queues in `result` */
	union {
		struct gt_event_call call; /* with the number of its unwound stack */
		uint64_t space[GT_EVENT_MAX_SIZE / sizeof(uint64_t) + 1];
	} copy;
};

struct gt_enrich *gt_enrich_new(const struct gt_enrich_options *options)
{
	gt_auto(enrich) struct gt_enrich *enrich = calloc(1, sizeof(*enrich));

	if (!enrich)
		return NULL;
	enrich->options = *options;
	enrich->processes = gt_hash_new();
	if (options->stack_depth)
		enrich->callers = gt_callers_new(options->stack_depth);
	return enrich->processes && (enrich->callers || !options->stack_depth) ? gt_take(enrich)
									       : NULL;
}

void gt_enrich_free(struct gt_enrich *enrich)
{
	if (!enrich)
		return;
	gt_event_queue_clear(&enrich->result.before);
	gt_event_queue_clear(&enrich->result.after);
	if (enrich->processes)
		gt_hash_free_with(enrich->processes, free);
	gt_callers_free(enrich->callers);
	free(enrich);
}

void gt_enrich_find_pythons(struct gt_enrich *enrich, struct gt_pythons *pythons)
{
	enrich->pythons = pythons;
}

void gt_enrich_fill_unwind_maps(struct gt_enrich *enrich, struct gt_unwind_maps *maps)
{
	enrich->unwind_maps = maps;
}

uint64_t gt_enrich_lost(const struct gt_enrich *enrich)
{
	return enrich->lost + enrich->result.before.lost + enrich->result.after.lost;
}

const struct gt_hash *gt_enrich_processes(const struct gt_enrich *enrich)
{
	return enrich->processes;
}

/* Add an event about the process of `of`, at its time. NULL is counted as lost. */
static void add_after(struct gt_enrich *enrich, const struct gt_event *of, struct gt_event *event)
{
	if (event) {
		event->time = of->time;
		event->process = event->thread = of->process;
	}
	gt_event_queue_push(&enrich->result.after, event);
}

/* The command line of a new process, if it still can be read. */
static void add_command(struct gt_enrich *enrich, const struct gt_event *of)
{
	gt_auto_file line = {0};
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", of->process);
	error = gt_file_read(path, MAX_COMMAND, &line, NULL);
	enrich->lost += error == -ENOMEM;
	if (!error && line.size)
		add_after(enrich, of,
			  gt_event_new(GT_EVENT_command, (const char *)line.data, line.size));
}

/* The rank of a new process in a parallel program, if its environment has one. */
static void add_rank(struct gt_enrich *enrich, const struct gt_event *of)
{
	gt_auto_file environment = {0};
	struct gt_event_rank *event;
	struct gt_rank rank;
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/environ", of->process);
	error = gt_file_read(path, MAX_ENVIRONMENT, &environment, NULL);
	enrich->lost += error == -ENOMEM;
	if (error || !gt_rank_find((const char *)environment.data, environment.size, &rank))
		return;
	event = (void *)gt_event_new(GT_EVENT_rank, rank.variable, strlen(rank.variable));
	if (event) {
		event->rank = rank.rank;
		event->ranks = rank.ranks;
	}
	add_after(enrich, of, event ? &event->head : NULL);
}

static void add_cgroup(struct gt_enrich *enrich, const struct gt_event *of)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	int error = enrich->options.cgroups ? gt_cgroup_of_process(of->process, &path) : -ENOENT;

	if (error == -ENOMEM || path.failed)
		enrich->lost++;
	else if (!error)
		add_after(enrich, of,
			  gt_event_new(GT_EVENT_cgroup, gt_strbuf_string(&path), path.length));
}

static void learn_mapping(struct gt_enrich *enrich, const struct gt_event *event)
{
	if (enrich->unwind_maps)
		gt_unwind_maps_add_mapping(enrich->unwind_maps, (const void *)event);
	if (enrich->callers && gt_callers_learn(enrich->callers, event))
		enrich->lost++;
}

static void add_mapping(struct gt_enrich *enrich, const struct gt_event *of,
			const struct gt_proc_mapping *mapping, const struct gt_strbuf *path)
{
	struct gt_event_mapping *event =
		(void *)gt_event_new(GT_EVENT_mapping, gt_strbuf_string(path), path->length);

	if (event) {
		event->head.process = of->process;
		event->start = mapping->start;
		event->end = mapping->end;
		event->offset = mapping->offset;
		event->inode = mapping->inode;
		/* Of later mappings, the sources enter the interpreters before these can run. */
		if (enrich->pythons)
			gt_pythons_add_mapping(enrich->pythons, event);
		learn_mapping(enrich, &event->head);
	}
	add_after(enrich, of, event ? &event->head : NULL);
}

/* The present mappings of a new process; sources report the later ones. */
static void add_mappings(struct gt_enrich *enrich, const struct gt_event *of,
			 const struct gt_proc_maps *maps)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;

	for (size_t i = 0; i < maps->count; i++) {
		const struct gt_proc_mapping *mapping = &maps->items[i];
		int error;

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping))
			continue;
		error = gt_proc_mapping_path(maps, mapping, &path, NULL);
		if (path.failed) {
			enrich->lost++;
			gt_strbuf_free(&path);
		} else if (!error) {
			add_mapping(enrich, of, mapping, &path);
		}
	}
}

struct new_process {
	struct gt_enrich *enrich;
	const struct gt_event *event;
};

static void add_kernel_handle(void *context, uint64_t handle, const char *kernel)
{
	const struct new_process *process = context;
	struct gt_event_kernel *event =
		(void *)gt_event_new(GT_EVENT_kernel, kernel, strlen(kernel));

	if (event)
		event->handle = handle;
	add_after(process->enrich, process->event, event ? &event->head : NULL);
}

/* Events of the address space of a new process. */
static void add_address_space(struct gt_enrich *enrich, const struct gt_event *of)
{
	gt_auto_proc_maps maps = {0};
	int error = gt_proc_maps_read(of->process, &maps, NULL);

	enrich->lost += error == -ENOMEM;
	if (error)
		return;
	add_mappings(enrich, of, &maps);
	gt_handles_read(&maps, add_kernel_handle, &(struct new_process){enrich, of});
}

static bool has_same_name(const struct gt_event *left, const struct gt_event *right)
{
	return left && left->size == right->size &&
	       !memcmp(((const struct gt_event_process *)left)->name,
		       ((const struct gt_event_process *)right)->name, gt_event_tail_size(right));
}

/* Each thread reports its process: most of these events say nothing new. */
static bool is_known_process(const struct gt_enrich *enrich, const struct gt_event *event)
{
	const struct gt_event_process *now = (const void *)event;
	const struct gt_event_process *known = gt_hash_get_u64(enrich->processes, event->process);

	return known && known->parent == now->parent && known->uid == now->uid &&
	       has_same_name(&known->head, event);
}

/* A process is seen for the first time, or under a new name (exec). */
static void enrich_process(struct gt_enrich *enrich, const struct gt_event *event)
{
	gt_autofree struct gt_event *known = gt_hash_remove_u64(enrich->processes, event->process);
	struct gt_event *copy = malloc(event->size);

	if (copy)
		memcpy(copy, event, event->size);
	/* Without a copy the next such event is taken for a new process: nothing is lost. */
	if (!copy || gt_hash_set_u64(enrich->processes, event->process, copy))
		free(copy);
	if (has_same_name(known, event))
		return;
	add_command(enrich, event);
	add_rank(enrich, event);
	add_cgroup(enrich, event);
	add_address_space(enrich, event);
}

/* Read a string of a process: its length, at most `size`, or -1 if it is unreadable. */
static ssize_t read_string(uint32_t process, const struct gt_missing_string *string, char *text,
			   size_t size)
{
	gt_autoclose int memory = -1;
	uint64_t address = string->address;
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/mem", process);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return -1;
	if (string->field && pread(memory, &address, sizeof(address),
				   (off_t)(address + string->field - 1)) != sizeof(address))
		return -1;
	length = pread(memory, text, size, (off_t)address);
	return length <= 0 ? -1 : (ssize_t)strnlen(text, (size_t)length);
}

/* A string whose page was not present when the BPF program tried to read it. */
static void add_missing_string(struct gt_enrich *enrich, const struct gt_event_call *call)
{
	const struct gt_api_function *function = gt_api_function(call->function);
	struct gt_event_string *event;
	struct gt_missing_string string;
	char text[MAX_STRING];
	ssize_t length;

	if (!function || !gt_api_missing_string(function, call, &string))
		return;
	length = read_string(call->head.process, &string, text, sizeof(text));
	if (length < 0)
		return;
	event = (void *)gt_event_new(GT_EVENT_string, text, (size_t)length);
	if (event) {
		event->head.time = call->head.time;
		event->head.process = call->head.process;
		event->head.thread = call->head.thread;
		event->sequence = call->sequence;
		event->slot = string.slot;
		event->truncated = length == sizeof(text);
		event->function = call->function;
	}
	gt_event_queue_push(&enrich->result.before, event ? &event->head : NULL);
}

static void add_unwound_stack(struct gt_enrich *enrich, const struct gt_event_memory *memory)
{
	struct gt_event_python *python = NULL;
	struct gt_event_stack *stack = NULL;

	if (!enrich->callers)
		return;
	if (gt_callers_unwind(enrich->callers, memory, &python, &stack))
		enrich->lost++;
	if (python)
		gt_event_queue_push(&enrich->result.before, &python->head);
	if (stack)
		gt_event_queue_push(&enrich->result.before, &stack->head);
}

/* The event of a call, with the number of the stack that was unwound for it. */
static const struct gt_event *set_stack(struct gt_enrich *enrich, const struct gt_event *event)
{
	bool is_call = event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry;
	__u64 stack = enrich->callers && is_call
			      ? gt_callers_of(enrich->callers, (const void *)event)
			      : 0;

	if (!stack)
		return event;
	memcpy(&enrich->copy, event, event->size);
	enrich->copy.call.stack = stack;
	return &enrich->copy.call.head;
}

const struct gt_enriched *gt_enrich_event(struct gt_enrich *enrich, const struct gt_event *event)
{
	struct gt_enriched *result = &enrich->result;

	gt_event_queue_clear(&result->before);
	gt_event_queue_clear(&result->after);
	result->event = NULL;
	switch (event->kind) {
	case GT_EVENT_memory:
		add_unwound_stack(enrich, (const void *)event);
		return result;
	case GT_EVENT_python:
		if (!enrich->callers)
			break;
		enrich->lost += gt_callers_take_python(enrich->callers, (const void *)event) != 0;
		return result;
	case GT_EVENT_process:
		if (is_known_process(enrich, event))
			return result;
		if (event->process)
			enrich_process(enrich, event);
		break;
	case GT_EVENT_mapping:
		learn_mapping(enrich, event);
		break;
	case GT_EVENT_exit:
		if (enrich->pythons)
			gt_pythons_remove(enrich->pythons, event->process);
		break;
	case GT_EVENT_call:
	case GT_EVENT_entry:
	case GT_EVENT_implicit:
		add_missing_string(enrich, (const void *)event);
		break;
	}
	result->event = set_stack(enrich, event);
	return result;
}
