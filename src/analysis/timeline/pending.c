/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/pending.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

#define MAX_EARLY 4096   /* `gpu_work` events of a thread without their call */
#define MAX_ENDED 8192   /* a power of two: ends of the latest operations */
#define MAX_SEARCHED 256 /* operations of another stream, from the last on */

/* When an operation that was passed on ended, or later. */
struct pending_end {
	uint64_t number, end;
};

struct pending_process {
	GT_VEC(struct pending_stream *) streams; /* by their numbers in analysis/order.h */
};

struct pending {
	struct gt_timeline_sink sink;
	struct gt_timeline_totals *totals;
	size_t count;
	struct pending_list age;     /* all that are in a stream, oldest first */
	struct pending_list overdue; /* proven and not measured, by the time of the proof */
	TAILQ_HEAD(pending_changed, pending_stream) changed;
	struct gt_hash *processes, *threads;
	struct pending_end ended[MAX_ENDED];
};

static void free_thread(void *opaque)
{
	struct pending_thread *thread = opaque;

	gt_vec_free(&thread->early);
	free(thread);
}

static void free_stream(struct pending_stream *stream)
{
	free(stream->seen);
	free(stream);
}

static void free_process(void *opaque)
{
	struct pending_process *process = opaque;

	gt_vec_each (stream, &process->streams)
		if (*stream)
			free_stream(*stream);
	gt_vec_free(&process->streams);
	free(process);
}

struct pending *pending_new(const struct gt_timeline_sink *sink, struct gt_timeline_totals *totals)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	TAILQ_INIT(&pending->age);
	TAILQ_INIT(&pending->overdue);
	TAILQ_INIT(&pending->changed);
	pending->sink = *sink;
	pending->totals = totals;
	pending->processes = gt_hash_new();
	pending->threads = gt_hash_new();
	if (pending->processes && pending->threads)
		return pending;
	pending_free(pending);
	return NULL;
}

void pending_free(struct pending *pending)
{
	struct pending_operation *operation;

	if (!pending)
		return;
	while ((operation = TAILQ_FIRST(&pending->age))) {
		struct pending_stream *stream = operation->stream;

		TAILQ_REMOVE(&pending->age, operation, age);
		TAILQ_REMOVE(&stream->operations, operation, in_stream);
		free(operation);
		if (stream->detached && TAILQ_EMPTY(&stream->operations))
			free_stream(stream);
	}
	if (pending->processes)
		gt_hash_free_with(pending->processes, free_process);
	if (pending->threads)
		gt_hash_free_with(pending->threads, free_thread);
	free(pending);
}

struct pending_thread *pending_thread(struct pending *pending, uint32_t process, uint32_t id)
{
	struct pending_thread *thread = gt_hash_get_u64(pending->threads, id);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->process = process;
	TAILQ_INIT(&thread->unmeasured);
	if (!gt_hash_set_u64(pending->threads, id, thread))
		return thread;
	free(thread);
	return NULL;
}

static struct pending_stream *stream_of(struct pending *pending, const struct gt_order_stream *of)
{
	struct pending_process *process = gt_hash_get_u64(pending->processes, of->process);
	struct pending_stream *stream;

	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || gt_hash_set_u64(pending->processes, of->process, process)) {
			free(process);
			return NULL;
		}
	}
	while (process->streams.count <= of->number)
		if (gt_vec_push(&process->streams, NULL))
			return NULL;
	stream = process->streams.items[of->number];
	if (stream)
		return stream;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	TAILQ_INIT(&stream->operations);
	process->streams.items[of->number] = stream;
	return stream;
}

static void mark_changed(struct pending *pending, struct pending_stream *stream)
{
	if (stream->dirty)
		return;
	stream->dirty = true;
	TAILQ_INSERT_TAIL(&pending->changed, stream, changed);
}

/* Whether the work of another stream that precedes this one's grew; remember how far it is. */
static bool advance_seen(struct pending_stream *stream, uint32_t other, uint64_t before)
{
	if (!before)
		return false;
	if (other >= stream->seen_count) {
		uint64_t *grown = realloc(stream->seen, (other + 1) * sizeof(*grown));

		if (!grown)
			return true; /* a dependency is repeated, which harms nothing */
		memset(grown + stream->seen_count, 0,
		       (other + 1 - stream->seen_count) * sizeof(*grown));
		stream->seen = grown;
		stream->seen_count = other + 1;
	}
	if (stream->seen[other] >= before)
		return false;
	stream->seen[other] = before;
	return true;
}

