/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Vector clocks: a stream knows, for each other stream, the last call whose work precedes all
 * further work of this one. Calls are identified by the times of their returns.
 */
#include "analysis/order.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define MAX_RELATED 128  /* streams of a process that have clocks; the others stand alone */
#define MAX_STREAMS 4096 /* numbers of a process; then handles that come again keep theirs */

/* cudaStreamNonBlocking of a stream; CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE of a queue. */
#define FLAG_UNRELATED 1

struct vector_clock {
	uint32_t count;
	uint64_t times[MAX_RELATED]; /* by stream; as many as count are there */
};

struct order_stream {
	bool legacy, blocking;
	bool unordered; /* its work is in the order of events alone */
	int device;
	uint64_t last;              /* return of the last call that put work into it */
	struct vector_clock *clock; /* NULL: stands alone */
};

/* What was in a stream when an event was recorded in it. */
struct order_moment {
	uint64_t time; /* 0: of work in no order, which says nothing of other work */
	uint32_t stream;
	struct vector_clock *clock; /* NULL: of one that stands alone */
};

struct order_process {
	struct gt_hash *numbers; /* struct stream_key -> number + 1 */
	struct gt_hash *moments; /* event -> struct order_moment */
	GT_VEC(struct order_stream) streams;
};

struct gt_order {
	struct gt_hash *processes;
};

/* Default streams have the same handle on all devices, and a thread's own one in all threads. */
struct stream_key {
	uint64_t handle;
	uint32_t device;
	uint32_t thread;
};

static void moment_free(void *opaque)
{
	struct order_moment *moment = opaque;

	free(moment->clock);
	free(moment);
}

static void process_free(void *opaque)
{
	struct order_process *process = opaque;

	gt_vec_each (stream, &process->streams)
		free(stream->clock);
	gt_vec_free(&process->streams);
	gt_hash_free(process->numbers);
	if (process->moments)
		gt_hash_free_with(process->moments, moment_free);
	free(process);
}

struct gt_order *gt_order_new(void)
{
	struct gt_order *order = calloc(1, sizeof(*order));

	if (order)
		order->processes = gt_hash_new();
	if (order && !order->processes) {
		free(order);
		return NULL;
	}
	return order;
}

void gt_order_free(struct gt_order *order)
{
	if (!order)
		return;
	gt_hash_free_with(order->processes, process_free);
	free(order);
}

static struct order_process *process_of(struct gt_order *order, uint32_t id)
{
	struct order_process *process = gt_hash_get_u64(order->processes, id);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->numbers = gt_hash_new();
	process->moments = gt_hash_new();
	if (process->numbers && process->moments && !gt_hash_set_u64(order->processes, id, process))
		return process;
	process_free(process);
	return NULL;
}

static uint64_t handle_of(const struct gt_operation *operation)
{
	return operation->has_stream && operation->stream ? operation->stream : GT_STREAM_LEGACY;
}

static struct stream_key key_of(const struct gt_operation *operation, uint64_t handle)
{
	struct stream_key key = {.handle = handle};

	/* A program that names no device uses the first. */
	if (handle <= GT_STREAM_PER_THREAD && operation->event->head.device > 0)
		key.device = (uint32_t)operation->event->head.device;
	if (handle == GT_STREAM_PER_THREAD)
		key.thread = operation->event->head.thread;
	return key;
}

/* The number of a new stream, or -ENOMEM. */
static int add_stream(struct order_process *process, const struct stream_key *key, bool blocking,
		      int device)
{
	struct order_stream stream = {
		.legacy = key->handle == GT_STREAM_LEGACY,
		.blocking = blocking,
		.device = device,
	};
	uintptr_t number = process->streams.count;

	if (number < MAX_RELATED) {
		stream.clock = calloc(1, sizeof(*stream.clock));
		if (!stream.clock)
			return -ENOMEM;
	}
	if (gt_vec_push(&process->streams, stream)) {
		free(stream.clock);
		return -ENOMEM;
	}
	if (gt_hash_set(process->numbers, key, sizeof(*key), (void *)(number + 1)))
		return -ENOMEM;
	return (int)number;
}

/* The number of the stream that an operation means, -ENOENT or -ENOMEM. */
static int find_stream(struct order_process *process, const struct gt_operation *operation,
		       bool add)
{
	uint64_t handle = handle_of(operation);
	struct stream_key key = key_of(operation, handle);
	uintptr_t number = (uintptr_t)gt_hash_get(process->numbers, &key, sizeof(key));

	if (number)
		return (int)(number - 1);
	if (operation->names_stream && !operation->has_stream)
		return -ENOENT;
	if (!add || process->streams.count >= MAX_STREAMS)
		return -ENOENT;
	return add_stream(process, &key, handle == GT_STREAM_PER_THREAD,
			  operation->event->head.device);
}

