/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/handles.h"

#include <pthread.h>
#include <stdint.h>

#include "base/hash.h"

static struct {
	pthread_rwlock_t lock;
	struct gt_hash *kinds; /* address → enum sg_handle */
} handles = {PTHREAD_RWLOCK_INITIALIZER, NULL};

bool sg_handle_add(const void *handle, enum sg_handle kind)
{
	bool added;

	pthread_rwlock_wrlock(&handles.lock);
	if (!handles.kinds)
		handles.kinds = gt_hash_new();
	added = handles.kinds &&
		!gt_hash_set_u64(handles.kinds, (uintptr_t)handle, (void *)(uintptr_t)kind);
	pthread_rwlock_unlock(&handles.lock);
	return added;
}

void sg_handle_remove(const void *handle)
{
	pthread_rwlock_wrlock(&handles.lock);
	if (handles.kinds)
		gt_hash_remove_u64(handles.kinds, (uintptr_t)handle);
	pthread_rwlock_unlock(&handles.lock);
}

enum sg_handle sg_handle_kind(const void *handle)
{
	enum sg_handle kind = SG_HANDLE_NONE;

	pthread_rwlock_rdlock(&handles.lock);
	if (handles.kinds && handle)
		kind = (enum sg_handle)(uintptr_t)gt_hash_get_u64(handles.kinds, (uintptr_t)handle);
	pthread_rwlock_unlock(&handles.lock);
	return kind;
}
