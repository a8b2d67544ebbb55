/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contexts: what belongs together on a device and fails together. */
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
	 * Held while work is put into any of the streams, and while workers take it out: the
	 * order of submission is one order for the whole context.
	 */
	pthread_mutex_t lock;
	GT_VEC(struct CUstream_st *) streams; /* all, the legacy one included; references */
	struct CUstream_st *legacy;           /* the legacy default stream */
	GT_VEC(struct CUmod_st *) modules;    /* loaded here, those of libraries included */
};

/* A new context with its legacy stream. 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_context_new(int device, unsigned int flags, bool primary, CUcontext *ret_context);
/* Waits for its work, then frees all that was made in it and the context itself. */
void sg_context_destroy(CUcontext context);

/* The calling thread's current context, or NULL. */
CUcontext sg_context_current(void);
/* Puts it on top of the calling thread's stack. False: no memory. */
bool sg_context_push(CUcontext context);
/* Takes the top off; NULL: the stack was empty. */
CUcontext sg_context_pop(void);
/* Replaces the top; NULL pops. False: no memory. */
bool sg_context_set(CUcontext context);

/* Retains a device's primary context. */
CUresult sg_context_retain_primary(int device, CUcontext *ret_context);
CUresult sg_context_release_primary(int device);
/* Destroys what is in a primary context, whoever retains it; it is made anew at the next use. */
CUresult sg_context_reset_primary(int device);

/*
 * For almost every call: sg_check, then the current context (CUDA_ERROR_INVALID_CONTEXT: none),
 * then the error that the context failed with.
 */
CUresult sg_context_use(CUcontext *ret_context);
/* The same for calls that also work in a context that failed. */
CUresult sg_context_use_failed(CUcontext *ret_context);

/* Waits for all work in all of the context's streams; the context's error if it has one. */
CUresult sg_context_synchronize(CUcontext context);

/* The device of the calling thread's current context; 0 without one. */
int sg_thread_device(void);