static int create_stream(struct order_process *process, const struct gt_operation *operation)
{
	struct stream_key key = {.handle = operation->address};
	bool is_queue = operation->kind == GT_OPERATION_QUEUE_CREATE;
	bool flag = operation->has_other && (operation->other & FLAG_UNRELATED);
	int number;

	if (!operation->has_address || (process->streams.count >= MAX_STREAMS))
		return 0;
	number = add_stream(process, &key, !is_queue && !flag, operation->event->head.device);
	if (number < 0)
		return number;
	process->streams.items[number].unordered = is_queue && flag;
	return 0;
}

static void set_time(struct vector_clock *clock, uint32_t stream, uint64_t time)
{
	while (clock->count <= stream)
		clock->times[clock->count++] = 0;
	if (clock->times[stream] < time)
		clock->times[stream] = time;
}

static void join_clocks(struct vector_clock *clock, const struct vector_clock *other)
{
	for (uint32_t i = 0; other && i < other->count; i++)
		set_time(clock, i, other->times[i]);
}

static bool same_device(int a, int b)
{
	return a == b || a == GT_DEVICE_UNKNOWN || b == GT_DEVICE_UNKNOWN;
}

/* Puts work into a stream. */
static void apply_operation(struct order_process *process, uint32_t number, uint64_t time)
{
	struct order_stream *stream = &process->streams.items[number];

	if (stream->last < time)
		stream->last = time;
	if (!stream->clock)
		return;
	set_time(stream->clock, number, time);
	gt_vec_each (other, &process->streams) {
		if (same_device(stream->device, other->device) &&
		    ((stream->legacy && other->blocking) || (stream->blocking && other->legacy)))
			join_clocks(stream->clock, other->clock);
	}
}

static struct vector_clock *copy_clock(const struct vector_clock *clock)
{
	size_t size =
		clock ? offsetof(struct vector_clock, times) + clock->count * sizeof(uint64_t) : 0;
	struct vector_clock *copy = clock ? malloc(size) : NULL;

	if (copy) {
		copy->count = clock->count;
		memcpy(copy->times, clock->times, clock->count * sizeof(*clock->times));
	}
	return copy;
}

static int record_event(struct order_process *process, uint64_t event, uint32_t number,
			uint64_t time)
{
	const struct order_stream *stream = &process->streams.items[number];
	struct order_moment *old = gt_hash_get_u64(process->moments, event);
	struct order_moment *moment = calloc(1, sizeof(*moment));

	if (!moment)
		return -ENOMEM;
	*moment = (struct order_moment){time, number, time ? copy_clock(stream->clock) : NULL};
	if ((time && stream->clock && !moment->clock) ||
	    gt_hash_set_u64(process->moments, event, moment)) {
		moment_free(moment);
		return -ENOMEM;
	}
	if (old)
		moment_free(old);
	return 0;
}

/* A handle may be one of an event that was released. */
static void forget_event(struct order_process *process, const struct gt_operation *operation)
{
	struct order_moment *old = gt_hash_remove_u64(process->moments, operation->address);

	if (old)
		moment_free(old);
}

static void wait_event(struct order_process *process, uint64_t event, uint32_t number)
{
	const struct order_moment *moment = gt_hash_get_u64(process->moments, event);
	struct order_stream *stream = &process->streams.items[number];

	if (moment && stream->clock)
		join_clocks(stream->clock, moment->clock);
}

static bool is_work(enum gt_operation_kind kind)
{
	return kind == GT_OPERATION_COPY || kind == GT_OPERATION_SET ||
	       kind == GT_OPERATION_LAUNCH || kind == GT_OPERATION_EVENT_RECORD ||
	       kind == GT_OPERATION_EVENT_WAIT;
}

static bool creates_stream(enum gt_operation_kind kind)
{
	return kind == GT_OPERATION_STREAM_CREATE || kind == GT_OPERATION_QUEUE_CREATE;
}

/* The event that an operation records, or 0. */
static uint64_t completed_event(const struct gt_operation *operation)
{
	if (operation->kind == GT_OPERATION_EVENT_RECORD && operation->has_address)
		return operation->address;
	return operation->signal;
}

/* Markers and barriers without a list wait for all work that was put into their queue before. */
static bool follows_all(const struct gt_operation *operation)
{
	return operation->kind == GT_OPERATION_EVENT_RECORD && operation->has_address &&
	       !operation->wait_count;
}

int gt_order_take(struct gt_order *order, const struct gt_operation *operation,
		  struct gt_order_stream *ret_stream)
{
	uint32_t id = operation->event->head.process;
	uint64_t completed = completed_event(operation);
	const struct order_stream *stream;
	struct order_process *process;
	int number, error = 0;

