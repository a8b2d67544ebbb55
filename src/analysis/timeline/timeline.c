/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/timeline.h"

#include <errno.h>

#include "analysis/graphs.h"
#include "analysis/memory.h"
#include "analysis/timeline/pending.h"
#include "event/kinds.h"
#include "kernel/syscalls.h"

struct gt_timeline {
	struct gt_timeline_sink sink;
	struct gt_timeline_totals totals;
	struct gt_operations *operations;
	struct gt_memory *memory;
	struct gt_order *order;
	struct pending *pending;
	uint64_t now;                  /* the latest time of an event */
	struct pending_thread *thread; /* of the call or operation that is being taken */
	/* Of the call that is being taken: */
	const struct gt_event *event;
	bool is_outermost; /* `event` is an outermost call, which is passed on after its operations
			    */
	struct gt_timeline_waited waited; /* of that call */
	enum gt_host_activity activity;
};

const char *gt_host_activity_name(enum gt_host_activity activity)
{
	static const char *const names[GT_HOST_ACTIVITIES] = {
		"api", "launch", "copy", "blocked", "wait", "syscall", "fault", "off_cpu"};

	return names[activity];
}

const char *gt_times_basis_name(enum gt_times_basis basis)
{
	static const char *const names[GT_TIMES_BASES] = {"exact", "measured", "estimated"};

	return names[basis];
}

const char *gt_gpu_operation_name(enum gt_gpu_operation operation)
{
	static const char *const names[] = {
		[GT_GPU_KERNEL] = "kernel",
		[GT_GPU_COPY] = "copy",
		[GT_GPU_COPY_TO_DEVICE] = "H2D",
		[GT_GPU_COPY_TO_HOST] = "D2H",
		[GT_GPU_COPY_ON_DEVICE] = "D2D",
		[GT_GPU_COPY_PEER] = "P2P",
		[GT_GPU_SET] = "set",
		[GT_GPU_GRAPH] = "graph",
	};

	return names[operation];
}

bool gt_gpu_interval_contradicts(const struct gt_gpu_interval *interval)
{
	return interval->basis != GT_TIMES_ESTIMATED &&
	       (interval->end + interval->error < interval->submitted ||
		(interval->wait.number && interval->end > interval->wait.end + interval->error));
}

static int pass_on_change(void *context, const struct gt_names *names,
			  const struct gt_memory_change *change)
{
	const struct gt_timeline_sink *sink = &((struct gt_timeline *)context)->sink;

	return sink->memory ? sink->memory(sink->context, names, change) : 0;
}

struct gt_timeline *gt_timeline_new(const struct gt_timeline_sink *sink)
{
	gt_auto(timeline) struct gt_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->sink = *sink;
	timeline->operations = gt_operations_new();
	timeline->memory = gt_memory_new(true, pass_on_change, timeline);
	timeline->order = gt_order_new();
	timeline->pending = pending_new(sink, &timeline->totals);
	if (!timeline->operations || !timeline->memory || !timeline->order || !timeline->pending)
		return NULL;
	return gt_take(timeline);
}

void gt_timeline_free(struct gt_timeline *timeline)
{
	if (!timeline)
		return;
	gt_operations_free(timeline->operations);
	gt_memory_free(timeline->memory);
	gt_order_free(timeline->order);
	pending_free(timeline->pending);
	free(timeline);
}

const struct gt_timeline_totals *gt_timeline_totals(const struct gt_timeline *timeline)
{
	return &timeline->totals;
}

static enum gt_host_activity activity_of(const struct gt_operation *operation, bool waits)
{
	if (operation->capture)
		return GT_HOST_API;
	switch (operation->kind) {
	case GT_OPERATION_LAUNCH:
		return GT_HOST_LAUNCH;
	case GT_OPERATION_COPY:
	case GT_OPERATION_SET:
		return waits ? GT_HOST_BLOCKED : GT_HOST_COPY;
	case GT_OPERATION_SYNC:
	case GT_OPERATION_EVENT_SYNC:
		return GT_HOST_WAIT;
	default:
		return GT_HOST_API;
	}
}

static enum gt_gpu_operation copy_operation(enum gt_direction direction)
{
	switch (direction) {
	case GT_HOST_TO_DEVICE:
		return GT_GPU_COPY_TO_DEVICE;
	case GT_DEVICE_TO_HOST:
		return GT_GPU_COPY_TO_HOST;
	case GT_DEVICE_TO_DEVICE:
		return GT_GPU_COPY_ON_DEVICE;
	case GT_PEER_TO_PEER:
		return GT_GPU_COPY_PEER;
	default:
		return GT_GPU_COPY;
	}
}

