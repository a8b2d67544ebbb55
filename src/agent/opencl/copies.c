/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/opencl/copies.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/protocol.h"
#include "opencl/merge.h"

enum {
	MAX_LAUNCHES = 16,     /* that are not merged yet */
	MAX_MEMORY = 64 << 20, /* bytes of these, of more than two */
	WORD = sizeof(uint64_t),
};

/* A launch that is not merged yet. */
struct gt_cl_copied_slot {
	uint64_t *words; /* what is copied to the device, then what it returns */
	cl_event launch, read;
	bool is_done, is_valid;
	size_t number; /* of the launch */
};

struct gt_cl_copies {
	cl_context context;
	cl_mem buffer;
	size_t size;    /* bytes */
	uint64_t *base; /* as the buffer was before the launches that are not merged */
	unsigned users; /* programs, kernels, launches */
	struct gt_cl_copied_slot slots[MAX_LAUNCHES];
	unsigned slot_count;
	size_t first, next;     /* numbers of launches; that of a slot modulo slot_count */
	bool is_unread;         /* the buffer has changes that no launch here reads */
	cl_command_queue queue; /* of the last launch, retained; NULL: none yet */
};

static struct {
	/* Of enqueuing. A callback of the program's may launch in a call that is made here. */
	pthread_mutex_t order;
	pthread_mutex_t lock; /* of all below; nothing is executed with it */
	pthread_cond_t merged;
	struct gt_cl_copies *current;
	unsigned user_events; /* of the program, that it has not set yet */
} state = {
	.order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.merged = PTHREAD_COND_INITIALIZER,
};

void gt_cl_copies_forked(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	state.order = fresh;
	pthread_mutex_init(&state.lock, NULL);
	pthread_cond_init(&state.merged, NULL);
	state.current = NULL;
}

/* ---- the maps of the process ---- */

static size_t area_bytes(void)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas), bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += areas[i].size;
	return bytes;
}

/* The areas follow each other, as in the file of the collector. */
static void read_areas(uint64_t *words)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas);

	for (size_t i = 0; i < count; i++) {
		gt_cl_read_words(words, (const uint64_t *)(uintptr_t)areas[i].address,
				 areas[i].size / WORD);
		words += areas[i].size / WORD;
	}
}

static void merge_areas(uint64_t *base, const uint64_t *device)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas);

	for (size_t i = 0; i < count; i++) {
		gt_cl_merge_words((uint64_t *)(uintptr_t)areas[i].address, base, device,
				  areas[i].size / WORD);
		base += areas[i].size / WORD;
		device += areas[i].size / WORD;
	}
}

/* ---- users ---- */

static void free_copies(struct gt_cl_copies *copies)
{
	if (copies->queue)
		gt_cl_target->clReleaseCommandQueue(copies->queue);
	if (copies->buffer)
		gt_cl_target->clReleaseMemObject(copies->buffer);
	for (unsigned i = 0; i < MAX_LAUNCHES; i++)
		free(copies->slots[i].words);
	free(copies->base);
	free(copies);
}

static struct gt_cl_copies *make_copies(cl_context context)
{
	struct gt_cl_copies *copies = calloc(1, sizeof(*copies));
	cl_int error = CL_SUCCESS;
	size_t fit;

	if (!copies)
		return NULL;
	copies->context = context;
	copies->users = 1;
	copies->size = area_bytes();
	fit = copies->size ? MAX_MEMORY / copies->size : 0;
	copies->slot_count = fit < 2 ? 2 : fit < MAX_LAUNCHES ? (unsigned)fit : MAX_LAUNCHES;
	copies->base = malloc(copies->size);
	if (copies->size && copies->base) {
		read_areas(copies->base);
		copies->buffer = gt_cl_target->clCreateBuffer(
			context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, copies->size,
			copies->base, &error);
	}
	if (copies->buffer)
		return copies;
	free_copies(copies);
	return NULL;
}

struct gt_cl_copies *gt_cl_copies_get(cl_context context, int *ret_error)
{
	struct gt_cl_copies *copies;

