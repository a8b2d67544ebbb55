/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What every file of the driver API needs. These files check handles and arguments and hand on
 * to device/. The functions are documented by NVIDIA; a comment stands only where this device
 * does something that a reader would not expect.
 */
#pragma once

#include <cuda.h>

#include "device/capture.h"
#include "device/context.h"
#include "device/handles.h"
#include "device/stream.h"
#include "driver/names.h"

#define SG_API __attribute__((visibility("default")))

/*
 * A function that takes a stream, and its twin for which stream 0 is the calling thread's own:
 * in `call`, `zero` is what 0 means.
 */
#define SG_TWINS(name, twin, parameters, call)                                                     \
	SG_API CUresult name parameters;                                                           \
	SG_API CUresult twin parameters;                                                           \
	SG_API CUresult name parameters                                                            \
	{                                                                                          \
		CUstream zero = CU_STREAM_LEGACY;                                                  \
		return call;                                                                       \
	}                                                                                          \
	SG_API CUresult twin parameters                                                            \
	{                                                                                          \
		CUstream zero = CU_STREAM_PER_THREAD;                                              \
		return call;                                                                       \
	}

/* The current context and the stream that is meant in it, for calls that take a stream. */
static inline CUresult sg_use_stream(CUstream handle, CUstream zero, CUstream *ret_stream)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : sg_stream_find(context, handle, zero, ret_stream);
}