static enum gt_gpu_operation gpu_operation_of(const struct gt_operation *operation,
					      const struct gt_copy_traits *copy)
{
	if (operation->kind == GT_OPERATION_COPY)
		return copy_operation(copy->direction);
	if (operation->kind == GT_OPERATION_SET)
		return GT_GPU_SET;
	return gt_graphs_launches(operation) ? GT_GPU_GRAPH : GT_GPU_KERNEL;
}

static void describe_object(struct gt_gpu_interval *interval, const struct gt_names *names,
			    const struct gt_operation *operation)
{
	struct gt_call_launch how;

	if (interval->operation == GT_GPU_GRAPH)
		interval->object = operation->address;
	if (interval->operation != GT_GPU_KERNEL)
		return;
	interval->kernel = gt_names_launched(names, &operation->call);
	gt_call_kernel(&operation->call, &interval->object);
	if (gt_call_launch(&operation->call, &how))
		interval->blocks = (uint64_t)how.grid[0] * how.grid[1] * how.grid[2];
}

static struct pending_operation describe_work(const struct gt_timeline *timeline,
					      const struct gt_names *names,
					      const struct gt_operation *operation,
					      const struct gt_copy_traits *copy)
{
	const struct gt_context *context = gt_names_context(names, operation->event);
	struct pending_operation work = {
		.call_start = operation->start,
		.call_end = operation->end,
		.interval =
			{
				.operation = gpu_operation_of(operation, copy),
				.process = operation->event->head.process,
				.thread = operation->event->head.thread,
				.device = operation->event->head.device,
				.context = context ? context->handle : 0,
				.stream = operation->has_stream && operation->stream
						  ? operation->stream
						  : GT_STREAM_LEGACY,
				.has_bytes = operation->has_bytes,
				.bytes = operation->has_bytes ? operation->bytes : 0,
				.memory = copy->host,
				.submitted = operation->start,
				.call = timeline->thread->outer,
			},
	};

	describe_object(&work.interval, names, operation);
	return work;
}

static bool is_work(const struct gt_operation *operation, const struct gt_copy_traits *copy)
{
	switch (operation->kind) {
	case GT_OPERATION_LAUNCH:
	case GT_OPERATION_SET:
		return true;
	case GT_OPERATION_COPY:
		return copy->direction != GT_HOST_TO_HOST; /* which the host makes */
	default:
		return false;
	}
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_timeline *timeline = opaque;
	struct gt_copy_traits copy = {GT_DIRECTION_UNKNOWN, GT_MEMORY_PAGEABLE, false};
	const struct gt_event *event = &operation->event->head;
	struct gt_order_stream stream;
	int error, in_stream;

	timeline->thread = pending_thread(timeline->pending, event->process, event->thread);
	error = timeline->thread ? gt_memory_take(timeline->memory, names, operation) : -ENOMEM;
	if (error)
		return error;
	if (operation->kind == GT_OPERATION_COPY)
		copy = gt_copy_traits_of(timeline->memory, operation);
	if (event == timeline->event)
		timeline->activity = activity_of(operation, copy.waits);
	in_stream = gt_order_take(timeline->order, operation, &stream);
	if (in_stream < 0)
		return in_stream;
	if (in_stream && is_work(operation, &copy)) {
		struct pending_operation work = describe_work(timeline, names, operation, &copy);

		error = pending_add(timeline->pending, timeline->thread, timeline->order, &stream,
				    &work);
	}
	if (!error && gt_order_proves(operation) &&
	    (operation->kind != GT_OPERATION_COPY || copy.waits))
		pending_prove(timeline->pending, timeline->order, operation,
			      &timeline->thread->outer,
			      timeline->is_outermost ? &timeline->waited : NULL);
	return error;
}

static int pass_on_host(struct gt_timeline *timeline, const struct gt_names *names,
			const struct gt_event *event, struct gt_host_interval *interval)
{
	uint64_t duration = 0;

	if (!timeline->sink.host || !gt_event_duration(event, &duration))
		return 0;
	interval->process = event->process;
	interval->thread = event->thread;
	interval->end = event->time;
	interval->start = event->time > duration ? event->time - duration : 0;
	interval->event = event;
	return timeline->sink.host(timeline->sink.context, names, interval);
}

