/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/leaks.h"

#include <string.h>

#include "analysis/chains.h"
#include "analysis/memory.h"
#include "base/clean.h"
#include "base/hash.h"
#include "base/vec.h"

/* Key of a row; without padding. */
struct leak_key {
	struct gt_group group;
	uint32_t generation; /* of the process: ids come again */
	uint32_t function;
	uint32_t state;
	uint32_t space;
};

struct leak_process {
	struct gt_memory_process public;
	uint32_t generation;
	char *name; /* once it ended */
};

struct gt_leaks {
	enum gt_by by;
	struct gt_operations *operations;
	struct gt_memory *memory;
	struct gt_hash *processes; /* id -> the one that has it now */
	GT_VEC(struct leak_process *) all;
	GT_VEC(const struct gt_memory_process *) shown;
	struct gt_hash *gone; /* struct leak_key -> struct gt_leak: of memory that went */
	GT_VEC(struct gt_leak) rows;
	GT_VEC(char *) names; /* of processes and functions in `gone` */
};

static int take_change(void *opaque, const struct gt_names *names,
		       const struct gt_memory_change *change);

const char *gt_leak_state_name(enum gt_leak_state state)
{
	static const char *const names[GT_LEAK_STATES] = {"live", "exit", "reset", "context"};

	return names[state];
}

struct gt_leaks *gt_leaks_new(enum gt_by by)
{
	gt_auto(leaks) struct gt_leaks *leaks = calloc(1, sizeof(*leaks));

	if (!leaks)
		return NULL;
	leaks->by = by;
	leaks->operations = gt_operations_new();
	leaks->memory = gt_memory_new(false, take_change, leaks);
	leaks->processes = gt_hash_new();
	leaks->gone = gt_hash_new();
	if (!leaks->operations || !leaks->memory || !leaks->processes || !leaks->gone)
		return NULL;
	return gt_take(leaks);
}

void gt_leaks_free(struct gt_leaks *leaks)
{
	if (!leaks)
		return;
	gt_operations_free(leaks->operations);
	gt_memory_free(leaks->memory);
	gt_hash_free(leaks->processes);
	gt_vec_each (process, &leaks->all) {
		gt_histogram_free(&(*process)->public.latency);
		free((*process)->name);
		free(*process);
	}
	gt_vec_free(&leaks->all);
	gt_vec_free(&leaks->shown);
	if (leaks->gone)
		gt_hash_free_with(leaks->gone, free);
	gt_vec_free(&leaks->rows);
	gt_vec_each (name, &leaks->names)
		free(*name);
	gt_vec_free(&leaks->names);
	free(leaks);
}

static struct leak_process *process_of(struct gt_leaks *leaks, uint32_t id, uint64_t time)
{
	struct leak_process *process = gt_hash_get_u64(leaks->processes, id);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->public.process = id;
	process->public.first = time;
	process->generation = (uint32_t)leaks->all.count;
	if (gt_vec_push(&leaks->all, process)) {
		free(process);
		return NULL;
	}
	return gt_hash_set_u64(leaks->processes, id, process) ? NULL : process;
}

static struct leak_key key_of(const struct gt_leaks *leaks, const struct gt_names *names,
			      const struct leak_process *process,
			      const struct gt_allocation *allocation, enum gt_leak_state state,
			      uint64_t now)
{
	struct leak_key key = {
		.group.process = allocation->process,
		.generation = process->generation,
		.state = state,
		.space = allocation->space,
	};

	switch (leaks->by) {
	case GT_BY_STACK:
		key.group.number = allocation->stack;
		key.function = allocation->function;
		break;
	case GT_BY_SIZE:
		key.group.number = allocation->bytes;
		break;
	case GT_BY_AGE:
		key.group.number = gt_age_of(now - allocation->time);
		break;
	case GT_BY_DEVICE:
		key.group = gt_group_of_device(names, allocation->process, allocation->device);
		key.group.process = allocation->process;
		break;
	case GT_BY_CONTEXT:
		key.group.number = allocation->context_number;
		break;
	default:
		break;
	}
	return key;
}

