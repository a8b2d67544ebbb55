/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Launches on copies of the maps, and the commands around each. */
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/copies_private.h"

/* A command waits for events of another queue: that is to submit them. */
static void change_queue(struct gt_cl_copies *copies, cl_command_queue queue)
{
	if (copies->queue == queue || gt_cl_target->clRetainCommandQueue(queue))
		return;
	if (copies->queue) {
		gt_cl_target->clFlush(copies->queue);
		gt_cl_target->clReleaseCommandQueue(copies->queue);
	}
	copies->queue = queue;
}

/* Copy the maps to the buffer. The event of the command, or NULL. */
static cl_event write_maps(struct gt_cl_copies *copies, cl_command_queue queue,
			   const struct gt_cl_copied_slot *slot)
{
	cl_event event = NULL;

	gt_cl_copies_read_areas(slot->words);
	if (gt_cl_target->clEnqueueWriteBuffer(queue, copies->buffer, CL_FALSE, 0, copies->size,
					       slot->words, 0, NULL, &event))
		return NULL;
	memcpy(copies->base, slot->words, copies->size);
	return event;
}

/* Let the launch wait for `before`, too. */
static void add_event(struct gt_cl_copied_launch *launch)
{
	launch->own_list = malloc((launch->count + 1) * sizeof(*launch->own_list));
	if (!launch->own_list) {
		gt_cl_target->clWaitForEvents(1, &launch->before);
		return;
	}
	if (launch->count)
		memcpy(launch->own_list, launch->list, launch->count * sizeof(*launch->list));
	launch->own_list[launch->count++] = launch->before;
	launch->list = launch->own_list;
}

void gt_cl_copies_begin(struct gt_cl_copied_launch *launch)
{
	struct gt_cl_copies *copies = launch->copies;

	if (!copies)
		return;
	pthread_mutex_lock(&gt_cl_copies_state.order);
	change_queue(copies, launch->queue);
	launch->slot = gt_cl_copies_take_slot(copies);
	launch->before = gt_cl_copies_retain_read(copies);
	if (!launch->before && launch->slot && !copies->is_unread)
		launch->before = write_maps(copies, launch->queue, launch->slot);
	/* OpenCL rejects a list that does not have its number of events. */
	if (launch->before && !launch->list == !launch->count)
		add_event(launch);
	if (!launch->event)
		launch->event = &launch->own_event;
}

/* Read the buffer after a launch. */
static cl_int read_maps(const struct gt_cl_copied_launch *launch, struct gt_cl_copied_slot *slot)
{
	struct gt_cl_copies *copies = launch->copies;
	cl_int error = gt_cl_target->clEnqueueReadBuffer(launch->queue, copies->buffer, CL_FALSE, 0,
							 copies->size, slot->words, 1,
							 launch->event, &slot->read);

	if (error)
		return error;
	if (!gt_cl_target->clRetainEvent(*launch->event))
		slot->launch = *launch->event;
	pthread_mutex_lock(&gt_cl_copies_state.lock);
	slot->is_done = false;
	slot->number = copies->next++;
	copies->users++;
	copies->is_unread = false;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	if (gt_cl_target->clSetEventCallback(slot->read, CL_COMPLETE, gt_cl_copies_end_read,
					     copies)) {
		error = gt_cl_target->clWaitForEvents(1, &slot->read);
		gt_cl_copies_end_read(slot->read, error ? error : CL_COMPLETE, copies);
	}
	return CL_SUCCESS;
}

void gt_cl_copies_end(struct gt_cl_copied_launch *launch, cl_int result)
{
	struct gt_cl_copies *copies = launch->copies;

	if (!copies)
		return;
	if (!result && (!launch->slot || read_maps(launch, launch->slot)))
		copies->is_unread = true;
	gt_cl_release_event(launch->own_event);
	gt_cl_release_event(launch->before);
	free(launch->own_list);
	pthread_mutex_unlock(&gt_cl_copies_state.order);
}