/* The last operation of a stream that was submitted by a call which returned by a time. */
static const struct pending_operation *last_until(const struct pending_stream *stream,
						  uint64_t time)
{
	const struct pending_operation *operation = TAILQ_LAST(&stream->operations, pending_list);

	for (unsigned searched = 0; operation && searched < MAX_SEARCHED; searched++) {
		if (operation->call_end <= time)
			return operation;
		operation = TAILQ_PREV(operation, pending_list, in_stream);
	}
	return NULL;
}

/* Work of other streams that this stream waits for since its last operation. */
static void find_dependencies(struct pending *pending, const struct gt_order *order,
			      const struct gt_order_stream *of, struct pending_stream *stream,
			      struct gt_gpu_interval *interval)
{
	const struct pending_process *process = gt_hash_get_u64(pending->processes, of->process);

	for (uint32_t i = 0; i < process->streams.count; i++) {
		struct pending_stream *other = process->streams.items[i];
		const struct pending_operation *last;
		uint64_t before;

		if (!other || other == stream || TAILQ_EMPTY(&other->operations))
			continue;
		before = gt_order_before(order, of, i);
		last = advance_seen(stream, i, before) ? last_until(other, before) : NULL;
		if (!last)
			continue;
		if (interval->dependency_count < GT_TIMELINE_MAX_DEPENDENCIES)
			interval->dependencies[interval->dependency_count++] =
				last->interval.number;
		else
			pending->totals->omitted_dependencies++;
	}
}

static void apply_work(struct pending *pending, struct pending_operation *operation,
		       const struct gt_event_gpu_work *work)
{
	struct gt_gpu_interval *interval = &operation->interval;

	interval->basis = work->flags & GT_GPU_EXACT ? GT_TIMES_EXACT : GT_TIMES_MEASURED;
	if (work->submitted)
		interval->submitted = work->submitted;
	if (interval->operation == GT_GPU_COPY)
		interval->operation = (enum gt_gpu_operation)work->operation;
	interval->start = work->start < work->head.time ? work->start : work->head.time;
	interval->end = work->head.time;
	interval->error = work->error;
	interval->shares = 1;
	if (!interval->context)
		interval->context = work->handle;
	pending->totals->sampled += !!(work->flags & GT_GPU_SAMPLED);
	operation->measured = true;
	if (operation->stream->measured < interval->number)
		operation->stream->measured = interval->number;
	mark_changed(pending, operation->stream);
}

static bool is_copy(uint32_t operation)
{
	return operation >= GT_GPU_COPY && operation <= GT_GPU_COPY_PEER;
}

static bool is_measured_by(const struct pending_operation *operation,
			   const struct gt_event_gpu_work *work)
{
	uint64_t last = work->returned > work->submitted ? work->returned : work->submitted;
	bool same = operation->interval.operation == (enum gt_gpu_operation)work->operation ||
		    (is_copy(operation->interval.operation) && is_copy(work->operation));

	/* A traced call of the driver is within these times, one of the runtime around them. */
	return same && operation->call_start <= last && work->submitted <= operation->call_end;
}

static struct pending_operation *find_in(struct pending_operation *from,
					 const struct pending_operation *to,
					 const struct gt_event_gpu_work *work)
{
	for (; from && from != to; from = TAILQ_NEXT(from, unmeasured))
		if (is_measured_by(from, work))
			return from;
	return NULL;
}

/* Events of a thread come nearly in the order of its operations. */
static struct pending_operation *find_measured(struct pending_thread *thread,
					       const struct gt_event_gpu_work *work)
{
	struct pending_operation *found = find_in(thread->hint, NULL, work);

	return found ? found : find_in(TAILQ_FIRST(&thread->unmeasured), thread->hint, work);
}

static void remove_unmeasured(struct pending *pending, struct pending_operation *operation)
{
	struct pending_thread *thread =
		gt_hash_get_u64(pending->threads, operation->interval.thread);

	if (thread->hint == operation)
		thread->hint = TAILQ_NEXT(operation, unmeasured);
	TAILQ_REMOVE(&thread->unmeasured, operation, unmeasured);
	if (operation->proven)
		TAILQ_REMOVE(&pending->overdue, operation, overdue);
}

