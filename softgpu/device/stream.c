/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/stream.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/clock.h"
#include "device/handles.h"
#include "device/stream_capture.h"

static atomic_uint_least64_t last_stream_id;

/* ---- operations ------------------------------------------------------------------------ */

struct sg_operation *sg_operation_new(struct sg_work *work)
{
	struct sg_operation *operation = calloc(1, sizeof(*operation));

	if (!operation) {
		sg_work_clear(work);
		return NULL;
	}
	operation->references = 1;
	operation->work = *work;
	*work = (struct sg_work){0};
	return operation;
}

struct sg_operation *sg_operation_reference(struct sg_operation *operation)
{
	if (operation)
		atomic_fetch_add(&operation->references, 1);
	return operation;
}

static void release_waits(struct sg_operation *operation)
{
	gt_vec_each (other, &operation->waits)
		sg_operation_unreference(*other);
	gt_vec_free(&operation->waits);
}

void sg_operation_unreference(struct sg_operation *operation)
{
	if (!operation || atomic_fetch_sub(&operation->references, 1) > 1)
		return;
	release_waits(operation);
	sg_work_clear(&operation->work);
	sg_stream_unreference(operation->stream);
	free(operation);
}

bool sg_operation_wait_for(struct sg_operation *operation, struct sg_operation *other)
{
	if (!other || sg_operation_is_done(other))
		return true;
	if (gt_vec_push(&operation->waits, other))
		return false;
	sg_operation_reference(other);
	return true;
}

static void call_futex(atomic_uint *word, int what, unsigned int value)
{
	syscall(SYS_futex, word, what | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void wait_until_done(struct sg_operation *operation)
{
	while (!sg_operation_is_done(operation))
		call_futex(&operation->done, FUTEX_WAIT, 0);
}

CUresult sg_operation_join(struct sg_operation *operation)
{
	wait_until_done(operation);
	sg_clock_joined(operation);
	return operation->result;
}

/* The log record of an operation before it has run. */
static struct sg_record begin_record(const struct sg_operation *operation)
{
	const struct CUstream_st *stream = operation->stream;

	return (struct sg_record){
		.operation = sg_work_name(operation->work.kind),
		.device = stream->context->device,
		.stream = sg_stream_handle(operation->stream),
		.stream_id = stream->id,
		.submitted_ns = operation->submitted_ns,
	};
}

/* Run the next operation of a stream, once its dependencies are done. */
static void perform_operation(struct sg_operation *operation)
{
	CUcontext context = operation->stream->context;
	struct sg_record record = begin_record(operation);

	gt_vec_each (other, &operation->waits)
		wait_until_done(*other);
	operation->result = (CUresult)atomic_load(&context->error);
	record.start_ns = sg_clock_start(operation);
	if (!operation->result)
		operation->result = sg_work_run(&operation->work, context, &record);
	record.end_ns = sg_clock_end(operation);
	record.result = operation->result;
	if (record.operation)
		sg_log_write(&record);
	release_waits(operation);
	sg_work_clear(&operation->work);
	atomic_store_explicit(&operation->done, 1, memory_order_release);
	call_futex(&operation->done, FUTEX_WAKE, INT_MAX);
}

/* ---- the thread of a stream ------------------------------------------------------------ */

static struct sg_operation *take_operation_locked(CUstream stream)
{
	struct sg_operation *operation = stream->first;

	stream->first = operation->next;
	if (!stream->first)
		stream->last = &stream->first;
	operation->next = NULL;
	stream->running = true;
	stream->running_kind = operation->work.kind;
	return operation;
}

/* Remove a stream from its context, with the context's references. */
static void retire_locked(CUstream stream)
{
	CUcontext context = stream->context;
	struct sg_operation *tail = stream->tail;

	for (size_t i = 0; i < context->streams.count; i++) {
		if (context->streams.items[i] != stream)
			continue;
		context->streams.items[i] = context->streams.items[--context->streams.count];
		stream->tail = NULL;
		sg_operation_unreference(tail);
		sg_stream_unreference(stream);
		return;
	}
}

static void *stream_thread(void *argument)
{
	CUstream stream = argument;
	CUcontext context = stream->context;

	pthread_mutex_lock(&context->lock);
	for (;;) {
		struct sg_operation *operation;

		while (stream->running || (!stream->first && !stream->closing))
			pthread_cond_wait(&stream->wake, &context->lock);
		if (!stream->first)
			break;
		operation = take_operation_locked(stream);
		pthread_mutex_unlock(&context->lock);
		perform_operation(operation);
		sg_operation_unreference(operation);
		pthread_mutex_lock(&context->lock);
		stream->running = false;
		stream->queued--;
		if (sg_state.config.queue)
			pthread_cond_broadcast(&stream->wake);
	}
	retire_locked(stream);
	pthread_mutex_unlock(&context->lock);
	sg_stream_unreference(stream);
	return NULL;
}

static bool start_thread(CUstream stream)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	if (stream->has_thread)
		return true;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&stream->references, 1);
	error = sg_create_thread(&thread, &attributes, stream_thread, stream);
	pthread_attr_destroy(&attributes);
	if (error) {
		atomic_fetch_sub(&stream->references, 1);
		return false;
	}
	stream->has_thread = true;
	return true;
}