	if (operation->failed || operation->capture)
		return 0;
	if (!is_work(operation->kind) && !creates_stream(operation->kind) &&
	    operation->kind != GT_OPERATION_EVENT_CREATE)
		return 0;
	process = process_of(order, id);
	if (!process)
		return -ENOMEM;
	if (operation->kind == GT_OPERATION_EVENT_CREATE) {
		forget_event(process, operation);
		return 0;
	}
	if (creates_stream(operation->kind))
		return create_stream(process, operation);
	number = find_stream(process, operation, true);
	if (number < 0)
		return number == -ENOENT ? 0 : number;
	if (operation->kind == GT_OPERATION_EVENT_WAIT && operation->has_address)
		wait_event(process, operation->address, (uint32_t)number);
	for (unsigned i = 0; i < operation->wait_count; i++)
		wait_event(process, operation->waits[i], (uint32_t)number);
	apply_operation(process, (uint32_t)number, operation->end);
	stream = &process->streams.items[number];
	if (completed)
		error = record_event(process, completed, (uint32_t)number,
				     stream->unordered && !follows_all(operation) ? 0
										  : operation->end);
	if (error)
		return error;
	*ret_stream = (struct gt_order_stream){id, (uint32_t)number, stream->unordered};
	return 1;
}

bool gt_order_proves(const struct gt_operation *operation)
{
	switch (operation->kind) {
	case GT_OPERATION_SYNC:
	case GT_OPERATION_EVENT_SYNC:
		return !operation->failed;
	case GT_OPERATION_COPY:
		return !operation->failed &&
		       (!operation->names_stream || gt_call_blocks(&operation->call) == 1);
	case GT_OPERATION_STREAM_QUERY:
	case GT_OPERATION_EVENT_QUERY:
		return !(uint32_t)operation->event->result; /* not ready is no failure */
	default:
		return false;
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* All that precedes what is in a stream now; what was put into it meanwhile does not count. */
static uint64_t ended_by_stream(const struct order_process *process, int waited, uint32_t stream,
				const struct gt_operation *operation)
{
	const struct order_stream *of = waited >= 0 ? &process->streams.items[waited] : NULL;
	bool by_copy = operation->kind == GT_OPERATION_COPY;

	if (!of || (of->unordered && by_copy))
		return 0;
	if ((uint32_t)waited == stream)
		return by_copy ? operation->end : operation->start;
	if (!of->clock || stream >= of->clock->count)
		return 0;
	if (of->last > (by_copy ? operation->end : operation->start))
		return 0;
	return least(of->clock->times[stream], operation->start);
}

static uint64_t ended_by_event(const struct order_process *process, uint64_t event, uint32_t stream,
			       const struct gt_operation *operation)
{
	const struct order_moment *moment = gt_hash_get_u64(process->moments, event);

	if (!moment || moment->time > operation->start)
		return 0;
	if (moment->stream == stream)
		return moment->time;
	return moment->clock && stream < moment->clock->count ? moment->clock->times[stream] : 0;
}

static uint64_t ended_by_events(const struct order_process *process, uint32_t stream,
				const struct gt_operation *operation)
{
	uint64_t ended = operation->has_address
				 ? ended_by_event(process, operation->address, stream, operation)
				 : 0;

	for (unsigned i = 0; i < operation->wait_count; i++) {
		uint64_t time = ended_by_event(process, operation->waits[i], stream, operation);

		ended = time > ended ? time : ended;
	}
	return ended;
}

uint64_t gt_order_ended(const struct gt_order *order, const struct gt_operation *operation,
			uint32_t stream)
{
	struct order_process *process =
		gt_hash_get_u64(order->processes, operation->event->head.process);

	if (!process || stream >= process->streams.count || !gt_order_proves(operation))
		return 0;
	switch (operation->kind) {
	case GT_OPERATION_EVENT_SYNC:
	case GT_OPERATION_EVENT_QUERY:
		return ended_by_events(process, stream, operation);
	case GT_OPERATION_SYNC:
		if (operation->names_stream)
			break;
		return same_device(process->streams.items[stream].device,
				   operation->event->head.device)
			       ? operation->start
			       : 0;
	default:
		break;
	}
	return ended_by_stream(process, find_stream(process, operation, false), stream, operation);
}

uint64_t gt_order_before(const struct gt_order *order, const struct gt_order_stream *stream,
			 uint32_t other)
{
	const struct order_process *process = gt_hash_get_u64(order->processes, stream->process);
	const struct vector_clock *clock = process && stream->number < process->streams.count
						   ? process->streams.items[stream->number].clock
						   : NULL;

	return clock && other < clock->count ? clock->times[other] : 0;
}

uint32_t gt_order_streams(const struct gt_order *order, uint32_t id)
{
	const struct order_process *process = gt_hash_get_u64(order->processes, id);

	return process ? (uint32_t)process->streams.count : 0;
}

void gt_order_end_process(struct gt_order *order, uint32_t id)
{
	struct order_process *process = gt_hash_remove_u64(order->processes, id);

	if (process)
		process_free(process);
}
