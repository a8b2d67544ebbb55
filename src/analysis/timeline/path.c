/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/path.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "event/kinds.h"

#define MAX_JUMPS 16 /* from thread to thread without a step back in time */

static const struct {
	const char *name, *title;
} spendings[GT_SPENDINGS] = {
	[GT_SPENT_CPU] = {"cpu", "CPU"},
	[GT_SPENT_SYSCALL] = {"syscall", "system calls"},
	[GT_SPENT_OFF_CPU] = {"off_cpu", "off CPU"},
	[GT_SPENT_API] = {"api", "API overhead"},
	[GT_SPENT_LAUNCH] = {"launch", "launch"},
	[GT_SPENT_COPY] = {"copy_call", "copy calls"},
	[GT_SPENT_WAIT] = {"wait", "synchronization wait"},
	[GT_SPENT_QUEUE] = {"queue", "queue"},
	[GT_SPENT_H2D] = {"h2d", "H2D"},
	[GT_SPENT_KERNEL] = {"kernel", "kernel"},
	[GT_SPENT_D2H] = {"d2h", "D2H"},
	[GT_SPENT_D2D] = {"d2d", "other copies"},
	[GT_SPENT_SET] = {"set", "memset"},
	[GT_SPENT_GRAPH] = {"graph", "graph"},
	[GT_SPENT_WORK] = {"work", "GPU work, mixed"},
};

const char *gt_spending_name(enum gt_spending spending)
{
	return spendings[spending].name;
}

const char *gt_spending_title(enum gt_spending spending)
{
	return spendings[spending].title;
}

int gt_path_init(struct gt_path *path)
{
	*path = (struct gt_path){.by_id = gt_hash_new()};
	return path->by_id ? 0 : -ENOMEM;
}

static void release_thread(void *opaque)
{
	struct gt_path_thread *thread = opaque;

	gt_vec_free(&thread->calls);
	gt_vec_free(&thread->syscalls);
	gt_vec_free(&thread->pauses);
	gt_vec_free(&thread->faults);
	gt_vec_free(&thread->io);
	gt_vec_free(&thread->jobs);
	free(thread);
}

void gt_path_release(struct gt_path *path)
{
	gt_vec_free(&path->threads);
	if (path->by_id)
		gt_hash_free_with(path->by_id, release_thread);
	gt_vec_free(&path->operations);
	gt_vec_free(&path->xids);
	path->by_id = NULL;
}

static struct gt_path_thread *thread_of(struct gt_path *path, uint32_t id)
{
	struct gt_path_thread *thread = gt_hash_get_u64(path->by_id, id);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->thread = id;
	if (gt_vec_push(&path->threads, thread)) {
		free(thread);
		return NULL;
	}
	if (!gt_hash_set_u64(path->by_id, id, thread))
		return thread;
	path->threads.count--;
	free(thread);
	return NULL;
}

static struct gt_path_pause pause_of(const struct gt_host_interval *interval)
{
	const struct gt_event_off_cpu *event = (const void *)interval->event;
	struct gt_path_pause pause = {
		.start = interval->start,
		.end = interval->end,
		.name = interval->name,
		.failed = interval->failed,
	};
	size_t length;
	const char *waker;

	if (interval->activity != GT_HOST_OFF_CPU)
		return pause;
	pause.runnable = event->runnable < event->duration ? event->runnable : event->duration;
	pause.waker = event->waker_thread;
	pause.state = event->state;
	waker = gt_event_text(&event->head, &length);
	memcpy(pause.waker_name, waker,
	       length < sizeof(pause.waker_name) ? length : sizeof(pause.waker_name) - 1);
	return pause;
}

