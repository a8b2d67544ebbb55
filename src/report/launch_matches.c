/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/launch_matches.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_STEP = 2048, /* ns: of the timers of GPUs */
	MAX_CAPTURES = 1024,
};

uint64_t gt_launch_name(const char *name)
{
	uint64_t hash = LAUNCHLATE_HASH_START;

	for (int i = 0; i < LAUNCHLATE_NAME - 1 && name[i]; i++)
		hash = (hash ^ (unsigned char)name[i]) * LAUNCHLATE_HASH_FACTOR;
	return hash;
}

struct gt_launch_matches *gt_launch_matches_new(void)
{
	struct gt_launch_matches *matches = calloc(1, sizeof(*matches));

	if (!matches)
		return NULL;
	matches->grids_by_key = gt_hash_new();
	matches->names = gt_hash_new();
	if (matches->grids_by_key && matches->names)
		return matches;
	gt_launch_matches_free(matches);
	return NULL;
}

void gt_launch_matches_free(struct gt_launch_matches *matches)
{
	if (!matches)
		return;
	gt_clock_fit_clear(&matches->fit);
	gt_vec_free(&matches->items);
	gt_vec_free(&matches->calls);
	gt_vec_free(&matches->grids);
	gt_vec_free(&matches->captures);
	gt_hash_free(matches->grids_by_key);
	gt_hash_free_with(matches->names, free);
	free(matches);
}

/* ---- clocks ---------------------------------------------------------------------------- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The timer's step divides all differences of its times. */
static void learn_step(struct gt_launch_matches *matches, uint64_t gpu)
{
	uint64_t difference;

	if (!matches->first_time)
		matches->first_time = gpu;
	difference =
		gpu > matches->first_time ? gpu - matches->first_time : matches->first_time - gpu;
	matches->step = gcd(matches->step, difference);
}

static void add_after(struct gt_launch_matches *matches, uint64_t gpu, uint64_t host)
{
	if (!gpu)
		return;
	learn_step(matches, gpu);
	gt_clock_fit_add_after(&matches->fit, gpu, host);
}

/* ---- events of the host ---------------------------------------------------------------- */

struct launch_handle {
	uint64_t handle;
	uint32_t pid, reserved;
};

static uint64_t name_of(const struct gt_launch_matches *matches, uint32_t pid, uint64_t handle)
{
	const struct launch_handle key = {.handle = handle, .pid = pid};
	const uint64_t *name = gt_hash_get(matches->names, &key, sizeof(key));

	return name ? *name : 0;
}

static void set_name(struct gt_launch_matches *matches, uint32_t pid, uint64_t handle,
		     uint64_t name)
{
	const struct launch_handle key = {.handle = handle, .pid = pid};
	uint64_t *value = gt_hash_get(matches->names, &key, sizeof(key));

	if (!name)
		return;
	if (!value && gt_hash_count(matches->names) < GT_LAUNCH_MATCHES_MAX) {
		value = malloc(sizeof(*value));
		if (value && gt_hash_set(matches->names, &key, sizeof(key), value)) {
			free(value);
			value = NULL;
		}
	}
	if (value)
		*value = name;
	else
		matches->not_counted++;
}

static struct gt_launch_call *find_capture(struct gt_launch_matches *matches, uint32_t pid,
					   uint64_t stream)
{
	gt_vec_each (capture, &matches->captures)
		if (capture->pid == pid && capture->handle == stream)
			return capture;
	return NULL;
}

static void begin_capture(struct gt_launch_matches *matches, const struct launchlate_event *event)
{
	if (!find_capture(matches, event->pid, event->handle) &&
	    matches->captures.count < MAX_CAPTURES)
		gt_vec_push(&matches->captures,
			    (struct gt_launch_call){.pid = event->pid, .handle = event->handle});
}

static void end_capture(struct gt_launch_matches *matches, const struct launchlate_event *event)
{
	struct gt_launch_call *capture = find_capture(matches, event->pid, event->handle);

	if (capture)
		*capture = matches->captures.items[--matches->captures.count];
}

static void add_call(struct gt_launch_matches *matches, const struct launchlate_event *event)
{
	const struct gt_launch_call call = {
		.begin = event->begin,
		.end = event->end,
		.name = name_of(matches, event->pid, event->handle),
		.handle = event->handle,
		.pid = event->pid,
		.tid = event->tid,
		.graph = event->kind == LAUNCHLATE_GRAPH,
	};

	if (event->result)
		matches->failed++;
	else if (event->other && find_capture(matches, event->pid, event->other))
		matches->captured++;
	else if (event->launches > 1)
		matches->several++;
	else if (matches->calls.count == GT_LAUNCH_MATCHES_MAX ||
		 gt_vec_push(&matches->calls, call))
		matches->not_counted++;
}

