/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What every file of the driver API needs. These files check handles and arguments and call
 * device/. NVIDIA documents the functions; comments are only where this device does something
 * unexpected.
 */
#pragma once

#include <cuda.h>

#include "device/context.h"
#include "device/handles.h"
#include "device/stream.h"
#include "device/stream_capture.h"
#include "driver/names.h"

#define SG_API __attribute__((visibility("default")))

/* Define a function of the API that is one expression. */
#define SG_DEFINE(name, parameters, call)                                                          \
	SG_API CUresult name parameters;                                                           \
	SG_API CUresult name parameters                                                            \
	{                                                                                          \
		return call;                                                                       \
	}

/*
 * Define a function under two symbols, of versions between which only types changed. They are two
 * functions and not aliases, so that tracers see which one was called.
 */
#define SG_VERSIONS(name, older, parameters, call)                                                 \
	SG_DEFINE(name, parameters, call)                                                          \
	SG_DEFINE(older, parameters, call)

/*
 * Define a function that takes a stream, and its per-thread-stream variant, for which stream 0 is
 * the calling thread's own. In `call`, `zero` is the stream that 0 stands for.
 */
#define SG_STREAM_VARIANTS(name, per_thread, parameters, call)                                     \
	SG_DEFINE(name, parameters, ({                                                             \
			  CUstream zero = CU_STREAM_LEGACY;                                        \
			  call;                                                                    \
		  }))                                                                              \
	SG_DEFINE(per_thread, parameters, ({                                                       \
			  CUstream zero = CU_STREAM_PER_THREAD;                                    \
			  call;                                                                    \
		  }))

/* The same with the stream checked first: in `call`, `stream` is the resolved stream. */
#define SG_CHECKED_STREAM_VARIANTS(name, per_thread, parameters, call)                             \
	SG_STREAM_VARIANTS(name, per_thread, parameters, ({                                        \
				   CUresult found = sg_use_stream(stream, zero, &stream);          \
				   found ? found : call;                                           \
			   }))

/* Return a result through a pointer that must not be NULL. */
#define SG_RETURN(pointer, value)                                                                  \
	((pointer) ? (*(pointer) = (value), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE)

/* Check that a call is allowed and that the handle is of this kind; else return `otherwise`. */
static inline CUresult sg_check_handle(const void *handle, enum sg_handle kind, CUresult otherwise)
{
	CUresult result = sg_check();

	if (result)
		return result;
	return sg_handle_is(handle, kind) ? CUDA_SUCCESS : otherwise;
}

/* Check that a call is allowed, that the device exists, and that the pointer is not NULL. */
static inline CUresult sg_check_device(CUdevice device, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_device_find(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Check that a call is allowed, that the pool is valid, and that the pointer is not NULL. */
static inline CUresult sg_check_pool(CUmemoryPool pool, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	return pointer && sg_handle_is(pool, SG_HANDLE_POOL) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

/* Resolve a stream in the current context, for calls that take a stream. */
static inline CUresult sg_use_stream(CUstream handle, CUstream zero, CUstream *ret_stream)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : sg_stream_find(context, handle, zero, ret_stream);
}