	pthread_mutex_lock(&state.order);
	pthread_mutex_lock(&state.lock);
	copies = state.current;
	if (copies && copies->context == context)
		copies->users++;
	else if (copies)
		*ret_error = GT_AGENT_COPIED_ELSEWHERE;
	pthread_mutex_unlock(&state.lock);
	if (!copies) {
		copies = make_copies(context);
		if (!copies)
			*ret_error = GT_AGENT_NO_MEMORY;
		pthread_mutex_lock(&state.lock);
		__atomic_store_n(&state.current, copies, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&state.lock);
	}
	pthread_mutex_unlock(&state.order);
	return copies && copies->context == context ? copies : NULL;
}

void gt_cl_copies_retain(struct gt_cl_copies *copies)
{
	if (!copies)
		return;
	pthread_mutex_lock(&state.lock);
	copies->users++;
	pthread_mutex_unlock(&state.lock);
}

void gt_cl_copies_put(struct gt_cl_copies *copies)
{
	bool is_last;

	if (!copies)
		return;
	pthread_mutex_lock(&state.lock);
	is_last = !--copies->users;
	if (is_last && state.current == copies)
		__atomic_store_n(&state.current, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&state.lock);
	if (is_last)
		free_copies(copies);
}

bool gt_cl_copies_set_argument(struct gt_cl_copies *copies, cl_kernel kernel, cl_uint index)
{
	return !gt_cl_target->clSetKernelArg(kernel, index, sizeof(copies->buffer),
					     &copies->buffer);
}

/* ---- merging ---- */

static void release_event(cl_event event)
{
	if (event)
		gt_cl_target->clReleaseEvent(event);
}

/* The oldest launch, if it has ended, is merged into the maps. False: there is none. */
static bool merge_first(struct gt_cl_copies *copies, struct gt_cl_copied_slot *ret_slot)
{
	struct gt_cl_copied_slot *slot;
	bool is_done;

	pthread_mutex_lock(&state.lock);
	slot = &copies->slots[copies->first % copies->slot_count];
	is_done = copies->first < copies->next && slot->is_done;
	if (is_done) {
		if (slot->is_valid)
			merge_areas(copies->base, slot->words);
		else
			copies->is_unread = true;
		*ret_slot = *slot;
		slot->launch = slot->read = NULL;
		copies->first++;
		pthread_cond_broadcast(&state.merged);
	}
	pthread_mutex_unlock(&state.lock);
	return is_done;
}

/* The callback of the event of a read, once for each launch, which is a user. */
static void CL_CALLBACK end_read(cl_event event, cl_int status, void *data)
{
	struct gt_cl_copies *copies = data;
	struct gt_cl_copied_slot slot;

	pthread_mutex_lock(&state.lock);
	for (size_t i = copies->first; i < copies->next; i++) {
		struct gt_cl_copied_slot *one = &copies->slots[i % copies->slot_count];

		if (one->read != event)
			continue;
		one->is_done = true;
		one->is_valid = status == CL_COMPLETE;
	}
	pthread_mutex_unlock(&state.lock);
	while (merge_first(copies, &slot)) {
		release_event(slot.launch);
		release_event(slot.read);
	}
	gt_cl_copies_put(copies);
}

/* The event of the read of the last launch, retained; NULL: all are merged. */
static cl_event retain_read(struct gt_cl_copies *copies)
{
	cl_event event = NULL;

	pthread_mutex_lock(&state.lock);
	if (copies->first < copies->next)
		event = copies->slots[(copies->next - 1) % copies->slot_count].read;
	if (event && gt_cl_target->clRetainEvent(event))
		event = NULL;
	pthread_mutex_unlock(&state.lock);
	return event;
}

/* Wait until the launches before a number are merged. */
static void wait_for_merge(struct gt_cl_copies *copies, size_t number)
{
	pthread_mutex_lock(&state.lock);
	while (copies->first < number)
		pthread_cond_wait(&state.merged, &state.lock);
	pthread_mutex_unlock(&state.lock);
}

/* ---- launches ---- */

/*
 * Where all slots are in use, wait for the launches: then the maps are copied again. Not where the
 * program may first have to set an event that they wait for. False: no slot is free.
 */
