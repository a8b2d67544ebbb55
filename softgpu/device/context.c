/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/context.h"

#include <stdlib.h>

#include "device/array.h"
#include "device/handles.h"
#include "device/memory.h"
#include "device/module.h"
#include "device/pool.h"
#include "device/stream.h"
#include "device/texture.h"

static atomic_uint_least64_t last_id;

/*
 * All contexts, also those that were destroyed. A context is small and seldom created, so the
 * struct is kept: the threads of its streams may still be ending and read it, and its address never
 * denotes another context to a thread in which it was current.
 */
static struct {
	pthread_mutex_t lock;
	GT_VEC(CUcontext) list;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool keep_context(CUcontext context)
{
	int error;

	pthread_mutex_lock(&all.lock);
	error = gt_vec_push(&all.list, context);
	pthread_mutex_unlock(&all.lock);
	return !error;
}

/* NULL when `index` is past the last. */
static CUcontext context_at(size_t index)
{
	CUcontext context;

	pthread_mutex_lock(&all.lock);
	context = index < all.list.count ? all.list.items[index] : NULL;
	pthread_mutex_unlock(&all.lock);
	return context;
}

/* The defaults of cudaDeviceGetLimit. */
static const size_t default_limits[SG_LIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = SG_DEFAULT_HEAP_SIZE,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

static void free_context(CUcontext context)
{
	pthread_mutex_destroy(&context->lock);
	gt_vec_free(&context->streams);
	gt_vec_free(&context->modules);
	free(context);
}

CUresult sg_context_new(int device, unsigned int flags, bool primary, CUcontext *ret_context)
{
	CUcontext context = calloc(1, sizeof(*context));

	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->device = device;
	context->flags = flags;
	context->primary = primary;
	context->id = atomic_fetch_add(&last_id, 1) + 1;
	for (int i = 0; i < SG_LIMITS; i++)
		context->limits[i] = default_limits[i];
	pthread_mutex_init(&context->lock, NULL);
	if (sg_stream_new(context, SG_STREAM_LEGACY, 0, 0, &context->legacy)) {
		free_context(context);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!sg_handle_add(context, SG_HANDLE_CONTEXT) || !keep_context(context)) {
		sg_handle_remove(context);
		sg_stream_close(context->legacy);
		free_context(context);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_context = context;
	return CUDA_SUCCESS;
}

/* A stream of the context as a reference, NULL when `index` is past the last. */
static CUstream stream_at(CUcontext context, size_t index)
{
	CUstream stream = NULL;

	pthread_mutex_lock(&context->lock);
	if (index < context->streams.count) {
		stream = context->streams.items[index];
		atomic_fetch_add(&stream->references, 1);
	}
	pthread_mutex_unlock(&context->lock);
	return stream;
}

static void join_work(CUcontext context, struct sg_operation *(*find_tail)(CUstream stream))
{
	CUstream stream;

	for (size_t i = 0; (stream = stream_at(context, i)); i++) {
		struct sg_operation *tail = find_tail(stream);

		if (tail) {
			sg_operation_join(tail);
			sg_operation_unreference(tail);
		}
		sg_stream_unreference(stream);
	}
}

static void join_streams(CUcontext context)
{
	join_work(context, sg_stream_tail);
}

/* Free everything that was created in the context, which no other thread uses any more. */
static void empty_context(CUcontext context)
{
	CUstream stream;

	join_streams(context);
	while ((stream = stream_at(context, 0))) {
		sg_stream_retire(stream);
		sg_stream_unreference(stream);
	}
	while (context->modules.count)
		sg_module_unload(context->modules.items[context->modules.count - 1]);
	sg_texture_objects_free_context(context);
	sg_arrays_free_context(context);
	sg_memory_free_context(context);
}

void sg_context_destroy(CUcontext context)
{
	sg_handle_remove(context);
	empty_context(context);
}

/* ---- the calling thread ---------------------------------------------------------------- */

CUcontext sg_context_current(void)
{
	struct sg_thread *self = sg_thread_self();

	if (!self || !self->contexts.count)
		return NULL;
	return self->contexts.items[self->contexts.count - 1];
}

bool sg_context_push(CUcontext context)
{
	struct sg_thread *self = sg_thread_self();

	return self && !gt_vec_push(&self->contexts, context);
}

CUcontext sg_context_pop(void)
{
	struct sg_thread *self = sg_thread_self();

	if (!self || !self->contexts.count)
		return NULL;
	return self->contexts.items[--self->contexts.count];
}

bool sg_context_set(CUcontext context)
{
	sg_context_pop();
	return !context || sg_context_push(context);
}

int sg_thread_device(void)
{
	CUcontext context = sg_context_current();

	return context ? context->device : 0;
}

CUresult sg_context_use_failed(CUcontext *ret_context)
{
	CUresult result = sg_check();
	CUcontext context;

	if (result)
		return result;
	context = sg_context_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sg_handle_is(context, SG_HANDLE_CONTEXT))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult sg_context_use(CUcontext *ret_context)
{
	CUresult result = sg_context_use_failed(ret_context);

	return result ? result : (CUresult)atomic_load(&(*ret_context)->error);
}

CUresult sg_context_synchronize(CUcontext context)
{
	join_streams(context);
	sg_pools_synchronized(context->device);
	return (CUresult)atomic_load(&context->error);
}

void sg_contexts_join(void)
{
	CUcontext context;

	for (size_t i = 0; (context = context_at(i)); i++)
		join_streams(context);
}

/* Add an operation with its reference, unless it has ended. False: no memory. */
static bool add_pending(struct sg_operations *operations, struct sg_operation *operation)
{
	bool is_done = sg_operation_is_done(operation);

	if (!is_done && !gt_vec_push(&operations->list, operation))
		return true;
	sg_operation_unreference(operation);
	return is_done;
}

bool sg_contexts_pending(struct sg_operations *ret_operations)
{
	struct sg_operations operations = {0};
	bool added = true;
	CUcontext context;
	CUstream stream;

	for (size_t c = 0; added && (context = context_at(c)); c++)
		for (size_t i = 0; added && (stream = stream_at(context, i)); i++) {
			struct sg_operation *tail = sg_stream_tail(stream);

			if (tail)
				added = add_pending(&operations, tail);
			sg_stream_unreference(stream);
		}
	*ret_operations = operations;
	if (added)
		return true;
	gt_vec_each (operation, &operations.list) {
		sg_operation_unreference(*operation);
	}
	gt_vec_free(&operations.list);
	return false;
}

bool sg_operations_end(struct sg_operations *operations)
{
	gt_vec_each (operation, &operations->list) {
		if (!sg_operation_is_done(*operation))
			return false;
	}
	gt_vec_each (operation, &operations->list) {
		sg_operation_unreference(*operation);
	}
	gt_vec_free(&operations->list);
	return true;
}

/* Whether kernels of a context may access an allocation. */
static bool can_access(CUcontext context, const struct sg_allocation *allocation)
{
	return allocation->kind != SG_MEMORY_DEVICE || !allocation->context ||
	       allocation->context == context ||
	       (context->device != allocation->device && context->peers & 1u << allocation->device);
}

void sg_contexts_join_users(uint64_t address)
{
	struct sg_allocation allocation;
	CUcontext context;

	if (!sg_memory_find(address, &allocation)) {
		sg_contexts_join();
		return;
	}
	for (size_t i = 0; (context = context_at(i)); i++)
		join_work(context, can_access(context, &allocation) ? sg_stream_tail
								    : sg_stream_tail_of_copies);
}

/* ---- primary contexts ------------------------------------------------------------------ */

CUresult sg_context_retain_primary(int device, CUcontext *ret_context)
{
	struct sg_device *owner = &sg_state.devices[device];
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&sg_state.lock);
	if (!owner->primary)
		result = sg_context_new(device, owner->primary_flags, true, &owner->primary);
	if (!result) {
		owner->primary_references++;
		*ret_context = owner->primary;
	}
	pthread_mutex_unlock(&sg_state.lock);
	return result;
}

CUresult sg_context_release_primary(int device)
{
	struct sg_device *owner = &sg_state.devices[device];
	CUcontext old = NULL;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&sg_state.lock);
	if (!owner->primary_references) {
		result = CUDA_ERROR_INVALID_CONTEXT;
	} else if (!--owner->primary_references) {
		old = owner->primary;
		owner->primary = NULL;
	}
	pthread_mutex_unlock(&sg_state.lock);
	if (old)
		sg_context_destroy(old);
	return result;
}

CUresult sg_context_reset_primary(int device)
{
	struct sg_device *owner = &sg_state.devices[device];
	CUcontext old;

	pthread_mutex_lock(&sg_state.lock);
	old = owner->primary;
	owner->primary = NULL;
	owner->primary_references = 0;
	owner->primary_flags = 0;
	pthread_mutex_unlock(&sg_state.lock);
	if (old)
		sg_context_destroy(old);
	return CUDA_SUCCESS;
}