/* ---- streams --------------------------------------------------------------------------- */

CUresult sg_stream_new(CUcontext context, enum sg_stream_kind kind, unsigned int flags,
		       int priority, CUstream *ret_stream)
{
	CUstream stream = calloc(1, sizeof(*stream));

	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->references = 2; /* the context's and the caller's */
	stream->context = context;
	stream->kind = kind;
	stream->flags = flags;
	stream->priority = priority;
	stream->policy = CU_SYNC_POLICY_AUTO;
	stream->memory_domains.remote = 1;
	stream->id = atomic_fetch_add(&last_stream_id, 1) + 1;
	stream->last = &stream->first;
	pthread_cond_init(&stream->wake, NULL);
	pthread_mutex_lock(&context->lock);
	if (gt_vec_push(&context->streams, stream) || !sg_handle_add(stream, SG_HANDLE_STREAM)) {
		if (context->streams.count &&
		    context->streams.items[context->streams.count - 1] == stream)
			context->streams.count--;
		pthread_mutex_unlock(&context->lock);
		pthread_cond_destroy(&stream->wake);
		free(stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&context->lock);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

void sg_stream_unreference(CUstream stream)
{
	if (!stream || atomic_fetch_sub(&stream->references, 1) > 1)
		return;
	pthread_cond_destroy(&stream->wake);
	free(stream);
}

/*
 * A stream with pending work stays in its context, whose synchronisation waits for it, until its
 * queue is empty.
 */
void sg_stream_close(CUstream stream)
{
	CUcontext context = stream->context;

	sg_stream_capture_forget(stream);
	sg_handle_remove(stream);
	pthread_mutex_lock(&context->lock);
	stream->closing = true;
	if (!stream->tail || sg_operation_is_done(stream->tail))
		retire_locked(stream);
	pthread_cond_broadcast(&stream->wake);
	pthread_mutex_unlock(&context->lock);
	sg_stream_unreference(stream);
}

void sg_stream_retire(CUstream stream)
{
	CUcontext context = stream->context;
	bool was_closed;

	pthread_mutex_lock(&context->lock);
	was_closed = stream->closing;
	retire_locked(stream);
	pthread_mutex_unlock(&context->lock);
	if (!was_closed)
		sg_stream_close(stream);
}

bool sg_own_stream_lives(const struct sg_own_stream *own)
{
	return sg_handle_is(own->stream, SG_HANDLE_STREAM) && own->stream->id == own->id;
}

/* Return the calling thread's own stream in a context, created at its first use. */
static CUresult per_thread_stream(CUcontext context, CUstream *ret_stream)
{
	struct sg_thread *self = sg_thread_self();
	CUstream stream;
	CUresult result;

	if (!self)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gt_vec_each (own, &self->streams) {
		if (sg_own_stream_lives(own) && own->stream->context == context) {
			*ret_stream = own->stream;
			return CUDA_SUCCESS;
		}
	}
	result = sg_stream_new(context, SG_STREAM_PER_THREAD, 0, 0, &stream);
	if (result)
		return result;
	if (gt_vec_push(&self->streams, (struct sg_own_stream){stream, stream->id})) {
		sg_stream_close(stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult sg_stream_find(CUcontext context, CUstream handle, CUstream zero, CUstream *ret_stream)
{
	if (!handle)
		handle = zero;
	if (handle == CU_STREAM_LEGACY) {
		*ret_stream = context->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD)
		return per_thread_stream(context, ret_stream);
	if (!sg_handle_is(handle, SG_HANDLE_STREAM))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = handle;
	return CUDA_SUCCESS;
}

uint64_t sg_stream_handle(CUstream stream)
{
	if (stream->kind == SG_STREAM_LEGACY)
		return (uintptr_t)CU_STREAM_LEGACY;
	if (stream->kind == SG_STREAM_PER_THREAD)
		return (uintptr_t)CU_STREAM_PER_THREAD;
	return (uintptr_t)stream;
}

/* ---- submission ------------------------------------------------------------------------ */

static bool is_blocking(CUstream stream)
{
	return stream->kind != SG_STREAM_INTERNAL && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/*
 * Work in the legacy default stream begins when all earlier work in the blocking streams is done,
 * and work in these when all its earlier work is done.
 */
static bool add_default_stream_rules(CUstream stream, struct sg_operation *operation)
{
	CUcontext context = stream->context;

	if (!is_blocking(stream))
		return true;
	if (stream != context->legacy)
		return sg_operation_wait_for(operation, context->legacy->tail);
	gt_vec_each (other, &context->streams) {
		if (*other != stream && is_blocking(*other) &&
		    !sg_operation_wait_for(operation, (*other)->tail))
			return false;
	}
	return true;
}

static bool is_trivial(const struct sg_operation *operation)
{
	enum sg_work_kind kind = operation->work.kind;

	return kind == SG_WORK_EMPTY || kind == SG_WORK_RECORD || kind == SG_WORK_WAIT ||
	       kind == SG_WORK_RESET || kind == SG_WORK_SIGNAL;
}

static bool nothing_before(CUstream stream, const struct sg_operation *operation)
{
	if (stream->first || stream->running)
		return false;
	gt_vec_each (other, &operation->waits) {
		if (!sg_operation_is_done(*other))
			return false;
	}
	return true;
}

static void set_tail(CUstream stream, struct sg_operation *operation)
{
	struct sg_operation *before = stream->tail;

	stream->tail = sg_operation_reference(operation);
	sg_operation_unreference(before);
}

/* Wait while the stream holds as many operations as it may (SOFTGPU_QUEUE). */
static void wait_for_space_locked(CUstream stream)
{
	uint32_t limit = sg_state.config.queue;

	while (limit && stream->kind != SG_STREAM_INTERNAL && stream->queued >= limit)
		pthread_cond_wait(&stream->wake, &stream->context->lock);
}

/*
 * Submit an operation. With *ret_run nothing is before it, and the caller has to run it (perform,
 * then finish_own), which is faster than waking a thread.
 */
static CUresult put_operation(CUstream stream, struct sg_operation *operation, bool may_run,
			      bool *ret_run)
{
	CUcontext context = stream->context;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	operation->submitted_ns = sg_clock_submit(operation);
	pthread_mutex_lock(&context->lock);
	wait_for_space_locked(stream);
	if (!add_default_stream_rules(stream, operation))
		goto out;
	*ret_run = may_run && nothing_before(stream, operation);
	if (!*ret_run && !start_thread(stream))
		goto out;
	result = CUDA_SUCCESS;
	operation->stream = stream;
	atomic_fetch_add(&stream->references, 1);
	set_tail(stream, operation);
	if (*ret_run) {
		stream->running = true;
		stream->running_kind = operation->work.kind;
	} else {
		*stream->last = sg_operation_reference(operation);
		stream->last = &operation->next;
		stream->queued++;
		pthread_cond_broadcast(&stream->wake);
	}
out:
	pthread_mutex_unlock(&context->lock);
	return result;
}

static void finish_own(CUstream stream)
{
	CUcontext context = stream->context;

	pthread_mutex_lock(&context->lock);
	stream->running = false;
	if (stream->closing && !stream->first)
		retire_locked(stream);
	pthread_cond_broadcast(&stream->wake);
	pthread_mutex_unlock(&context->lock);
}

static CUresult put_and_join(CUstream stream, struct sg_operation *operation, bool wait)
{
	bool run = false;
	CUresult result = put_operation(stream, operation, wait || is_trivial(operation), &run);

	if (result)
		return result;
	if (run) {
		perform_operation(operation);
		finish_own(stream);
	}
	return wait ? sg_operation_join(operation) : CUDA_SUCCESS;
}

CUresult sg_stream_put(CUstream stream, struct sg_operation *operation)
{
	return put_and_join(stream, operation, false);
}

CUresult sg_stream_submit(CUstream stream, struct sg_work *work, bool wait)
{
	struct sg_operation *operation;
	bool captured = false;
	CUresult result = sg_stream_capture_work(stream, work, wait, &captured);

	if (result || captured) {
		sg_work_clear(work);
		return result;
	}
	operation = sg_operation_new(work);
	if (!operation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = put_and_join(stream, operation, wait);
	sg_operation_unreference(operation);
	return result;
}

struct sg_operation *sg_stream_tail(CUstream stream)
{
	struct sg_operation *tail;

	pthread_mutex_lock(&stream->context->lock);
	tail = sg_operation_reference(stream->tail);
	pthread_mutex_unlock(&stream->context->lock);
	return tail;
}

/* Whether such work accesses only what its context's kernels can, or no memory of devices. */
static bool stays_in_context(enum sg_work_kind kind)
{
	return kind == SG_WORK_KERNEL || kind == SG_WORK_HOST || kind == SG_WORK_EMPTY ||
	       kind == SG_WORK_RECORD || kind == SG_WORK_WAIT || kind == SG_WORK_SIGNAL ||
	       kind == SG_WORK_AWAIT;
}

struct sg_operation *sg_stream_tail_of_copies(CUstream stream)
{
	struct sg_operation *tail = NULL;
	bool copies;

	pthread_mutex_lock(&stream->context->lock);
	copies = stream->running && !stays_in_context(stream->running_kind);
	for (struct sg_operation *next = stream->first; next && !copies; next = next->next)
		copies = !stays_in_context(next->work.kind);
	if (copies)
		tail = sg_operation_reference(stream->tail);
	pthread_mutex_unlock(&stream->context->lock);
	return tail;
}

CUresult sg_stream_synchronize(CUstream stream)
{
	CUcontext context = stream->context;
	struct sg_operation *tail;

	/* The legacy stream is synchronised with all blocking ones. */
	if (stream == context->legacy) {
		struct sg_work nothing = {.kind = SG_WORK_EMPTY};
		CUresult result = sg_stream_submit(stream, &nothing, true);

		return result ? result : (CUresult)atomic_load(&context->error);
	}
	tail = sg_stream_tail(stream);
	if (tail) {
		sg_operation_join(tail);
		sg_operation_unreference(tail);
	}
	return (CUresult)atomic_load(&context->error);
}

CUresult sg_stream_query(CUstream stream)
{
	CUcontext context = stream->context;
	bool busy = false;

	pthread_mutex_lock(&context->lock);
	busy = stream->tail && !sg_operation_is_done(stream->tail);
	if (stream == context->legacy) {
		gt_vec_each (other, &context->streams)
			busy |= is_blocking(*other) && (*other)->tail &&
				!sg_operation_is_done((*other)->tail);
	}
	pthread_mutex_unlock(&context->lock);
	if (atomic_load(&context->error))
		return (CUresult)atomic_load(&context->error);
	return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
