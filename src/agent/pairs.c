/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/pairs.h"

#include <stdlib.h>

#include "base/hash.h"

struct pair {
	void *other;
	unsigned users;
};

static struct pair *find_locked(const struct gt_agent_pairs *pairs, const void *handle)
{
	return pairs->table ? gt_hash_get_u64(pairs->table, (uintptr_t)handle) : NULL;
}

/* A new pair, which is in the table, or NULL. */
static struct pair *add_locked(struct gt_agent_pairs *pairs, const void *handle)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pairs->table)
		pairs->table = gt_hash_new();
	if (pair && pairs->table && !gt_hash_set_u64(pairs->table, (uintptr_t)handle, pair))
		return pair;
	free(pair);
	return NULL;
}

bool gt_agent_pairs_put(struct gt_agent_pairs *pairs, const void *handle, void *other,
			unsigned users, void **ret_earlier)
{
	struct pair *pair;

	*ret_earlier = NULL;
	pthread_mutex_lock(&pairs->lock);
	pair = find_locked(pairs, handle);
	if (pair)
		*ret_earlier = pair->other;
	else
		pair = add_locked(pairs, handle);
	if (pair)
		*pair = (struct pair){other, users};
	pthread_mutex_unlock(&pairs->lock);
	return pair;
}

void *gt_agent_pairs_find(struct gt_agent_pairs *pairs, const void *handle)
{
	const struct pair *pair;
	void *other;

	pthread_mutex_lock(&pairs->lock);
	pair = find_locked(pairs, handle);
	other = pair ? pair->other : NULL;
	pthread_mutex_unlock(&pairs->lock);
	return other;
}

void gt_agent_pairs_retain(struct gt_agent_pairs *pairs, const void *handle)
{
	struct pair *pair;

	pthread_mutex_lock(&pairs->lock);
	pair = find_locked(pairs, handle);
	if (pair)
		pair->users++;
	pthread_mutex_unlock(&pairs->lock);
}

void *gt_agent_pairs_release(struct gt_agent_pairs *pairs, const void *handle)
{
	struct pair *pair, *last = NULL;
	void *other;

	pthread_mutex_lock(&pairs->lock);
	pair = find_locked(pairs, handle);
	if (pair && !--pair->users)
		last = gt_hash_remove_u64(pairs->table, (uintptr_t)handle);
	pthread_mutex_unlock(&pairs->lock);
	other = last ? last->other : NULL;
	free(last);
	return other;
}

void gt_agent_pairs_forked(struct gt_agent_pairs *pairs)
{
	pthread_mutex_init(&pairs->lock, NULL);
}