/* The event of an operation may have come before its call returned. */
static bool take_early(struct pending *pending, struct pending_thread *thread,
		       struct pending_operation *operation)
{
	for (size_t i = 0; i < thread->early.count; i++) {
		if (!is_measured_by(operation, &thread->early.items[i]))
			continue;
		apply_work(pending, operation, &thread->early.items[i]);
		memmove(&thread->early.items[i], &thread->early.items[i + 1],
			(--thread->early.count - i) * sizeof(*thread->early.items));
		return true;
	}
	return false;
}

int pending_add(struct pending *pending, struct pending_thread *thread,
		const struct gt_order *order, const struct gt_order_stream *of,
		const struct pending_operation *given)
{
	struct pending_stream *stream = stream_of(pending, of);
	struct pending_operation *operation = stream ? malloc(sizeof(*operation)) : NULL;

	if (!operation)
		return -ENOMEM;
	*operation = *given;
	operation->stream = stream;
	operation->interval.number = ++pending->totals->operations;
	operation->interval.queue = of->number;
	stream->unordered = of->unordered;
	operation->interval.previous = stream->unordered ? 0 : stream->last;
	stream->last = operation->interval.number;
	find_dependencies(pending, order, of, stream, &operation->interval);
	TAILQ_INSERT_TAIL(&pending->age, operation, age);
	TAILQ_INSERT_TAIL(&stream->operations, operation, in_stream);
	pending->count++;
	if (!stream->unproven)
		stream->unproven = operation;
	if (!take_early(pending, thread, operation))
		TAILQ_INSERT_TAIL(&thread->unmeasured, operation, unmeasured);
	return 0;
}

/* The operations of a stream of which the calls returned by a time have ended. Return the last. */
static struct pending_operation *prove_stream(struct pending *pending,
					      struct pending_stream *stream, uint64_t until,
					      uint64_t known, const struct gt_timeline_join *join)
{
	struct pending_operation *operation = stream->unproven, *last = NULL;

	for (; operation && operation->call_end <= until;
	     operation = TAILQ_NEXT(operation, in_stream)) {
		operation->proven = known;
		if (join)
			operation->interval.wait = *join;
		if (!operation->measured)
			TAILQ_INSERT_TAIL(&pending->overdue, operation, overdue);
		mark_changed(pending, stream);
		last = operation;
	}
	stream->unproven = operation;
	return last;
}

static void add_waited(struct gt_timeline_waited *waited, struct pending_operation *last)
{
	if (!waited || !last || waited->count == GT_TIMELINE_MAX_WAITED)
		return;
	last->interval.ends_wait = true;
	waited->operations[waited->count++] = last->interval.number;
}

void pending_prove(struct pending *pending, const struct gt_order *order,
		   const struct gt_operation *operation, const struct gt_timeline_join *join,
		   struct gt_timeline_waited *waited)
{
	const struct pending_process *process =
		gt_hash_get_u64(pending->processes, operation->event->head.process);

	for (uint32_t i = 0; process && i < process->streams.count; i++) {
		struct pending_stream *stream = process->streams.items[i];

		if (stream && stream->unproven)
			add_waited(waited, prove_stream(pending, stream,
							gt_order_ended(order, operation, i),
							operation->end, join));
	}
}

/* An event whose call was not seen. */
static int emit_unmatched(struct pending *pending, const struct gt_names *names,
			  const struct gt_event_gpu_work *work)
{
	struct gt_gpu_interval interval = {
		.number = ++pending->totals->operations,
		.operation = (enum gt_gpu_operation)work->operation,
		.basis = work->flags & GT_GPU_EXACT ? GT_TIMES_EXACT : GT_TIMES_MEASURED,
		.process = work->head.process,
		.thread = work->head.thread,
		.device = work->head.device,
		.context = work->handle,
		.stream = work->stream ? work->stream : GT_STREAM_LEGACY,
		.queue = GT_STREAM_UNNUMBERED,
		.object = work->object,
		.has_bytes = is_copy(work->operation) || work->operation == GT_GPU_SET,
		.bytes = work->bytes,
		.start = work->start < work->head.time ? work->start : work->head.time,
		.end = work->head.time,
		.error = work->error,
		.shares = 1,
	};

	if (work->operation == GT_GPU_KERNEL)
		interval.kernel = gt_names_kernel(names, work->head.process, work->object);
	interval.submitted = interval.released = work->submitted ? work->submitted : interval.start;
	pending->totals->unmatched++;
	pending->totals->gpu[interval.basis]++;
	return pending->sink.gpu ? pending->sink.gpu(pending->sink.context, names, &interval) : 0;
}