static bool wait_for_slot(struct gt_cl_copies *copies)
{
	cl_event last;
	bool may_wait;

	pthread_mutex_lock(&state.lock);
	may_wait = !state.user_events;
	pthread_mutex_unlock(&state.lock);
	if (copies->next - copies->first < copies->slot_count)
		return true;
	if (!may_wait)
		return false;
	last = retain_read(copies);
	if (last)
		gt_cl_target->clWaitForEvents(1, &last);
	release_event(last);
	wait_for_merge(copies, copies->next);
	return true;
}

/* A slot for another launch. NULL: there is none; its changes are read after a later one. */
static struct gt_cl_copied_slot *take_slot(struct gt_cl_copies *copies)
{
	struct gt_cl_copied_slot *slot;

	if (!wait_for_slot(copies))
		return NULL;
	slot = &copies->slots[copies->next % copies->slot_count];
	if (!slot->words)
		slot->words = malloc(copies->size);
	return slot->words ? slot : NULL;
}

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

	read_areas(slot->words);
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
	pthread_mutex_lock(&state.order);
	change_queue(copies, launch->queue);
	launch->slot = take_slot(copies);
	launch->before = retain_read(copies);
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
	pthread_mutex_lock(&state.lock);
	slot->is_done = false;
	slot->number = copies->next++;
	copies->users++;
	copies->is_unread = false;
	pthread_mutex_unlock(&state.lock);
	if (gt_cl_target->clSetEventCallback(slot->read, CL_COMPLETE, end_read, copies)) {
		error = gt_cl_target->clWaitForEvents(1, &slot->read);
		end_read(slot->read, error ? error : CL_COMPLETE, copies);
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
	release_event(launch->own_event);
	release_event(launch->before);
	free(launch->own_list);
	pthread_mutex_unlock(&state.order);
}

/* ---- synchronisation ---- */

/* The oldest launch that is not merged, with its events, retained. False: there is none. */
static bool retain_oldest(struct gt_cl_copies **ret_copies, struct gt_cl_copied_slot *ret_slot)
{
	struct gt_cl_copies *copies;
	bool is_there;

	pthread_mutex_lock(&state.lock);
	copies = state.current;
	is_there = copies && copies->first < copies->next;
	if (is_there) {
		*ret_copies = copies;
		*ret_slot = copies->slots[copies->first % copies->slot_count];
		copies->users++;
		gt_cl_target->clRetainEvent(ret_slot->read);
		if (ret_slot->launch)
			gt_cl_target->clRetainEvent(ret_slot->launch);
	}
	pthread_mutex_unlock(&state.lock);
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

	if (!__atomic_load_n(&state.current, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&state.order);
	while (ended && retain_oldest(&copies, &oldest)) {
		ended = has_ended(oldest.launch);
		if (ended) {
			gt_cl_target->clWaitForEvents(1, &oldest.read);
			wait_for_merge(copies, oldest.number + 1);
		}
		release_event(oldest.launch);
		release_event(oldest.read);
		gt_cl_copies_put(copies);
	}
	pthread_mutex_unlock(&state.order);
}

/* Merge what launches without a slot have changed, after all commands of their queue. */
static void read_rest(cl_command_queue queue)
{
	struct gt_cl_copies *copies;
	struct gt_cl_copied_slot *slot;

	if (!__atomic_load_n(&state.current, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&state.order);
	copies = state.current;
	slot = copies && copies->is_unread && copies->queue == queue ? take_slot(copies) : NULL;
	if (slot && !gt_cl_target->clEnqueueReadBuffer(queue, copies->buffer, CL_TRUE, 0,
						       copies->size, slot->words, 0, NULL, NULL)) {
		pthread_mutex_lock(&state.lock);
		merge_areas(copies->base, slot->words);
		copies->is_unread = false;
		pthread_mutex_unlock(&state.lock);
	}
	pthread_mutex_unlock(&state.order);
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

	pthread_mutex_lock(&state.lock);
	state.user_events += event != NULL;
	pthread_mutex_unlock(&state.lock);
	return event;
}

cl_int CL_API_CALL gt_cl_set_user_event(cl_event event, cl_int status)
{
	cl_int error = gt_cl_target->clSetUserEventStatus(event, status);

	pthread_mutex_lock(&state.lock);
	state.user_events -= !error && state.user_events;
	pthread_mutex_unlock(&state.lock);
	return error;
}
