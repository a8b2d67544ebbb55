/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams: queues of operations, each with a thread that runs them in order. An operation begins
 * when the one before it in its stream and all its dependencies are done. Its dependencies were
 * submitted before it, so that there are no deadlocks.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cuda.h>

#include "base/vec.h"
#include "device/context.h"
#include "device/work.h"

enum sg_stream_kind {
	SG_STREAM_LEGACY,     /* the legacy default stream: CU_STREAM_LEGACY */
	SG_STREAM_PER_THREAD, /* a thread's own: CU_STREAM_PER_THREAD */
	SG_STREAM_CREATED,
	SG_STREAM_INTERNAL, /* for the branches of graphs */
};

struct sg_operation {
	struct sg_operation *next; /* in the queue */
	atomic_uint references;
	atomic_uint done; /* 0, then 1: a futex */
	CUresult result;  /* once done */
	struct CUstream_st *stream;
	struct sg_work work;
	GT_VEC(struct sg_operation *) waits; /* references */
	uint64_t submitted_ns;
	uint64_t start_ns; /* once done, both; on the device's clock (clock.h) */
	uint64_t end_ns;
};

struct sg_stream_capture;

struct CUstream_st {
	atomic_uint references;
	CUcontext context;
	enum sg_stream_kind kind;
	unsigned int flags; /* CU_STREAM_NON_BLOCKING */
	int priority;
	uint64_t id; /* counts from 1 */
	CUsynchronizationPolicy policy;
	CUaccessPolicyWindow window;
	CUlaunchMemSyncDomain memory_domain;
	CUlaunchMemSyncDomainMap memory_domains;

	/* Under the context's lock: */
	struct sg_operation *first, **last; /* the queue */
	struct sg_operation *tail;          /* the last one submitted; a reference, or NULL */
	uint32_t queued;                    /* operations of the thread that are not done */
	bool running;                       /* an operation has left the queue and is not done */
	enum sg_work_kind running_kind;     /* its kind */
	bool has_thread;
	bool closing; /* no more work will come */
	pthread_cond_t wake;

	/* Under the captures' lock (capture.c): */
	struct sg_stream_capture *capture;        /* the capture in progress, or NULL */
	GT_VEC(struct CUgraphNode_st *) frontier; /* the dependencies of the next node */

	uint64_t virtual_ns; /* the end of its last operation on the virtual clock */
};

CUresult sg_stream_new(CUcontext context, enum sg_stream_kind kind, unsigned int flags,
		       int priority, CUstream *ret_stream);
/* Close a stream: its thread ends when the queue is empty. Drops the handle's reference. */
void sg_stream_close(CUstream stream);
/*
 * The same, for a stream whose context is destroyed: its queue is empty. It may be closed already.
 */
void sg_stream_retire(CUstream stream);
void sg_stream_unreference(CUstream stream);
/*
 * Find the stream of a handle: NULL is `zero` (CU_STREAM_LEGACY or CU_STREAM_PER_THREAD), these two
 * are the current context's. CUDA_ERROR_INVALID_HANDLE: no stream, CUDA_ERROR_INVALID_CONTEXT: of a
 * destroyed context.
 */
CUresult sg_stream_find(CUcontext context, CUstream handle, CUstream zero, CUstream *ret_stream);
/* Return whether a thread's own stream is still valid. */
bool sg_own_stream_lives(const struct sg_own_stream *own);
/* Return the handle that the program passes for this stream. */
uint64_t sg_stream_handle(CUstream stream);

/*
 * Create an operation that owns the work, which is cleared. NULL: no memory (the work is cleared,
 * too).
 */
struct sg_operation *sg_operation_new(struct sg_work *work);
struct sg_operation *sg_operation_reference(struct sg_operation *operation);
void sg_operation_unreference(struct sg_operation *operation);
/* Add a dependency, unless it is NULL or done. False: no memory. */
bool sg_operation_wait_for(struct sg_operation *operation, struct sg_operation *other);
/* Wait until it is done and return its result. */
CUresult sg_operation_join(struct sg_operation *operation);

static inline bool sg_operation_is_done(const struct sg_operation *operation)
{
	return atomic_load_explicit(&operation->done, memory_order_acquire);
}

/*
 * Append the operation to the stream, with the dependencies that the rules of the default stream
 * add. The caller keeps its reference.
 */
CUresult sg_stream_put(CUstream stream, struct sg_operation *operation);
/*
 * Submit work and, if `wait`, block until it is done. While the stream is captured, the work
 * becomes a node of the graph instead (and `wait` is CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED). The
 * work is cleared in any case.
 */
CUresult sg_stream_submit(CUstream stream, struct sg_work *work, bool wait);

/* Return a reference to the last submitted operation; NULL: none. */
struct sg_operation *sg_stream_tail(CUstream stream);
/*
 * The same, NULL also if all unfinished operations are kernels, host functions or events: none
 * copies or sets memory that kernels of the context cannot access.
 */
struct sg_operation *sg_stream_tail_of_copies(CUstream stream);
/* Wait until everything submitted so far is done. */
CUresult sg_stream_synchronize(CUstream stream);
/* CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or the context's error. */
CUresult sg_stream_query(CUstream stream);