int pending_measure(struct pending *pending, const struct gt_names *names,
		    const struct gt_event_gpu_work *work)
{
	struct pending_thread *thread =
		pending_thread(pending, work->head.process, work->head.thread);
	struct pending_operation *operation;

	if (!thread)
		return -ENOMEM;
	if (work->operation > GT_GPU_GRAPH)
		return 0; /* of a later version */
	operation = find_measured(thread, work);
	if (operation) {
		remove_unmeasured(pending, operation);
		thread->hint = thread->hint ? thread->hint : TAILQ_FIRST(&thread->unmeasured);
		apply_work(pending, operation, work);
		return 0;
	}
	if (work->submitted > thread->outer.end && thread->early.count < MAX_EARLY)
		return gt_vec_push(&thread->early, *work);
	return emit_unmatched(pending, names, work);
}

void pending_end_process(struct pending *pending, uint32_t id, uint64_t time)
{
	struct pending_process *process = gt_hash_remove_u64(pending->processes, id);

	for (uint32_t i = 0; process && i < process->streams.count; i++) {
		struct pending_stream *stream = process->streams.items[i];

		if (!stream)
			continue;
		prove_stream(pending, stream, UINT64_MAX, time, NULL);
		stream->detached = true;
		if (TAILQ_EMPTY(&stream->operations) && !stream->dirty)
			free_stream(stream);
		process->streams.items[i] = NULL;
	}
	if (process)
		free_process(process);
}

/* Operations of the stream that were proven together are not distinguished. */
static void share_time(struct pending_operation *first)
{
	struct pending_operation *operation = first;
	uint32_t count = 0;

	if (first->interval.shares)
		return;
	for (; operation && operation->proven == first->proven && !operation->measured;
	     operation = TAILQ_NEXT(operation, in_stream))
		count++;
	for (operation = first;
	     count && operation && operation->proven == first->proven && !operation->measured;
	     operation = TAILQ_NEXT(operation, in_stream))
		operation->interval.shares = count;
}

/* The bounds of an operation of which no event has the times. */
static void estimate_times(struct pending_operation *operation, uint64_t now)
{
	struct gt_gpu_interval *interval = &operation->interval;
	const struct pending_operation *next = TAILQ_NEXT(operation, in_stream);

	share_time(operation);
	if (!interval->shares)
		interval->shares = 1;
	interval->basis = GT_TIMES_ESTIMATED;
	interval->start = interval->released;
	interval->end = operation->proven ? operation->proven : now;
	if (next && !operation->stream->unordered && next->measured &&
	    next->interval.start < interval->end)
		interval->end = next->interval.start;
	if (interval->end < interval->start)
		interval->end = interval->start;
}

static void release_at(struct gt_gpu_interval *interval, enum gt_gpu_release release,
		       uint64_t releaser, uint64_t time)
{
	if (time <= interval->released)
		return;
	interval->released = time;
	interval->release = release;
	interval->releaser = releaser;
}

/* When it could begin, by what is known to have ended before it. */
static void find_release(struct pending *pending, struct pending_operation *operation)
{
	struct gt_gpu_interval *interval = &operation->interval;

	interval->released = interval->submitted;
	interval->release = GT_RELEASE_SUBMISSION;
	if (!operation->stream->unordered)
		release_at(interval, GT_RELEASE_STREAM, operation->stream->ended_number,
			   operation->stream->ended);
	for (unsigned i = 0; i < interval->dependency_count; i++) {
		uint64_t number = interval->dependencies[i];
		const struct pending_end *end = &pending->ended[number % MAX_ENDED];

		if (end->number == number)
			release_at(interval, GT_RELEASE_DEPENDENCY, number, end->end);
	}
	if (operation->measured && interval->released > interval->start)
		interval->released = interval->start;
}

/*
 * What a call waited for had ended when it returned. An end that is measured later, within the
 * error of the clocks, is corrected; one that is later than this contradicts the calls.
 */