static void take_event(struct gt_launch_matches *matches, const struct launchlate_event *event)
{
	add_after(matches, event->gpu, event->end);
	switch (event->kind) {
	case LAUNCHLATE_KERNEL:
	case LAUNCHLATE_GRAPH:
		add_call(matches, event);
		return;
	case LAUNCHLATE_SYNC:
		return;
	case LAUNCHLATE_NAMED:
		set_name(matches, event->pid, event->handle, event->other);
		return;
	case LAUNCHLATE_ALIAS:
		set_name(matches, event->pid, event->handle,
			 name_of(matches, event->pid, event->other));
		return;
	case LAUNCHLATE_CAPTURE_BEGIN:
		begin_capture(matches, event);
		return;
	case LAUNCHLATE_CAPTURE_END:
		end_capture(matches, event);
		return;
	default:
		matches->malformed++;
	}
}

/*
 * An event that is written at the moment is read the next time, in its turn: events of a process
 * depend on those before them.
 */
void gt_launch_matches_read(struct gt_launch_matches *matches, const void *shared, uint32_t count,
			    uint64_t gpu, uint64_t now)
{
	const union launchlate_slot *slots = shared;
	uint64_t head;

	if (!slots || count != 1 + LAUNCHLATE_LOG)
		return;
	add_after(matches, gpu, now);
	head = __atomic_load_n(&slots->clocks.head, __ATOMIC_ACQUIRE);
	if (head - matches->read > LAUNCHLATE_LOG) {
		matches->events_lost += head - matches->read - LAUNCHLATE_LOG;
		matches->read = head - LAUNCHLATE_LOG;
	}
	for (; matches->read != head; matches->read++) {
		const struct launchlate_event *event =
			&slots[1 + matches->read % LAUNCHLATE_LOG].event;
		struct launchlate_event copy;

		if (__atomic_load_n(&event->number, __ATOMIC_ACQUIRE) < matches->read + 1)
			return;
		copy = *event;
		if (__atomic_load_n(&event->number, __ATOMIC_ACQUIRE) != matches->read + 1)
			matches->events_lost++;
		else
			take_event(matches, &copy);
	}
}

/* ---- grids ----------------------------------------------------------------------------- */

struct launch_grid_key {
	uint64_t launch;
	uint32_t pid, kernel;
};

void gt_launch_matches_add_grid(struct gt_launch_matches *matches, const void *record,
				uint32_t size, uint64_t name)
{
	struct launchlate_grid grid = {0};
	struct launch_grid_key key;
	uintptr_t number;

	if (size != sizeof(grid)) {
		matches->malformed++;
		return;
	}
	memcpy(&grid, record, sizeof(grid));
	learn_step(matches, grid.time);
	if (grid.host)
		gt_clock_fit_add_before(&matches->fit, grid.host, grid.read);
	key = (struct launch_grid_key){grid.launch, grid.pid, grid.kernel};
	number = (uintptr_t)gt_hash_get(matches->grids_by_key, &key, sizeof(key));
	if (number) {
		struct gt_launch_grid *known = &matches->grids.items[number - 1];

		known->time = grid.time < known->time ? grid.time : known->time;
		return;
	}
	number = matches->grids.count + 1;
	if (matches->grids.count == GT_LAUNCH_MATCHES_MAX ||
	    gt_vec_push(&matches->grids, (struct gt_launch_grid){.launch = grid.launch,
								 .time = grid.time,
								 .name = name,
								 .call_name = name,
								 .pid = grid.pid,
								 .kernel = grid.kernel}) ||
	    gt_hash_set(matches->grids_by_key, &key, sizeof(key), (void *)number))
		matches->not_counted++;
}

/* ---- matching -------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By process, kind and name, then in the order of their begin. */
static int compare_calls(const void *a, const void *b)
{
	const struct gt_launch_call *one = a, *other = b;

	if (one->pid != other->pid)
		return compare_u64(one->pid, other->pid);
	if (one->graph != other->graph)
		return one->graph ? 1 : -1;
	if (one->name != other->name)
		return compare_u64(one->name, other->name);
	return compare_u64(one->begin, other->begin);
}

static int compare_grids(const void *a, const void *b)
{
	const struct gt_launch_grid *one = a, *other = b;

	if (one->pid != other->pid)
		return compare_u64(one->pid, other->pid);
	if (one->call_name != other->call_name)
		return compare_u64(one->call_name, other->call_name);
	return compare_u64(one->launch, other->launch);
}

static void add_match(struct gt_launch_matches *matches, const struct gt_launch_call *call,
		      const struct gt_launch_grid *grid)
{
	if (gt_vec_push(&matches->items, (struct gt_launch_match){.call = call, .grid = grid}))
		matches->not_counted++;
}

/* A run of calls, or of grids, in the sorted arrays. */
struct launch_calls {
	const struct gt_launch_call *items;
	size_t count;
};

static struct launch_calls find_calls(const struct gt_launch_matches *matches, uint32_t pid,
				      bool graph, uint64_t name)
{
	struct launch_calls found = {0};

	gt_vec_each (call, &matches->calls) {
		if (call->pid != pid || call->graph != graph || (!graph && call->name != name))
			continue;
		found.items = found.items ? found.items : call;
		found.count++;
	}
	return found;
}

