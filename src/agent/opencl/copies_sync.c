/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Synchronisation of the program, after which the maps have what its launches have changed. */
#include "agent/opencl/copies_private.h"

/* The oldest launch that is not merged, with its events, retained. False: there is none. */
static bool retain_oldest(struct gt_cl_copies **ret_copies, struct gt_cl_copied_slot *ret_slot)
{
	struct gt_cl_copies *copies;
	bool is_there;

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	copies = gt_cl_copies_state.current;
	is_there = copies && copies->first < copies->next;
	if (is_there) {
		*ret_copies = copies;
		*ret_slot = copies->slots[copies->first % copies->slot_count];
		copies->users++;
		gt_cl_target->clRetainEvent(ret_slot->read);
		if (ret_slot->launch)
			gt_cl_target->clRetainEvent(ret_slot->launch);
	}
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	return is_there;
}

static bool has_ended(cl_event launch)
{
	cl_int status = CL_QUEUED;

	return launch &&
	       !gt_cl_target->clGetEventInfo(launch, CL_EVENT_COMMAND_EXECUTION_STATUS,
					     sizeof(status), &status, NULL) &&
	       status <= CL_COMPLETE;
}

void gt_cl_copies_settle(void)
{
	struct gt_cl_copies *copies;
	struct gt_cl_copied_slot oldest;
	bool ended = true;

	if (!__atomic_load_n(&gt_cl_copies_state.current, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&gt_cl_copies_state.order);
	while (ended && retain_oldest(&copies, &oldest)) {
		ended = has_ended(oldest.launch);
		if (ended) {
			gt_cl_target->clWaitForEvents(1, &oldest.read);
			gt_cl_copies_wait_for_merge(copies, oldest.number + 1);
		}
		gt_cl_release_event(oldest.launch);
		gt_cl_release_event(oldest.read);
		gt_cl_copies_put(copies);
	}
	pthread_mutex_unlock(&gt_cl_copies_state.order);
}

/* Merge what launches without a slot have changed, after all commands of their queue. */
static void read_rest(cl_command_queue queue)
{
	struct gt_cl_copies *copies;
	struct gt_cl_copied_slot *slot;

	if (!__atomic_load_n(&gt_cl_copies_state.current, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&gt_cl_copies_state.order);
	copies = gt_cl_copies_state.current;
	slot = copies && copies->is_unread && copies->queue == queue
		       ? gt_cl_copies_take_slot(copies)
		       : NULL;
	if (slot && !gt_cl_target->clEnqueueReadBuffer(queue, copies->buffer, CL_TRUE, 0,
						       copies->size, slot->words, 0, NULL, NULL)) {
		pthread_mutex_lock(&gt_cl_copies_state.lock);
		gt_cl_copies_merge_areas(copies->base, slot->words);
		copies->is_unread = false;
		pthread_mutex_unlock(&gt_cl_copies_state.lock);
	}
	pthread_mutex_unlock(&gt_cl_copies_state.order);
}

cl_int CL_API_CALL gt_cl_finish(cl_command_queue queue)
{
	cl_int error = gt_cl_target->clFinish(queue);

	gt_cl_copies_settle();
	read_rest(queue);
	return error;
}

cl_int CL_API_CALL gt_cl_wait_for_events(cl_uint count, const cl_event *list)
{
	cl_int error = gt_cl_target->clWaitForEvents(count, list);

	gt_cl_copies_settle();
	return error;
}

/* ---- events of the program ---- */

cl_event CL_API_CALL gt_cl_create_user_event(cl_context context, cl_int *ret_error)
{
	cl_event event = gt_cl_target->clCreateUserEvent(context, ret_error);

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	gt_cl_copies_state.user_events += event != NULL;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	return event;
}

cl_int CL_API_CALL gt_cl_set_user_event(cl_event event, cl_int status)
{
	cl_int error = gt_cl_target->clSetUserEventStatus(event, status);

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	gt_cl_copies_state.user_events -= !error && gt_cl_copies_state.user_events;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	return error;
}
