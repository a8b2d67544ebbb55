/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Users of the copies of the maps: programs, kernels and launches of a context. */
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/opencl/copies_private.h"
#include "agent/protocol.h"
#include "opencl/merge.h"

enum {
	MAX_MEMORY = 64 << 20, /* bytes of launches that are not merged yet, of more than two */
};

struct gt_cl_copies_state gt_cl_copies_state = {
	.order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.merged = PTHREAD_COND_INITIALIZER,
};

void gt_cl_copies_forked(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	gt_cl_copies_state.order = fresh;
	pthread_mutex_init(&gt_cl_copies_state.lock, NULL);
	pthread_cond_init(&gt_cl_copies_state.merged, NULL);
	gt_cl_copies_state.current = NULL;
}

static size_t area_bytes(void)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas), bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += areas[i].size;
	return bytes;
}

void gt_cl_copies_read_areas(uint64_t *words)
{
	struct gt_agent_area areas[GT_AGENT_AREAS];
	size_t count = gt_cl_services->host_areas(areas);

	for (size_t i = 0; i < count; i++) {
		gt_cl_read_words(words, (const uint64_t *)(uintptr_t)areas[i].address,
				 areas[i].size / GT_CL_WORD);
		words += areas[i].size / GT_CL_WORD;
	}
}

static void free_copies(struct gt_cl_copies *copies)
{
	if (copies->queue)
		gt_cl_target->clReleaseCommandQueue(copies->queue);
	if (copies->buffer)
		gt_cl_target->clReleaseMemObject(copies->buffer);
	for (unsigned i = 0; i < GT_CL_COPIED_LAUNCHES; i++)
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
	copies->slot_count = fit < 2                       ? 2
			     : fit < GT_CL_COPIED_LAUNCHES ? (unsigned)fit
							   : GT_CL_COPIED_LAUNCHES;
	if (copies->size <= GT_AGENT_MAX_IMAGE)
		copies->base = malloc(copies->size);
	if (copies->size && copies->base) {
		gt_cl_copies_read_areas(copies->base);
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

	pthread_mutex_lock(&gt_cl_copies_state.order);
	pthread_mutex_lock(&gt_cl_copies_state.lock);
	copies = gt_cl_copies_state.current;
	if (copies && copies->context == context)
		copies->users++;
	else if (copies)
		*ret_error = GT_AGENT_COPIED_ELSEWHERE;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	if (!copies) {
		copies = make_copies(context);
		if (!copies)
			*ret_error = GT_AGENT_NO_MEMORY;
		pthread_mutex_lock(&gt_cl_copies_state.lock);
		__atomic_store_n(&gt_cl_copies_state.current, copies, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&gt_cl_copies_state.lock);
	}
	pthread_mutex_unlock(&gt_cl_copies_state.order);
	return copies && copies->context == context ? copies : NULL;
}

void gt_cl_copies_retain(struct gt_cl_copies *copies)
{
	if (!copies)
		return;
	pthread_mutex_lock(&gt_cl_copies_state.lock);
	copies->users++;
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
}

void gt_cl_copies_put(struct gt_cl_copies *copies)
{
	bool is_last;

	if (!copies)
		return;
	pthread_mutex_lock(&gt_cl_copies_state.lock);
	is_last = !--copies->users;
	if (is_last && gt_cl_copies_state.current == copies)
		__atomic_store_n(&gt_cl_copies_state.current, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gt_cl_copies_state.lock);
	if (is_last)
		free_copies(copies);
}

bool gt_cl_copies_set_argument(struct gt_cl_copies *copies, cl_kernel kernel, cl_uint index)
{
	return !gt_cl_target->clSetKernelArg(kernel, index, sizeof(copies->buffer),
					     &copies->buffer);
}
