/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Handles of OpenCL and Level Zero that have something of the agent beside them, with the
 * references of the program. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct gt_hash;

struct gt_agent_pairs {
	pthread_mutex_t lock;
	struct gt_hash *table; /* NULL: it is empty */
};
#define GT_AGENT_PAIRS_INIT                                                                        \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/*
 * Put `other` beside a handle that the program has `users` references to. *ret_earlier: what it
 * replaces, or NULL. False: no memory.
 */
bool gt_agent_pairs_put(struct gt_agent_pairs *pairs, const void *handle, void *other,
			unsigned users, void **ret_earlier);
/* What is beside a handle, or NULL. It is there as long as the program has a reference. */
void *gt_agent_pairs_find(struct gt_agent_pairs *pairs, const void *handle);
void gt_agent_pairs_retain(struct gt_agent_pairs *pairs, const void *handle);
/* Before the program's reference ends: what was beside the handle if this is the last one. */
void *gt_agent_pairs_release(struct gt_agent_pairs *pairs, const void *handle);
/* In the child after fork: other threads may have held the lock. */
void gt_agent_pairs_forked(struct gt_agent_pairs *pairs);
