/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of OpenCL that have something of the layer beside them, with the program's references. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct gt_hash;

struct gt_cl_pairs {
	pthread_mutex_t lock;
	struct gt_hash *table; /* NULL: it is empty */
};
#define GT_CL_PAIRS_INIT                                                                           \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/*
 * Put `other` beside a handle that the program has `users` references to. *ret_earlier: what it
 * replaces, or NULL. False: no memory.
 */
bool gt_cl_pairs_put(struct gt_cl_pairs *pairs, const void *handle, void *other, unsigned users,
		     void **ret_earlier);
/* What is beside a handle, or NULL. It is there as long as the program has a reference. */
void *gt_cl_pairs_find(struct gt_cl_pairs *pairs, const void *handle);
void gt_cl_pairs_retain(struct gt_cl_pairs *pairs, const void *handle);
/* Before the program's reference ends: what was beside the handle if this is the last one. */
void *gt_cl_pairs_release(struct gt_cl_pairs *pairs, const void *handle);
/* In the child after fork: other threads may have held the lock. */
void gt_cl_pairs_forked(struct gt_cl_pairs *pairs);