static void count_ambiguous(struct gt_launch_matches *matches, struct launch_calls calls)
{
	for (size_t i = 1; i < calls.count; i++)
		if (calls.items[i].begin < calls.items[i - 1].end &&
		    calls.items[i].tid != calls.items[i - 1].tid)
			matches->ambiguous++;
}

/* The grids of one kernel name in a process. */
static void match_grids(struct gt_launch_matches *matches, uint32_t pid,
			const struct gt_launch_grid *grids, size_t count)
{
	struct launch_calls calls = find_calls(matches, pid, false, grids->call_name);
	size_t each = 1;

	if (!calls.count) {
		/* Of graphs, if each of their launches has as many of them. */
		calls = find_calls(matches, pid, true, 0);
		each = calls.count && count % calls.count == 0 ? count / calls.count : 0;
	} else if (calls.count != count) {
		matches->calls_unknown += calls.count;
		each = 0;
	}
	if (!each) {
		matches->grids_unknown += count;
		return;
	}
	count_ambiguous(matches, calls);
	for (size_t i = 0; i < count; i++)
		add_match(matches, &calls.items[i / each], &grids[i]);
}

/* Whether all calls, or grids, are of one process; false, too, if there are none. */
static bool is_one_process(const struct gt_launch_matches *matches)
{
	if (!matches->calls.count || !matches->grids.count)
		return false;
	gt_vec_each (call, &matches->calls)
		if (call->pid != matches->calls.items->pid)
			return false;
	gt_vec_each (grid, &matches->grids)
		if (grid->pid != matches->grids.items->pid)
			return false;
	return true;
}

/*
 * Names that are unknown: where all calls of a process have none, and there are as many grids,
 * their order is the same.
 */
static void name_by_order(struct gt_launch_matches *matches)
{
	gt_vec_each (call, &matches->calls)
		if (call->name || call->graph)
			return;
	if (!is_one_process(matches) || matches->calls.count != matches->grids.count)
		return;
	gt_vec_each (grid, &matches->grids)
		grid->call_name = 0;
}

static bool has_grids(const struct gt_launch_matches *matches, uint32_t pid, uint64_t name)
{
	gt_vec_each (grid, &matches->grids)
		if (grid->pid == pid && grid->call_name == name)
			return true;
	return false;
}

/* Calls of which there is no grid at all. */
static void count_calls_without_grids(struct gt_launch_matches *matches,
				      bool (*is_patched)(void *context, uint64_t name),
				      void *context)
{
	const struct gt_launch_call *before = NULL;
	bool without = false;

	gt_vec_each (call, &matches->calls) {
		if (call->graph)
			continue;
		if (!before || before->pid != call->pid || before->name != call->name)
			without = !has_grids(matches, call->pid, call->name);
		before = call;
		if (without && call->name && !is_patched(context, call->name))
			matches->not_patched++;
		else if (without)
			matches->calls_unknown++;
	}
}

static void sort_all(struct gt_launch_matches *matches)
{
	if (matches->calls.count)
		qsort(matches->calls.items, matches->calls.count, sizeof(matches->calls.items[0]),
		      compare_calls);
	if (matches->grids.count)
		qsort(matches->grids.items, matches->grids.count, sizeof(matches->grids.items[0]),
		      compare_grids);
}

/* In a process id namespace Linux knows the process by another number. */
static void join_process_ids(struct gt_launch_matches *matches)
{
	uint32_t pid;

	if (!is_one_process(matches))
		return;
	pid = matches->calls.items->pid;
	gt_vec_each (grid, &matches->grids)
		grid->pid = pid;
}

static void set_latencies(struct gt_launch_matches *matches)
{
	double bound;

	if (!matches->fitted)
		return;
	bound = matches->fit.error + (double)matches->fit.step;
	gt_vec_each (match, &matches->items) {
		match->latency = (int64_t)(gt_clock_fit_host(&matches->fit, match->grid->time) -
					   match->call->begin);
		matches->violations += (double)match->latency < -bound;
	}
}

int gt_launch_matches_solve(struct gt_launch_matches *matches,
			    bool (*is_patched)(void *context, uint64_t name), void *context)
{
	size_t end;
	int error;

	join_process_ids(matches);
	name_by_order(matches);
	sort_all(matches);
	for (size_t i = 0; i < matches->grids.count; i = end) {
		const struct gt_launch_grid *grids = &matches->grids.items[i];

		for (end = i; end < matches->grids.count &&
			      matches->grids.items[end].pid == grids->pid &&
			      matches->grids.items[end].call_name == grids->call_name;)
			end++;
		match_grids(matches, grids->pid, grids, end - i);
	}
	count_calls_without_grids(matches, is_patched, context);
	matches->fit.step = matches->step && matches->step < MAX_STEP ? matches->step : 1;
	error = gt_clock_fit_solve(&matches->fit);
	matches->fitted = !error;
	matches->malformed += matches->fit.ignored;
	set_latencies(matches);
	return error == -ENOMEM ? error : 0;
}
