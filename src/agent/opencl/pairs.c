/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/opencl/pairs.h"

#include <stdlib.h>

struct gt_cl_pair {
	const void *handle;
	void *other;
	unsigned users;
	struct gt_cl_pair *next;
};

/* The link to the pair of a handle, or to the end. */
static struct gt_cl_pair **find_locked(struct gt_cl_pairs *pairs, const void *handle)
{
	struct gt_cl_pair **link = &pairs->first;

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

bool gt_cl_pairs_put(struct gt_cl_pairs *pairs, const void *handle, void *other, unsigned users,
		     void **ret_earlier)
{
	struct gt_cl_pair *fresh = malloc(sizeof(*fresh)), *pair;

	*ret_earlier = NULL;
	if (!fresh)
		return false;
	pthread_mutex_lock(&pairs->lock);
	pair = *find_locked(pairs, handle);
	if (pair) {
		*ret_earlier = pair->other;
		pair->other = other;
		pair->users = users;
	} else {
		*fresh = (struct gt_cl_pair){handle, other, users, pairs->first};
		pairs->first = fresh;
		fresh = NULL;
	}
	pthread_mutex_unlock(&pairs->lock);
	free(fresh);
	return true;
}

void *gt_cl_pairs_find(struct gt_cl_pairs *pairs, const void *handle)
{
	struct gt_cl_pair *pair;
	void *other;

	pthread_mutex_lock(&pairs->lock);
	pair = *find_locked(pairs, handle);
	other = pair ? pair->other : NULL;
	pthread_mutex_unlock(&pairs->lock);
	return other;
}

void gt_cl_pairs_retain(struct gt_cl_pairs *pairs, const void *handle)
{
	struct gt_cl_pair *pair;

	pthread_mutex_lock(&pairs->lock);
	pair = *find_locked(pairs, handle);
	if (pair)
		pair->users++;
	pthread_mutex_unlock(&pairs->lock);
}

void *gt_cl_pairs_release(struct gt_cl_pairs *pairs, const void *handle)
{
	struct gt_cl_pair **link, *last = NULL;
	void *other;

	pthread_mutex_lock(&pairs->lock);
	link = find_locked(pairs, handle);
	if (*link && !--(*link)->users) {
		last = *link;
		*link = last->next;
	}
	pthread_mutex_unlock(&pairs->lock);
	other = last ? last->other : NULL;
	free(last);
	return other;
}

void gt_cl_pairs_forked(struct gt_cl_pairs *pairs)
{
	pthread_mutex_init(&pairs->lock, NULL);
}