int gt_path_take_host(struct gt_path *path, const struct gt_host_interval *interval)
{
	struct gt_path_thread *thread = thread_of(path, interval->thread);

	if (!thread)
		return -ENOMEM;
	path->count++;
	if (gt_host_is_call(interval->activity)) {
		thread->has_called = true;
		return gt_vec_push(&thread->calls, (struct gt_path_call){
							   .start = interval->start,
							   .end = interval->end,
							   .name = interval->name,
							   .activity = (uint8_t)interval->activity,
							   .failed = interval->failed,
						   });
	}
	if (interval->activity == GT_HOST_SYSCALL)
		return gt_vec_push(&thread->syscalls, pause_of(interval));
	if (interval->activity == GT_HOST_OFF_CPU)
		return gt_vec_push(&thread->pauses, pause_of(interval));
	if (interval->activity == GT_HOST_FAULT)
		return gt_vec_push(
			&thread->faults,
			(struct gt_path_request){
				.start = interval->start,
				.end = interval->end,
				.address = ((const struct gt_event_page_fault *)interval->event)
						   ->address,
			});
	return 0;
}

static int take_xid(struct gt_path *path, const struct gt_event *event)
{
	struct gt_path_xid xid = {
		.end = event->time,
		.code = ((const struct gt_event_nvidia_xid *)event)->code,
	};
	size_t length;
	const char *text = gt_event_text(event, &length);

	memcpy(xid.text, text, length < sizeof(xid.text) ? length : sizeof(xid.text) - 1);
	path->count++;
	return gt_vec_push(&path->xids, xid);
}

int gt_path_take_event(struct gt_path *path, const struct gt_event *event)
{
	const struct gt_event_block_io *io = (const void *)event;
	struct gt_path_thread *thread;

	if (event->kind == GT_EVENT_nvidia_xid)
		return take_xid(path, event);
	if (event->kind != GT_EVENT_block_io)
		return 0;
	thread = thread_of(path, event->thread);
	if (!thread)
		return -ENOMEM;
	path->count++;
	return gt_vec_push(&thread->io, (struct gt_path_request){
						.start = event->time - io->duration - io->queued,
						.end = event->time,
						.bytes = io->bytes,
					});
}

int gt_path_take_job(struct gt_path *path, const struct gt_job_chain *chain)
{
	struct gt_path_thread *thread = thread_of(path, chain->thread);

	if (!thread)
		return -ENOMEM;
	path->count++;
	return gt_vec_push(&thread->jobs,
			   (struct gt_path_job){.chain = *chain, .end = gt_job_chain_end(chain)});
}

int gt_path_take_gpu(struct gt_path *path, const struct gt_gpu_interval *interval)
{
	const struct gt_path_operation operation = {
		.number = interval->number,
		.submitted = interval->submitted,
		.released = interval->released,
		.start = interval->start,
		.end = interval->end,
		.releaser = interval->releaser,
		.bytes = interval->bytes,
		.has_bytes = interval->has_bytes,
		.wait_start = interval->wait.start,
		.wait_end = interval->wait.end,
		.blocks = interval->blocks,
		.kernel = interval->kernel,
		.thread = interval->thread,
		.wait_thread = interval->wait.thread,
		.queue = interval->queue,
		.shares = interval->shares,
		.device = interval->device,
		.operation = (uint8_t)interval->operation,
		.basis = (uint8_t)interval->basis,
		.release = (uint8_t)interval->release,
		.memory = (uint8_t)interval->memory,
	};

	path->count++;
	return gt_vec_push(&path->operations, operation);
}