static void add_to(struct gt_leak *leak, const struct gt_allocation *allocation, uint64_t now)
{
	uint64_t age = now > allocation->time ? now - allocation->time : 0;

	if (!leak->count || age > leak->oldest)
		leak->oldest = age;
	if (!leak->count || age < leak->newest)
		leak->newest = age;
	leak->count++;
	leak->bytes += allocation->bytes;
	leak->unknown += !allocation->has_bytes;
}

/* Names from the stream, which may change or be forgotten, as long as the analysis lasts. */
static const char *keep_name(struct gt_leaks *leaks, const char *name)
{
	char *copy;

	gt_vec_each (known, &leaks->names)
		if (!strcmp(*known, name))
			return *known;
	copy = strdup(name);
	if (copy && gt_vec_push(&leaks->names, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static struct gt_leak *row_in(struct gt_leaks *leaks, struct gt_hash *rows,
			      const struct gt_names *names, const struct leak_key *key,
			      const struct leak_process *process,
			      const struct gt_allocation *allocation)
{
	struct gt_leak *leak = gt_hash_get(rows, key, sizeof(*key));

	if (leak)
		return leak;
	leak = calloc(1, sizeof(*leak));
	if (!leak)
		return NULL;
	leak->state = key->state;
	leak->space = key->space;
	leak->group = gt_group_with_ordinal(key->group, allocation->device);
	if (leaks->by == GT_BY_STACK)
		leak->function = keep_name(leaks, gt_names_function(names, key->function));
	leak->process_name =
		keep_name(leaks, process->name ? process->name
					       : gt_names_process(names, process->public.process));
	if (!leak->process_name || gt_hash_set(rows, key, sizeof(*key), leak)) {
		free(leak);
		return NULL;
	}
	return leak;
}

static bool is_on_device(enum gt_memory_space space)
{
	return space != GT_SPACE_HOST;
}

static uint64_t device_bytes(const struct leak_process *process)
{
	uint64_t bytes = 0;

	for (int space = 0; space < GT_SPACES; space++)
		if (is_on_device(space))
			bytes += process->public.use[space].current;
	return bytes;
}

static void count_allocated(struct leak_process *process, const struct gt_allocation *allocation)
{
	struct gt_memory_use *use = &process->public.use[allocation->space];
	uint64_t bytes;

	use->allocations++;
	use->live++;
	use->allocated_bytes += allocation->bytes;
	use->current += allocation->bytes;
	if (use->current > use->peak)
		use->peak = use->current;
	bytes = device_bytes(process);
	if (bytes > process->public.peak)
		process->public.peak = bytes;
}

static void count_gone(struct leak_process *process, const struct gt_allocation *allocation)
{
	struct gt_memory_use *use = &process->public.use[allocation->space];

	use->live--;
	use->current -= allocation->bytes;
}

static int count_left(struct gt_leaks *leaks, const struct gt_names *names,
		      struct leak_process *process, const struct gt_memory_change *change,
		      enum gt_leak_state state)
{
	struct leak_key key =
		key_of(leaks, names, process, change->allocation, state, change->time);
	struct gt_leak *leak = row_in(leaks, leaks->gone, names, &key, process, change->allocation);

	if (!leak)
		return -ENOMEM;
	add_to(leak, change->allocation, change->time);
	count_gone(process, change->allocation);
	process->public.left[state]++;
	process->public.left_bytes[state] += change->allocation->bytes;
	return 0;
}

static int take_change(void *opaque, const struct gt_names *names,
		       const struct gt_memory_change *change)
{
	struct gt_leaks *leaks = opaque;
	struct leak_process *process = process_of(leaks, change->process, change->time);
	struct gt_memory_process *counts;

	if (!process)
		return -ENOMEM;
	counts = &process->public;
	if (change->time > counts->last)
		counts->last = change->time;
	switch (change->what) {
	case GT_MEMORY_ALLOCATED:
		count_allocated(process, change->allocation);
		return gt_histogram_add(&counts->latency, change->operation->event->duration);
	case GT_MEMORY_UNTRACKED:
		counts->untracked++;
		return gt_histogram_add(&counts->latency, change->operation->event->duration);
	case GT_MEMORY_IN_GRAPH:
		counts->in_graphs++;
		return 0;
	case GT_MEMORY_FREED:
		count_gone(process, change->allocation);
		counts->use[change->allocation->space].frees++;
		return 0;
	case GT_MEMORY_REPLACED:
		count_gone(process, change->allocation);
		counts->replaced++;
		return 0;
	case GT_MEMORY_RELEASE_SEEN:
		counts->replaced--;
		counts->use[change->allocation->space].frees++;
		return 0;
	case GT_MEMORY_ALLOC_FAILED:
		counts->failed++;
		return 0;
	case GT_MEMORY_FREE_FAILED:
		counts->free_failed++;
		return 0;
	case GT_MEMORY_FREED_TWICE:
		counts->freed_twice++;
		return 0;
	case GT_MEMORY_FREED_FOREIGN:
		counts->freed_foreign++;
		return 0;
	case GT_MEMORY_FREED_UNSEEN:
		counts->freed_unseen++;
		return 0;
	case GT_MEMORY_LEFT_TO_RESET:
		return count_left(leaks, names, process, change, GT_LEAK_RESET);
	case GT_MEMORY_LEFT_TO_CONTEXT:
		return count_left(leaks, names, process, change, GT_LEAK_CONTEXT);
	case GT_MEMORY_LEFT_TO_EXIT:
		return count_left(leaks, names, process, change, GT_LEAK_EXIT);
	}
	return 0;
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_leaks *leaks = opaque;

	return gt_memory_take(leaks->memory, names, operation);
}

static int end_process(struct gt_leaks *leaks, const struct gt_names *names,
		       const struct gt_event *event)
{
	struct leak_process *process = gt_hash_get_u64(leaks->processes, event->process);
	int error;

	if (!process)
		return gt_memory_end_process(leaks->memory, names, event->process, event->time);
	process->name = strdup(gt_names_process(names, event->process));
	if (!process->name)
		return -ENOMEM;
	error = gt_memory_end_process(leaks->memory, names, event->process, event->time);
	process->public.ended = true;
	gt_hash_remove_u64(leaks->processes, event->process);
	return error;
}

int gt_leaks_take(struct gt_leaks *leaks, const struct gt_names *names,
		  const struct gt_event *event)
{
	int error = gt_operations_take(leaks->operations, names, event, take_operation, leaks);

	if (!error && event->kind == GT_EVENT_exit)
		error = end_process(leaks, names, event);
	return error;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_leak *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	if (left->group.process != right->group.process)
		return left->group.process < right->group.process ? -1 : 1;
	return left->group.number < right->group.number ? -1
							: left->group.number > right->group.number;
}

static int gather_rows(struct gt_leaks *leaks, const struct gt_hash *rows,
		       struct gt_leaks_totals *totals)
{
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(rows, &cursor, NULL, NULL, &value)) {
		const struct gt_leak *leak = value;

		totals->count[leak->state] += leak->count;
		totals->bytes[leak->state] += leak->bytes;
		if (gt_vec_push(&leaks->rows, *leak))
			return -ENOMEM;
	}
	return 0;
}

static int gather_live(struct gt_leaks *leaks, struct gt_hash *rows, const struct gt_names *names,
		       uint64_t now)
{
	struct gt_memory_cursor cursor = {0};
	const struct gt_allocation *allocation;

	while ((allocation = gt_memory_next(leaks->memory, &cursor))) {
		const struct leak_process *process =
			process_of(leaks, allocation->process, allocation->time);
		struct gt_leak *leak;
		struct leak_key key;

		if (!process)
			return -ENOMEM;
		key = key_of(leaks, names, process, allocation, GT_LEAK_LIVE, now);
		leak = row_in(leaks, rows, names, &key, process, allocation);
		if (!leak)
			return -ENOMEM;
		add_to(leak, allocation, now);
	}
	return 0;
}

/* Rows that are one but for their stacks, and whose stacks read alike, are neighbors. */
static int compare_merged(const void *a, const void *b)
{
	const struct gt_leak *left = a, *right = b;
	const uint64_t pairs[][2] = {
		{left->group.process, right->group.process},
		{left->group.number, right->group.number},
		{left->state, right->state},
		{left->space, right->space},
		{(uintptr_t)left->function, (uintptr_t)right->function},
		{(uintptr_t)left->process_name, (uintptr_t)right->process_name},
	};

	for (size_t i = 0; i < gt_countof(pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] < pairs[i][1] ? -1 : 1;
	return 0;
}

static void add_row(struct gt_leak *to, const struct gt_leak *row)
{
	to->count += row->count;
	to->bytes += row->bytes;
	to->unknown += row->unknown;
	if (row->oldest > to->oldest)
		to->oldest = row->oldest;
	if (row->newest < to->newest)
		to->newest = row->newest;
}

/* Merge rows of stacks with equal callers. */
static int merge_stacks(struct gt_leaks *leaks, const struct gt_names *names)
{
	gt_auto(chains) struct gt_chains *chains = gt_chains_new(names);
	size_t kept = 0;

	if (!chains)
		return -ENOMEM;
	gt_vec_each (row, &leaks->rows)
		row->group = gt_group_now(GT_BY_STACK, names, chains, &row->group);
	if (leaks->rows.count)
		qsort(leaks->rows.items, leaks->rows.count, sizeof(*leaks->rows.items),
		      compare_merged);
	gt_vec_each (row, &leaks->rows) {
		struct gt_leak *last = kept ? &leaks->rows.items[kept - 1] : NULL;

		if (last && !compare_merged(last, row))
			add_row(last, row);
		else
			leaks->rows.items[kept++] = *row;
	}
	leaks->rows.count = kept;
	return 0;
}

int gt_leaks_rows(struct gt_leaks *leaks, const struct gt_names *names, uint64_t now,
		  const struct gt_leak **ret_rows, size_t *ret_count,
		  struct gt_leaks_totals *ret_totals)
{
	struct gt_hash *live = gt_hash_new();
	struct gt_leaks_totals totals = {0};
	int error = live ? gather_live(leaks, live, names, now) : -ENOMEM;

	leaks->rows.count = 0;
	if (!error)
		error = gather_rows(leaks, leaks->gone, &totals);
	if (!error)
		error = gather_rows(leaks, live, &totals);
	if (live)
		gt_hash_free_with(live, free);
	if (!error && leaks->by == GT_BY_STACK)
		error = merge_stacks(leaks, names);
	if (error)
		return error;
	if (leaks->rows.count)
		qsort(leaks->rows.items, leaks->rows.count, sizeof(*leaks->rows.items),
		      compare_rows);
	*ret_rows = leaks->rows.items;
	*ret_count = leaks->rows.count;
	*ret_totals = totals;
	return 0;
}

int gt_leaks_processes(struct gt_leaks *leaks, const struct gt_names *names,
		       const struct gt_memory_process *const **ret_processes, size_t *ret_count)
{
	leaks->shown.count = 0;
	gt_vec_each (process, &leaks->all) {
		const char *name = (*process)->name;

		if (!name)
			name = gt_names_process(names, (*process)->public.process);
		(*process)->public.name = name;
		if (gt_vec_push(&leaks->shown, &(*process)->public))
			return -ENOMEM;
	}
	*ret_processes = leaks->shown.items;
	*ret_count = leaks->shown.count;
	return 0;
}
