/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parts of copies.h share. */
#pragma once

#include <pthread.h>

#include "agent/opencl/copies.h"

enum {
	GT_CL_COPIED_LAUNCHES = 16, /* that are not merged yet, at most */
	GT_CL_WORD = sizeof(uint64_t),
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
	struct gt_cl_copied_slot slots[GT_CL_COPIED_LAUNCHES];
	unsigned slot_count;
	size_t first, next;     /* numbers of launches; that of a slot modulo slot_count */
	bool is_unread;         /* the buffer has changes that no launch here reads */
	cl_command_queue queue; /* of the last launch, retained; NULL: none yet */
};

extern struct gt_cl_copies_state {
	/* Of enqueuing. A callback of the program's may launch in a call that is made here. */
	pthread_mutex_t order;
	pthread_mutex_t lock; /* of all below; nothing is executed with it */
	pthread_cond_t merged;
	struct gt_cl_copies *current;
	unsigned user_events; /* of the program, that it has not set yet */
} gt_cl_copies_state;

static inline void gt_cl_release_event(cl_event event)
{
	if (event)
		gt_cl_target->clReleaseEvent(event);
}

/* ---- copies.c ---- */

/* The maps of the process. The areas follow each other, as in the file of the collector. */
void gt_cl_copies_read_areas(uint64_t *words);

/* ---- copies_merge.c ---- */

/* Merge what a device has changed since `base` into the maps, and `base` becomes what it has. */
void gt_cl_copies_merge_areas(uint64_t *base, const uint64_t *device);
/* The callback of the event of a read, once for each launch, which is a user. */
void CL_CALLBACK gt_cl_copies_end_read(cl_event event, cl_int status, void *data);
/* The event of the read of the last launch, retained; NULL: all are merged. */
cl_event gt_cl_copies_retain_read(struct gt_cl_copies *copies);
/* Wait until the launches before a number are merged. */
void gt_cl_copies_wait_for_merge(struct gt_cl_copies *copies, size_t number);
/* A slot for another launch. NULL: there is none; its changes are read after a later one. */
struct gt_cl_copied_slot *gt_cl_copies_take_slot(struct gt_cl_copies *copies);