static int compare_numbers(const void *left, const void *right)
{
	const struct gt_path_operation *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

const struct gt_path_operation *gt_path_find(const struct gt_path *path, uint64_t number)
{
	const struct gt_path_operation key = {.number = number};

	return path->operations.count
		       ? bsearch(&key, path->operations.items, path->operations.count, sizeof(key),
				 compare_numbers)
		       : NULL;
}

/* How many of the thread's calls begin before a time. */
static size_t calls_before(const struct gt_path_thread *thread, uint64_t time)
{
	size_t low = 0, high = thread->calls.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->calls.items[middle].start < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_sorted(const struct gt_path *path)
{
	for (size_t i = 1; i < path->operations.count; i++)
		if (path->operations.items[i].number < path->operations.items[i - 1].number)
			return false;
	return true;
}

static void join_wait(struct gt_path *path, uint32_t index)
{
	const struct gt_path_operation *operation = &path->operations.items[index];
	struct gt_path_thread *thread = gt_hash_get_u64(path->by_id, operation->wait_thread);
	size_t before = thread ? calls_before(thread, operation->wait_start + 1) : 0;
	struct gt_path_call *call = before ? &thread->calls.items[before - 1] : NULL;

	if (!call || call->start != operation->wait_start || call->end != operation->wait_end)
		return;
	if (!call->operation || path->operations.items[call->operation - 1].end <= operation->end)
		call->operation = index + 1;
}

void gt_path_prepare(struct gt_path *path)
{
	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls)
			call->operation = 0;
	if (!is_sorted(path))
		qsort(path->operations.items, path->operations.count,
		      sizeof(*path->operations.items), compare_numbers);
	for (size_t i = 0; i < path->operations.count && i < UINT32_MAX - 1; i++)
		if (path->operations.items[i].wait_thread)
			join_wait(path, (uint32_t)i);
}

#define drop_before(vec, time)                                                                     \
	do {                                                                                       \
		size_t kept = 0;                                                                   \
                                                                                                   \
		for (size_t i = 0; i < (vec)->count; i++)                                          \
			if ((vec)->items[i].end > (time))                                          \
				(vec)->items[kept++] = (vec)->items[i];                            \
		(vec)->count = kept;                                                               \
	} while (0)

void gt_path_drop(struct gt_path *path, uint64_t before)
{
	path->count = 0;
	gt_vec_each (item, &path->threads) {
		struct gt_path_thread *thread = *item;

		drop_before(&thread->calls, before);
		drop_before(&thread->syscalls, before);
		drop_before(&thread->pauses, before);
		drop_before(&thread->faults, before);
		drop_before(&thread->io, before);
		drop_before(&thread->jobs, before);
		path->count += thread->calls.count + thread->syscalls.count + thread->pauses.count +
			       thread->faults.count + thread->io.count + thread->jobs.count;
	}
	/* The last Xid is kept: it explains errors for as long as the process runs. */
	if (path->xids.count > 1) {
		path->xids.items[0] = path->xids.items[path->xids.count - 1];
		path->xids.count = 1;
	}
	drop_before(&path->operations, before);
	path->count += path->operations.count;
}

struct path_walk {
	const struct gt_path *path;
	uint64_t begin, time;
	const struct gt_path_thread *thread;
	const struct gt_path_operation *operation; /* NULL: in the thread */
	bool submitted; /* the path came from an operation to the call that submitted it */
	bool host_only;
	unsigned jumps;
	gt_path_sink sink;
	void *context;
};

/* Spend the time back to `start`. */
static void spend(struct path_walk *walk, uint64_t start, struct gt_path_segment segment)
{
	segment.start = start < walk->begin ? walk->begin : start;
	segment.end = walk->time;
	if (segment.start >= segment.end)
		return;
	walk->jumps = 0;
	walk->time = segment.start;
	walk->sink(walk->context, &segment);
}

/* The last pause of those that begin before a time, unless it ends at `after` or before. */
static const struct gt_path_pause *last_pause(const struct gt_path_pause *items, size_t count,
					      uint64_t time, uint64_t after)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].start < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && items[low - 1].end > after ? &items[low - 1] : NULL;
}

const struct gt_path_pause *gt_path_syscall_at(const struct gt_path *path, uint32_t id,
					       uint64_t time)
{
	const struct gt_path_thread *thread = gt_hash_get_u64(path->by_id, id);

	return thread ? last_pause(thread->syscalls.items, thread->syscalls.count, time + 1, time)
		      : NULL;
}

