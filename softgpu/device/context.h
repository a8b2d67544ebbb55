/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contexts: the resources on a device that are freed together and fail together. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cuda.h>

#include "base/vec.h"
#include "device/device.h"

enum { SG_LIMITS = CU_LIMIT_MAX };

struct CUctx_st {
	int device;
	unsigned int flags; /* CU_CTX_… */
	uint64_t id;
	bool primary;
	/*
	 * The error that made the context unusable (an illegal access in a kernel …), or 0. Set
	 * once, by the thread that ran the kernel; only the context's end clears it.
	 */
	atomic_int error;
	size_t limits[SG_LIMITS];
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
	unsigned int peers; /* bit n: access to device n is enabled */

	/*
	 * Held while work is added to or removed from the queue of any stream: the order of
	 * submission is one order for the whole context.
	 */
	pthread_mutex_t lock;
	GT_VEC(struct CUstream_st *) streams; /* all, the legacy one included; references */
	struct CUstream_st *legacy;           /* the legacy default stream */
	GT_VEC(struct CUmod_st *) modules;    /* loaded here, those of libraries included */
};

/* Create a context with its legacy stream. 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_context_new(int device, unsigned int flags, bool primary, CUcontext *ret_context);
/* Wait for its work, then free everything that was created in it and the context itself. */
void sg_context_destroy(CUcontext context);

/* Return the calling thread's current context, or NULL. */
CUcontext sg_context_current(void);
/* Push it onto the calling thread's stack. False: no memory. */
bool sg_context_push(CUcontext context);
/* Pop the top; NULL: the stack was empty. */
CUcontext sg_context_pop(void);
/* Replace the top; NULL pops. False: no memory. */
bool sg_context_set(CUcontext context);

/* Retain a device's primary context. */
CUresult sg_context_retain_primary(int device, CUcontext *ret_context);
CUresult sg_context_release_primary(int device);
/*
 * Destroy the contents of a primary context, whoever retains it; they are created again at its next
 * use.
 */
CUresult sg_context_reset_primary(int device);

/*
 * Check what almost every call requires: sg_check, a current context (else
 * CUDA_ERROR_INVALID_CONTEXT), and that it has not failed (else its error).
 */
CUresult sg_context_use(CUcontext *ret_context);
/* The same for calls that also work in a context that failed. */
CUresult sg_context_use_failed(CUcontext *ret_context);

/* Wait for all work in all streams of the context. Returns the context's error if it has one. */
CUresult sg_context_synchronize(CUcontext context);

/* Wait for all work in all contexts, each of which may use any memory. */
void sg_contexts_join(void);
/*
 * Wait for all work that may use the memory at an address. Device memory of one context is reached
 * by the kernels of this context and of its peers, and by copies in all contexts; other memory by
 * everything. So a kernel of another context that runs for ever does not hold up cuMemFree.
 */
void sg_contexts_join_users(uint64_t address);

/* References to operations. */
struct sg_operations {
	GT_VEC(struct sg_operation *) list;
};

/* Collect the last operations of all streams that have not ended yet. False: no memory. */
bool sg_contexts_pending(struct sg_operations *ret_operations);
/* Return whether all of them have ended, and then free them. */
bool sg_operations_end(struct sg_operations *operations);

/* Return the device of the calling thread's current context; 0 without one. */
int sg_thread_device(void);
