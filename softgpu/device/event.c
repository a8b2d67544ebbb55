/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/event.h"

#include <stdlib.h>

#include "device/clock.h"
#include "device/handles.h"
#include "device/stream_capture.h"

/* Takes over the reference to `shared` (NULL: none), also on failure. */
static CUresult make_event(CUcontext context, unsigned int flags, struct sg_shared_event *shared,
			   CUevent *ret_event)
{
	CUevent event = calloc(1, sizeof(*event));

	if (!event || !sg_handle_add(event, SG_HANDLE_EVENT)) {
		sg_shared_event_unreference(shared);
		free(event);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	event->context = context;
	event->flags = flags;
	event->shared = shared;
	pthread_mutex_init(&event->lock, NULL);
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult sg_event_new(CUcontext context, unsigned int flags, CUevent *ret_event)
{
	struct sg_shared_event *shared = NULL;
	CUresult result = CUDA_SUCCESS;

	if (flags & CU_EVENT_INTERPROCESS)
		result = sg_shared_event_new(&shared);
	return result ? result : make_event(context, flags, shared, ret_event);
}

CUresult sg_event_open(CUcontext context, int fd, CUevent *ret_event)
{
	struct sg_shared_event *shared;
	CUresult result = sg_shared_event_open(fd, &shared);

	return result ? result
		      : make_event(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, shared,
				   ret_event);
}

void sg_event_destroy(CUevent event)
{
	sg_handle_remove(event);
	sg_operation_unreference(event->record);
	sg_shared_event_unreference(event->shared);
	gt_vec_free(&event->nodes);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

struct sg_operation *sg_event_operation(CUevent event)
{
	struct sg_operation *operation;

	pthread_mutex_lock(&event->lock);
	operation = sg_operation_reference(event->record);
	pthread_mutex_unlock(&event->lock);
	return operation;
}

void sg_event_set_operation(CUevent event, struct sg_operation *operation)
{
	struct sg_operation *before;

	pthread_mutex_lock(&event->lock);
	before = event->record;
	event->record = sg_operation_reference(operation);
	event->capture_id = 0;
	pthread_mutex_unlock(&event->lock);
	sg_operation_unreference(before);
}

/* Submit a signal for a record of the event, or a wait for its last one. */
static CUresult put_shared(CUstream stream, struct sg_shared_event *event, enum sg_work_kind kind)
{
	struct sg_work work = {.kind = kind};
	struct sg_operation *operation;
	CUresult result;

	work.shared.event = sg_shared_event_reference(event);
	work.shared.number = kind == SG_WORK_SIGNAL ? sg_shared_event_submit(event)
						    : sg_shared_event_last(event);
	operation = sg_operation_new(&work);
	result = operation ? sg_stream_put(stream, operation) : CUDA_ERROR_OUT_OF_MEMORY;
	sg_operation_unreference(operation);
	return result;
}

CUresult sg_event_record(CUevent event, CUstream stream, bool external)
{
	struct sg_work work = {.kind = SG_WORK_RECORD, .event = event};
	struct sg_operation *operation;
	bool captured = false;
	CUresult result;

	if (event->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	result = external ? sg_stream_capture_work(stream, &work, false, &captured)
			  : sg_stream_capture_record(stream, event, &captured);
	if (result || captured)
		return result;
	operation = sg_operation_new(&work);
	if (!operation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sg_stream_put(stream, operation);
	if (!result)
		sg_event_set_operation(event, operation);
	sg_operation_unreference(operation);
	if (!result && event->shared)
		result = put_shared(stream, event->shared, SG_WORK_SIGNAL);
	return result;
}

CUresult sg_event_wait(CUstream stream, CUevent event, bool external)
{
	struct sg_work work = {.kind = SG_WORK_WAIT, .event = event};
	struct sg_operation *operation, *record;
	bool captured = false;
	CUresult result;

	result = external ? sg_stream_capture_work(stream, &work, false, &captured)
			  : sg_stream_capture_wait(stream, event, &captured);
	if (result || captured)
		return result;
	if (event->shared)
		return put_shared(stream, event->shared, SG_WORK_AWAIT);
	record = sg_event_operation(event);
	if (!record)
		return CUDA_SUCCESS;
	operation = sg_operation_new(&work);
	result = CUDA_ERROR_OUT_OF_MEMORY;
	if (operation && sg_operation_wait_for(operation, record))
		result = sg_stream_put(stream, operation);
	sg_operation_unreference(operation);
	sg_operation_unreference(record);
	return result;
}

/* The event was recorded in a capture, so that it has no state. */
static bool is_captured(CUevent event)
{
	bool captured;

	pthread_mutex_lock(&event->lock);
	captured = event->capture_id != 0;
	pthread_mutex_unlock(&event->lock);
	return captured;
}

CUresult sg_event_query(CUevent event)
{
	struct sg_operation *record;
	CUresult result = CUDA_SUCCESS;

	if (is_captured(event))
		return CUDA_ERROR_CAPTURED_EVENT;
	if (event->shared &&
	    !sg_shared_event_is_there(event->shared, sg_shared_event_last(event->shared)))
		return CUDA_ERROR_NOT_READY;
	record = sg_event_operation(event);
	if (!record)
		return CUDA_SUCCESS;
	if (!sg_operation_is_done(record))
		result = CUDA_ERROR_NOT_READY;
	else if (record->result)
		result = record->result;
	sg_operation_unreference(record);
	return result;
}

CUresult sg_event_synchronize(CUevent event)
{
	struct sg_operation *record;
	CUresult result = CUDA_SUCCESS;

	if (is_captured(event))
		return CUDA_ERROR_CAPTURED_EVENT;
	if (event->shared)
		result = sg_shared_event_wait(event->shared, sg_shared_event_last(event->shared),
					      event->context);
	record = sg_event_operation(event);
	if (!record || result) {
		sg_operation_unreference(record);
		return result;
	}
	result = sg_operation_join(record);
	sg_operation_unreference(record);
	return result;
}

CUresult sg_event_elapsed(CUevent start, CUevent end, float *ret_ms)
{
	struct sg_operation *first = sg_event_operation(start);
	struct sg_operation *second = sg_event_operation(end);
	CUresult result = CUDA_SUCCESS;

	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !first || !second)
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!sg_operation_is_done(first) || !sg_operation_is_done(second))
		result = CUDA_ERROR_NOT_READY;
	else if (first->result || second->result)
		result = first->result ? first->result : second->result;
	else
		*ret_ms = (float)((double)(int64_t)(sg_clock_device(second->end_ns) -
						    sg_clock_device(first->end_ns)) /
				  1e6);
	sg_operation_unreference(first);
	sg_operation_unreference(second);
	return result;
}