static void bound_end(struct gt_gpu_interval *interval)
{
	uint64_t bound = interval->wait.end;

	if (!interval->wait.number || interval->end <= bound ||
	    interval->end > bound + interval->error)
		return;
	interval->end = bound;
	if (interval->start > bound)
		interval->start = bound;
}

static int emit_first(struct pending *pending, const struct gt_names *names,
		      struct pending_stream *stream, uint64_t now)
{
	struct pending_operation *operation = TAILQ_FIRST(&stream->operations);
	struct gt_gpu_interval *interval = &operation->interval;
	uint64_t ended;
	int error;

	if (operation->measured)
		bound_end(interval);
	find_release(pending, operation);
	if (!operation->measured) {
		estimate_times(operation, now);
		remove_unmeasured(pending, operation);
	}
	ended = operation->measured ? interval->end : interval->start;
	stream->ended = ended;
	stream->ended_number = interval->number;
	pending->ended[interval->number % MAX_ENDED] =
		(struct pending_end){interval->number, ended};
	pending->totals->gpu[interval->basis]++;
	pending->totals->contradicted += gt_gpu_interval_contradicts(interval);
	error = pending->sink.gpu ? pending->sink.gpu(pending->sink.context, names, interval) : 0;
	TAILQ_REMOVE(&stream->operations, operation, in_stream);
	TAILQ_REMOVE(&pending->age, operation, age);
	if (stream->unproven == operation)
		stream->unproven = TAILQ_FIRST(&stream->operations);
	pending->count--;
	free(operation);
	return error;
}

/* Whether no more is to be learnt about the first operation of a stream. */
static bool first_is_complete(const struct pending_stream *stream, uint64_t now)
{
	const struct pending_operation *first = TAILQ_FIRST(&stream->operations);

	if (!first || !first->proven)
		return false;
	return first->measured || first->interval.number < stream->measured ||
	       now > first->proven + GT_TIMELINE_HORIZON;
}

static int emit_complete(struct pending *pending, const struct gt_names *names,
			 struct pending_stream *stream, uint64_t now)
{
	int error = 0;

	while (!error && first_is_complete(stream, now))
		error = emit_first(pending, names, stream, now);
	if (stream->detached && TAILQ_EMPTY(&stream->operations))
		free_stream(stream);
	return error;
}

static int emit_all(struct pending *pending, const struct gt_names *names, uint64_t now)
{
	struct pending_operation *oldest;
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && (oldest = TAILQ_FIRST(&pending->age))) {
		struct pending_stream *stream = oldest->stream;

		error = emit_first(pending, names, stream, now);
		if (stream->detached && TAILQ_EMPTY(&stream->operations))
			free_stream(stream);
	}
	while (gt_hash_next(pending->threads, &cursor, NULL, NULL, &value)) {
		struct pending_thread *thread = value;

		for (size_t i = 0; i < thread->early.count && !error; i++)
			error = emit_unmatched(pending, names, &thread->early.items[i]);
		thread->early.count = 0;
	}
	return error;
}

int pending_flush(struct pending *pending, const struct gt_names *names, uint64_t now, bool all)
{
	struct pending_operation *overdue = TAILQ_FIRST(&pending->overdue);
	struct pending_stream *stream;
	int error = 0;

	while (overdue && now > overdue->proven + GT_TIMELINE_HORIZON) {
		mark_changed(pending, overdue->stream);
		overdue = TAILQ_NEXT(overdue, overdue);
	}
	while ((stream = TAILQ_FIRST(&pending->changed))) {
		TAILQ_REMOVE(&pending->changed, stream, changed);
		stream->dirty = false;
		if (!error)
			error = emit_complete(pending, names, stream, now);
	}
	while (!error && pending->count > GT_TIMELINE_MAX_PENDING) {
		pending->totals->evicted++;
		stream = TAILQ_FIRST(&pending->age)->stream;
		error = emit_first(pending, names, stream, now);
		if (!error)
			error = emit_complete(pending, names, stream, now);
	}
	return error || !all ? error : emit_all(pending, names, now);
}

uint64_t pending_oldest(const struct pending *pending)
{
	const struct pending_operation *oldest = TAILQ_FIRST(&pending->age);

	return oldest ? oldest->call_start : UINT64_MAX;
}