/* A thread ran from `start` on, in system calls or outside of them. */
static void spend_running(struct path_walk *walk, uint64_t start)
{
	const struct gt_path_thread *thread = walk->thread;
	const struct gt_path_pause *syscall;

	while (walk->time > start && walk->time > walk->begin) {
		syscall = last_pause(thread->syscalls.items, thread->syscalls.count, walk->time,
				     start);
		if (syscall && syscall->end < walk->time)
			spend(walk, syscall->end,
			      (struct gt_path_segment){GT_SPENT_CPU, .thread = thread->thread});
		else if (syscall)
			spend(walk, syscall->start > start ? syscall->start : start,
			      (struct gt_path_segment){GT_SPENT_SYSCALL, .thread = thread->thread,
						       .pause = syscall});
		else
			spend(walk, start,
			      (struct gt_path_segment){GT_SPENT_CPU, .thread = thread->thread});
	}
}

/* The thread that woke this one, if the path can continue there. */
static const struct gt_path_thread *waker_of(const struct path_walk *walk,
					     const struct gt_path_pause *pause)
{
	const struct gt_path_thread *waker =
		pause->state && pause->waker ? gt_hash_get_u64(walk->path->by_id, pause->waker)
					     : NULL;

	if (!waker || waker == walk->thread || walk->jumps >= MAX_JUMPS)
		return NULL;
	return calls_before(waker, walk->time) ? waker : NULL;
}

/* A time off the CPU up to now. */
static void spend_pause(struct path_walk *walk, const struct gt_path_pause *pause, uint64_t start)
{
	struct gt_path_segment segment = {GT_SPENT_OFF_CPU, .thread = walk->thread->thread,
					  .pause = pause};
	const struct gt_path_thread *waker;

	if (pause->end - pause->runnable < walk->time)
		spend(walk,
		      pause->end - pause->runnable > start ? pause->end - pause->runnable : start,
		      segment);
	if (walk->time <= start || walk->time <= pause->start)
		return;
	waker = waker_of(walk, pause);
	if (!waker) {
		spend(walk, pause->start > start ? pause->start : start, segment);
		return;
	}
	segment.start = pause->start;
	segment.end = walk->time;
	segment.woken = true;
	walk->sink(walk->context, &segment);
	walk->thread = waker;
	walk->jumps++;
}

/* The thread was outside of calls from `start` on. */
static void walk_outside(struct path_walk *walk, uint64_t start)
{
	const struct gt_path_thread *thread = walk->thread;
	const struct gt_path_pause *pause =
		last_pause(thread->pauses.items, thread->pauses.count, walk->time, start);

	if (!pause || pause->end < walk->time)
		spend_running(walk, pause ? pause->end : start);
	else
		spend_pause(walk, pause, start);
}

static enum gt_spending spending_of_call(enum gt_host_activity activity)
{
	static const enum gt_spending by_activity[GT_HOST_ACTIVITIES] = {
		[GT_HOST_API] = GT_SPENT_API,   [GT_HOST_LAUNCH] = GT_SPENT_LAUNCH,
		[GT_HOST_COPY] = GT_SPENT_COPY, [GT_HOST_BLOCKED] = GT_SPENT_COPY,
		[GT_HOST_WAIT] = GT_SPENT_WAIT,
	};

	return by_activity[activity];
}

static enum gt_spending spending_of_operation(const struct gt_path_operation *operation)
{
	static const enum gt_spending by_operation[] = {
		[GT_GPU_KERNEL] = GT_SPENT_KERNEL,
		[GT_GPU_COPY] = GT_SPENT_D2D,
		[GT_GPU_COPY_TO_DEVICE] = GT_SPENT_H2D,
		[GT_GPU_COPY_TO_HOST] = GT_SPENT_D2H,
		[GT_GPU_COPY_ON_DEVICE] = GT_SPENT_D2D,
		[GT_GPU_COPY_PEER] = GT_SPENT_D2D,
		[GT_GPU_SET] = GT_SPENT_SET,
		[GT_GPU_GRAPH] = GT_SPENT_GRAPH,
	};

	return operation->shares > 1 ? GT_SPENT_WORK : by_operation[operation->operation];
}

