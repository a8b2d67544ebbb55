/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams, events, host functions. */
#include "runtime/runtime.h"

static cudaError_t create_stream(cudaStream_t *stream, unsigned int flags, int priority)
{
	cudaError_t error = sg_enter();

	if (!error && !stream)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuStreamCreateWithPriority(stream, flags, priority));
	return sg_finish(error);
}

SG_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return create_stream(stream, cudaStreamDefault, 0);
}

SG_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return create_stream(stream, flags, 0);
}

SG_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
						int priority)
{
	return create_stream(stream, flags, priority);
}

SG_PASS(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy, (stream))

SG_STREAM_VARIANTS(cudaStreamGetPriority, cudaStreamGetPriority_ptsz,
		   (cudaStream_t stream, int *priority),
		   SG_CALL(cuStreamGetPriority, ZERO(stream), priority))
SG_STREAM_VARIANTS(cudaStreamGetFlags, cudaStreamGetFlags_ptsz,
		   (cudaStream_t stream, unsigned int *flags),
		   SG_CALL(cuStreamGetFlags, ZERO(stream), flags))
SG_STREAM_VARIANTS(cudaStreamGetId, cudaStreamGetId_ptsz,
		   (cudaStream_t stream, unsigned long long *id),
		   SG_CALL(cuStreamGetId, ZERO(stream), id))
SG_STREAM_VARIANTS(cudaStreamGetDevice, cudaStreamGetDevice_ptsz,
		   (cudaStream_t stream, int *device),
		   SG_CALL(cuStreamGetDevice, ZERO(stream), device))
SG_STREAM_VARIANTS(cudaStreamSynchronize, cudaStreamSynchronize_ptsz, (cudaStream_t stream),
		   SG_CALL(cuStreamSynchronize, ZERO(stream)))
SG_STREAM_VARIANTS(cudaStreamQuery, cudaStreamQuery_ptsz, (cudaStream_t stream),
		   SG_CALL(cuStreamQuery, ZERO(stream)))
SG_STREAM_VARIANTS(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz,
		   (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
		   SG_CALL(cuStreamWaitEvent, ZERO(stream), event, flags))
SG_STREAM_VARIANTS(cudaStreamAddCallback, cudaStreamAddCallback_ptsz,
		   (cudaStream_t stream, cudaStreamCallback_t callback, void *data,
		    unsigned int flags),
		   SG_CALL(cuStreamAddCallback, ZERO(stream), (CUstreamCallback)(void *)callback,
			   data, flags))
SG_STREAM_VARIANTS(cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz,
		   (cudaStream_t stream, void *pointer, size_t length, unsigned int flags),
		   SG_CALL(cuStreamAttachMemAsync, ZERO(stream), (uintptr_t)pointer, length, flags))
SG_STREAM_VARIANTS(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz,
		   (cudaStream_t stream, cudaHostFn_t function, void *data),
		   SG_CALL(cuLaunchHostFunc, ZERO(stream), function, data))
SG_STREAM_VARIANTS(cudaStreamCopyAttributes, cudaStreamCopyAttributes_ptsz,
		   (cudaStream_t target, cudaStream_t source),
		   SG_CALL(cuStreamCopyAttributes, ZERO(target), ZERO(source)))
SG_STREAM_VARIANTS(cudaStreamGetAttribute, cudaStreamGetAttribute_ptsz,
		   (cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value),
		   SG_CALL(cuStreamGetAttribute, ZERO(stream), (CUstreamAttrID)attribute,
			   (CUstreamAttrValue *)value))
SG_STREAM_VARIANTS(cudaStreamSetAttribute, cudaStreamSetAttribute_ptsz,
		   (cudaStream_t stream, cudaStreamAttrID attribute,
		    const cudaStreamAttrValue *value),
		   SG_CALL(cuStreamSetAttribute, ZERO(stream), (CUstreamAttrID)attribute,
			   (const CUstreamAttrValue *)value))

/* ---- events ---------------------------------------------------------------------------- */

SG_PASS(cudaEventCreate, (cudaEvent_t * event), cuEventCreate, (event, cudaEventDefault))
SG_PASS(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), cuEventCreate,
	(event, flags))
SG_PASS(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy, (event))
SG_PASS(cudaEventQuery, (cudaEvent_t event), cuEventQuery, (event))
SG_PASS(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize, (event))
SG_PASS(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end), cuEventElapsedTime,
	(ms, start, end))
SG_STREAM_VARIANTS(cudaEventRecord, cudaEventRecord_ptsz, (cudaEvent_t event, cudaStream_t stream),
		   SG_CALL(cuEventRecord, event, ZERO(stream)))
SG_STREAM_VARIANTS(cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz,
		   (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
		   SG_CALL(cuEventRecordWithFlags, event, ZERO(stream), flags))
