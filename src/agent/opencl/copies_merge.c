/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Merging what launches have changed into the maps of the process. */
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/opencl/copies_private.h"
#include "opencl/merge.h"

void gt_cl_copies_merge_areas(uint64_t *base, const uint64_t *device)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas);

	for (size_t i = 0; i < count; i++) {
		gt_cl_merge_words((uint64_t *)(uintptr_t)areas[i].address, base, device,
				  areas[i].size / GT_CL_WORD);
		base += areas[i].size / GT_CL_WORD;
		device += areas[i].size / GT_CL_WORD;
	}
}

/* The oldest launch, if it has ended, is merged into the maps. False: there is none. */
static bool merge_first(struct gt_cl_copies *copies, struct gt_cl_copied_slot *ret_slot)
{
	struct gt_cl_copied_slot *slot;
	bool is_done;

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	slot = &copies->slots[copies->first % copies->slot_count];
	is_done = copies->first < copies->next && slot->is_done;
	if (is_done) {
		if (slot->is_valid)
			gt_cl_copies_merge_areas(copies->base, slot->words);
		else
			copies->is_unread = true;
		*ret_slot = *slot;
		slot->launch = slot->read = NULL;
		copies->first++;
		pthread_cond_broadcast(&gt_cl_copies_state.merged);
	}
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	return is_done;
}

void CL_CALLBACK gt_cl_copies_end_read(cl_event event, cl_int status, void *data)
{
	struct gt_cl_copies *copies = data;
	struct gt_cl_copied_slot slot;

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	for (size_t i = copies->first; i < copies->next; i++) {
		struct gt_cl_copied_slot *one = &copies->slots[i % copies->slot_count];

		if (one->read != event)
			continue;
		one->is_done = true;
		one->is_valid = status == CL_COMPLETE;
	}
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	while (merge_first(copies, &slot)) {
		gt_cl_release_event(slot.launch);
		gt_cl_release_event(slot.read);
	}
	gt_cl_copies_put(copies);
}

cl_event gt_cl_copies_retain_read(struct gt_cl_copies *copies)
{
	cl_event event = NULL;

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	if (copies->first < copies->next)
		event = copies->slots[(copies->next - 1) % copies->slot_count].read;
	if (event && gt_cl_target->clRetainEvent(event))
		event = NULL;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	return event;
}

void gt_cl_copies_wait_for_merge(struct gt_cl_copies *copies, size_t number)
{
	pthread_mutex_lock(&gt_cl_copies_state.lock);
	while (copies->first < number)
		pthread_cond_wait(&gt_cl_copies_state.merged, &gt_cl_copies_state.lock);
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
}

/*
 * Where all slots are in use, wait for the launches: then the maps are copied again. Not where the
 * program may first have to set an event that they wait for. False: no slot is free.
 */
static bool wait_for_slot(struct gt_cl_copies *copies)
{
	cl_event last;
	bool may_wait;

	pthread_mutex_lock(&gt_cl_copies_state.lock);
	may_wait = !gt_cl_copies_state.user_events;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	if (copies->next - copies->first < copies->slot_count)
		return true;
	if (!may_wait)
		return false;
	last = gt_cl_copies_retain_read(copies);
	if (last)
		gt_cl_target->clWaitForEvents(1, &last);
	gt_cl_release_event(last);
	gt_cl_copies_wait_for_merge(copies, copies->next);
	return true;
}

struct gt_cl_copied_slot *gt_cl_copies_take_slot(struct gt_cl_copies *copies)
{
	struct gt_cl_copied_slot *slot;

	if (!wait_for_slot(copies))
		return NULL;
	slot = &copies->slots[copies->next % copies->slot_count];
	if (!slot->words)
		slot->words = malloc(copies->size);
	return slot->words ? slot : NULL;
}