static void walk_host(struct path_walk *walk)
{
	size_t before = calls_before(walk->thread, walk->time);
	const struct gt_path_call *call = before ? &walk->thread->calls.items[before - 1] : NULL;
	const struct gt_path_operation *waited =
		call && call->operation && !walk->submitted && !walk->host_only
			? &walk->path->operations.items[call->operation - 1]
			: NULL;

	walk->submitted = false;
	if (!call || call->end < walk->time) {
		walk_outside(walk, call && call->end > walk->begin ? call->end : walk->begin);
		return;
	}
	if (waited && waited->end > call->start && waited->start < walk->time) {
		spend(walk, waited->end,
		      (struct gt_path_segment){GT_SPENT_WAIT, .thread = walk->thread->thread,
					       .call = call, .operation = waited});
		walk->operation = waited;
		return;
	}
	spend(walk, call->start,
	      (struct gt_path_segment){spending_of_call((enum gt_host_activity)call->activity),
				       .thread = walk->thread->thread, .call = call});
}

/* From an operation to what released it. */
static void walk_release(struct path_walk *walk)
{
	const struct gt_path_operation *operation = walk->operation;
	const struct gt_path_operation *releaser =
		operation->release != GT_RELEASE_SUBMISSION
			? gt_path_find(walk->path, operation->releaser)
			: NULL;
	const struct gt_path_thread *thread;

	spend(walk, operation->released,
	      (struct gt_path_segment){GT_SPENT_QUEUE, .operation = operation});
	/* Numbers decrease: the walk ends. */
	if (releaser && releaser->number < operation->number) {
		walk->operation = releaser;
		return;
	}
	walk->operation = NULL;
	thread = gt_hash_get_u64(walk->path->by_id, operation->thread);
	walk->thread = thread ? thread : walk->thread;
	walk->submitted = true;
	if (operation->submitted < walk->time)
		spend(walk, operation->submitted,
		      (struct gt_path_segment){GT_SPENT_QUEUE, .operation = operation});
}

static void walk_operation(struct path_walk *walk)
{
	spend(walk, walk->operation->start,
	      (struct gt_path_segment){spending_of_operation(walk->operation),
				       .operation = walk->operation});
	walk_release(walk);
}

static void run_walk(struct path_walk *walk)
{
	while (walk->time > walk->begin) {
		if (walk->operation)
			walk_operation(walk);
		else if (walk->thread)
			walk_host(walk);
		else
			spend(walk, walk->begin,
			      (struct gt_path_segment){.spending = GT_SPENT_CPU});
	}
}

/* The thread that made the last call that began before a time. */
static const struct gt_path_thread *last_thread(const struct gt_path *path, uint64_t time)
{
	const struct gt_path_thread *last = NULL;
	uint64_t end = 0;

	gt_vec_each (thread, &path->threads) {
		size_t before = calls_before(*thread, time);

		if (before && (*thread)->calls.items[before - 1].end >= end) {
			last = *thread;
			end = last->calls.items[before - 1].end;
		}
	}
	return last;
}

void gt_path_walk(const struct gt_path *path, uint64_t begin, uint64_t end, bool host_only,
		  gt_path_sink sink, void *context)
{
	struct path_walk walk = {
		.path = path,
		.begin = begin,
		.time = end,
		.thread = last_thread(path, end),
		.host_only = host_only,
		.sink = sink,
		.context = context,
	};

	run_walk(&walk);
}

void gt_path_walk_operation(const struct gt_path *path, uint64_t begin,
			    const struct gt_path_operation *operation, bool from_end,
			    gt_path_sink sink, void *context)
{
	struct path_walk walk = {
		.path = path,
		.begin = begin,
		.time = from_end ? operation->end : operation->start,
		.thread = gt_hash_get_u64(path->by_id, operation->thread),
		.operation = operation,
		.sink = sink,
		.context = context,
	};

	run_walk(&walk);
}

void gt_path_walk_call(const struct gt_path *path, const struct gt_path_thread *thread,
		       const struct gt_path_call *call, gt_path_sink sink, void *context)
{
	struct path_walk walk = {
		.path = path,
		.begin = call->start,
		.time = call->end,
		.thread = thread,
		.sink = sink,
		.context = context,
	};

	run_walk(&walk);
}