static int pass_on_call(struct gt_timeline *timeline, const struct gt_names *names,
			const struct gt_event_call *call, uint64_t first_operation)
{
	const struct gt_api_function *function = gt_names_api(names, call->function);
	struct gt_host_interval interval = {
		.first_operation = first_operation,
		.operations = timeline->totals.operations + 1 - first_operation,
		.number = timeline->thread->outer.number,
		.waited = timeline->waited,
		.activity = timeline->activity,
		.name = gt_names_function(names, call->function),
		.failed = !(call->state & GT_CALL_UNFINISHED) && function &&
			  gt_api_failed(function, call->result),
	};

	return pass_on_host(timeline, names, &call->head, &interval);
}

/*
 * The outermost call of a thread has a number from its first nested call on. Operations inside it
 * are passed on by its own event.
 */
static int begin_call(struct gt_timeline *timeline, const struct gt_event_call *call)
{
	struct pending_thread *thread =
		pending_thread(timeline->pending, call->head.process, call->head.thread);

	if (!thread)
		return -ENOMEM;
	timeline->thread = thread;
	timeline->activity = GT_HOST_API;
	if (!thread->open)
		thread->outer.number = ++timeline->totals.calls;
	thread->open = call->depth;
	thread->outer.thread = call->head.thread;
	thread->outer.start = call->head.time - call->duration;
	thread->outer.end = call->head.time;
	return 0;
}

static int take_call(struct gt_timeline *timeline, const struct gt_names *names,
		     const struct gt_event_call *call)
{
	uint64_t first_operation = timeline->totals.operations + 1;
	int error = begin_call(timeline, call);

	timeline->event = &call->head;
	timeline->is_outermost = !call->depth;
	timeline->waited.count = 0;
	if (!error)
		error = gt_operations_take(timeline->operations, names, &call->head, take_operation,
					   timeline);
	timeline->event = NULL;
	timeline->is_outermost = false;
	return error || call->depth ? error : pass_on_call(timeline, names, call, first_operation);
}

static int take_other(struct gt_timeline *timeline, const struct gt_names *names,
		      const struct gt_event *event)
{
	struct gt_host_interval interval = {.name = ""};
	const struct gt_event_syscall *syscall = (const void *)event;

	switch (event->kind) {
	case GT_EVENT_syscall:
		interval.activity = GT_HOST_SYSCALL;
		interval.name =
			gt_syscall_name((enum gt_syscall_machine)syscall->machine, syscall->number);
		interval.name = interval.name ? interval.name : "?";
		interval.failed = syscall->result < 0 && syscall->result >= -4095;
		return pass_on_host(timeline, names, event, &interval);
	case GT_EVENT_page_fault:
		interval.activity = GT_HOST_FAULT;
		return ((const struct gt_event_page_fault *)event)->duration
			       ? pass_on_host(timeline, names, event, &interval)
			       : 0;
	case GT_EVENT_off_cpu:
		interval.activity = GT_HOST_OFF_CPU;
		return pass_on_host(timeline, names, event, &interval);
	case GT_EVENT_gpu_work:
		return pending_measure(timeline->pending, names, (const void *)event);
	default:
		return 0;
	}
}

/* Calls that were held are passed on, each as one that nothing encloses. */
static int take_end(struct gt_timeline *timeline, const struct gt_names *names,
		    const struct gt_event *event)
{
	int error =
		gt_operations_take(timeline->operations, names, event, take_operation, timeline);

	if (error || event->kind != GT_EVENT_exit)
		return error;
	gt_order_end_process(timeline->order, event->process);
	pending_end_process(timeline->pending, event->process, event->time);
	return gt_memory_end_process(timeline->memory, names, event->process, event->time);
}

int gt_timeline_take(struct gt_timeline *timeline, const struct gt_names *names,
		     const struct gt_event *event)
{
	int error;

	if (event->clock == GT_CLOCK_MONOTONIC && event->time > timeline->now)
		timeline->now = event->time;
	switch (event->kind) {
	case GT_EVENT_call:
		error = take_call(timeline, names, (const void *)event);
		break;
	case GT_EVENT_exit:
	case GT_EVENT_account:
		error = take_end(timeline, names, event);
		break;
	default:
		error = take_other(timeline, names, event);
		break;
	}
	return error ? error : pending_flush(timeline->pending, names, timeline->now, false);
}

int gt_timeline_finish(struct gt_timeline *timeline, const struct gt_names *names)
{
	return pending_flush(timeline->pending, names, timeline->now, true);
}

uint64_t gt_timeline_settled(const struct gt_timeline *timeline)
{
	uint64_t oldest = pending_oldest(timeline->pending);

	return oldest < timeline->now ? oldest : timeline->now;
}
