/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams, events, host functions. */
#include <stddef.h>
#include <string.h>

#include "base/clean.h"
#include "device/event.h"
#include "device/memory.h"
#include "device/pool.h"
#include "driver/api.h"

enum { MAX_PRIORITY = -5 };

static CUresult create_stream(CUstream *ret_stream, unsigned int flags, int priority)
{
	CUcontext context;
	CUstream stream;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!ret_stream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority;
	priority = priority < MAX_PRIORITY ? MAX_PRIORITY : priority;
	result = sg_stream_new(context, SG_STREAM_CREATED, flags, priority, &stream);
	if (!result)
		*ret_stream = stream;
	return result;
}

SG_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return create_stream(stream, flags, 0);
}

SG_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	return create_stream(stream, flags, priority);
}

static CUresult destroy_stream(CUstream stream)
{
	CUresult result = sg_check_handle(stream, SG_HANDLE_STREAM, CUDA_ERROR_INVALID_HANDLE);

	if (result)
		return result;
	if (stream->kind != SG_STREAM_CREATED)
		return CUDA_ERROR_INVALID_HANDLE;
	sg_stream_close(stream);
	return CUDA_SUCCESS;
}

SG_VERSIONS(cuStreamDestroy_v2, cuStreamDestroy, (CUstream stream), destroy_stream(stream))

/* ---- what a stream is ------------------------------------------------------------------ */

SG_CHECKED_STREAM_VARIANTS(cuStreamGetPriority, cuStreamGetPriority_ptsz,
			   (CUstream stream, int *priority), SG_RETURN(priority, stream->priority))
SG_CHECKED_STREAM_VARIANTS(cuStreamGetFlags, cuStreamGetFlags_ptsz,
			   (CUstream stream, unsigned int *flags), SG_RETURN(flags, stream->flags))
SG_CHECKED_STREAM_VARIANTS(cuStreamGetId, cuStreamGetId_ptsz,
			   (CUstream stream, unsigned long long *id), SG_RETURN(id, stream->id))
SG_CHECKED_STREAM_VARIANTS(cuStreamGetDevice, cuStreamGetDevice_ptsz,
			   (CUstream stream, CUdevice *device),
			   SG_RETURN(device, stream->context->device))
SG_CHECKED_STREAM_VARIANTS(cuStreamGetCtx, cuStreamGetCtx_ptsz,
			   (CUstream stream, CUcontext *context),
			   SG_RETURN(context, stream->context))

/* There are no green contexts. */
static CUresult get_contexts(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
	if (context && green)
		*green = NULL;
	return SG_RETURN(context, stream->context);
}

SG_CHECKED_STREAM_VARIANTS(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz,
			   (CUstream stream, CUcontext *context, CUgreenCtx *green),
			   get_contexts(stream, context, green))

/* ---- attributes ------------------------------------------------------------------------ */

/* Where a stream stores an attribute, as a member of the union CUstreamAttrValue. */
struct stream_attribute {
	CUstreamAttrID id;
	size_t offset, size;
};

#define ATTRIBUTE(id, member)                                                                      \
	{                                                                                          \
		id, offsetof(struct CUstream_st, member), sizeof(((CUstream)0)->member)            \
	}

static const struct stream_attribute attributes[] = {
	ATTRIBUTE(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, window),
	ATTRIBUTE(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, policy),
	ATTRIBUTE(CU_LAUNCH_ATTRIBUTE_PRIORITY, priority),
	ATTRIBUTE(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, memory_domain),
	ATTRIBUTE(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, memory_domains),
};

static const struct stream_attribute *find_attribute(CUstreamAttrID id)
{
	for (size_t i = 0; i < gt_countof(attributes); i++)
		if (attributes[i].id == id)
			return &attributes[i];
	return NULL;
}

static CUresult get_attribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue *value)
{
	const struct stream_attribute *attribute = find_attribute(id);

	if (!value || !attribute)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(value, (const char *)stream + attribute->offset, attribute->size);
	return CUDA_SUCCESS;
}

SG_CHECKED_STREAM_VARIANTS(cuStreamGetAttribute, cuStreamGetAttribute_ptsz,
			   (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value),
			   get_attribute(stream, attribute, value))

static CUresult set_attribute(CUstream stream, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	const struct stream_attribute *attribute = find_attribute(id);

	if (!value || !attribute)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy((char *)stream + attribute->offset, value, attribute->size);
	return CUDA_SUCCESS;
}

SG_CHECKED_STREAM_VARIANTS(cuStreamSetAttribute, cuStreamSetAttribute_ptsz,
			   (CUstream stream, CUstreamAttrID attribute,
			    const CUstreamAttrValue *value),
			   set_attribute(stream, attribute, value))

static CUresult copy_attributes(CUstream target, CUstream source, CUstream zero)
{
	CUstream to, from;
	CUresult result = sg_use_stream(target, zero, &to);

	if (!result)
		result = sg_use_stream(source, zero, &from);
	if (result)
		return result;
	to->window = from->window;
	to->policy = from->policy;
	to->memory_domain = from->memory_domain;
	to->memory_domains = from->memory_domains;
	return CUDA_SUCCESS;
}

SG_STREAM_VARIANTS(cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz,
		   (CUstream target, CUstream source), copy_attributes(target, source, zero))

/* ---- waiting --------------------------------------------------------------------------- */

static CUresult synchronize_stream(CUstream stream)
{
	struct sg_work nothing = {.kind = SG_WORK_EMPTY};

	CUresult result;

	if (sg_stream_is_captured(stream))
		return sg_stream_submit(stream, &nothing, true);
	result = sg_stream_synchronize(stream);
	sg_pools_synchronized(stream->context->device);
	return result;
}

SG_CHECKED_STREAM_VARIANTS(cuStreamSynchronize, cuStreamSynchronize_ptsz, (CUstream stream),
			   synchronize_stream(stream))

static CUresult query_stream(CUstream stream)
{
	struct sg_work nothing = {.kind = SG_WORK_EMPTY};

	if (sg_stream_is_captured(stream))
		return sg_stream_submit(stream, &nothing, true);
	return sg_stream_query(stream);
}

SG_CHECKED_STREAM_VARIANTS(cuStreamQuery, cuStreamQuery_ptsz, (CUstream stream),
			   query_stream(stream))

static CUresult wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	if (!sg_handle_is(event, SG_HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_event_wait(stream, event, flags & CU_EVENT_WAIT_EXTERNAL);
}

SG_CHECKED_STREAM_VARIANTS(cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
			   (CUstream stream, CUevent event, unsigned int flags),
			   wait_event(stream, event, flags))

/* ---- work of the host and of memory ---------------------------------------------------- */

static CUresult add_callback(CUstream handle, CUstream zero, CUstreamCallback callback, void *data,
			     unsigned int flags)
{
	struct sg_work work = {.kind = SG_WORK_HOST, .host = {.callback = callback, .data = data}};
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	work.host.stream = handle;
	return sg_stream_submit(stream, &work, false);
}

SG_STREAM_VARIANTS(cuStreamAddCallback, cuStreamAddCallback_ptsz,
		   (CUstream stream, CUstreamCallback callback, void *data, unsigned int flags),
		   add_callback(stream, zero, callback, data, flags))

static CUresult launch_host(CUstream stream, CUhostFn function, void *data)
{
	struct sg_work work = {.kind = SG_WORK_HOST, .host = {.function = function, .data = data}};

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_stream_submit(stream, &work, false);
}

SG_CHECKED_STREAM_VARIANTS(cuLaunchHostFunc, cuLaunchHostFunc_ptsz,
			   (CUstream stream, CUhostFn function, void *data),
			   launch_host(stream, function, data))

/* Managed memory is accessible from everywhere: attaching has no effect. */
static CUresult attach_memory(CUdeviceptr address, unsigned int flags)
{
	struct sg_allocation allocation;

	if (!sg_memory_find(address, &allocation) ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	     flags != CU_MEM_ATTACH_SINGLE))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_CHECKED_STREAM_VARIANTS(cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz,
			   (CUstream stream, CUdeviceptr address, size_t length,
			    unsigned int flags),
			   attach_memory(address, flags))

static CUresult submit_value(CUstream handle, CUstream zero, struct sg_value_work value)
{
	struct sg_work work = {.kind = SG_WORK_VALUE, .value = value};
	struct sg_allocation allocation;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (result)
		return result;
	if (value.address % value.size ||
	    !sg_memory_find_range(value.address, value.size, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_stream_submit(stream, &work, false);
}

#define VALUE_VARIANTS(name, per_thread, type, bytes, write)                                       \
	SG_STREAM_VARIANTS(                                                                        \
		name, per_thread,                                                                  \
		(CUstream stream, CUdeviceptr address, type value, unsigned int flags),            \
		submit_value(stream, zero,                                                         \
			     (struct sg_value_work){address, value, bytes, flags, write}))

VALUE_VARIANTS(cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz, cuuint32_t, 4, false)
VALUE_VARIANTS(cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz, cuuint64_t, 8, false)
VALUE_VARIANTS(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz, cuuint32_t, 4, true)
VALUE_VARIANTS(cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz, cuuint64_t, 8, true)
VALUE_VARIANTS(cuStreamWaitValue32, cuStreamWaitValue32_ptsz, cuuint32_t, 4, false)
VALUE_VARIANTS(cuStreamWaitValue64, cuStreamWaitValue64_ptsz, cuuint64_t, 8, false)
VALUE_VARIANTS(cuStreamWriteValue32, cuStreamWriteValue32_ptsz, cuuint32_t, 4, true)
VALUE_VARIANTS(cuStreamWriteValue64, cuStreamWriteValue64_ptsz, cuuint64_t, 8, true)

static struct sg_value_work value_of(const CUstreamBatchMemOpParams *operation)
{
	bool write = operation->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
		     operation->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	bool wide = operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
		    operation->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;

	/* Both kinds have their members at the same offsets. */
	return (struct sg_value_work){
		.address = operation->waitValue.address,
		.value = wide ? operation->waitValue.value64 : operation->waitValue.value,
		.size = wide ? 8 : 4,
		.flags = operation->waitValue.flags,
		.is_write = write,
	};
}

static CUresult batch_values(CUstream stream, CUstream zero, unsigned int count,
			     const CUstreamBatchMemOpParams *operations)
{
	CUresult result = CUDA_SUCCESS;

	if (count && !operations)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && !result; i++) {
		switch (operations[i].operation) {
		case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		case CU_STREAM_MEM_OP_WRITE_VALUE_64:
			result = submit_value(stream, zero, value_of(&operations[i]));
			break;
		case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		case CU_STREAM_MEM_OP_BARRIER:
			break;
		default:
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return result;
}

SG_STREAM_VARIANTS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
		   (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations,
		    unsigned int flags),
		   batch_values(stream, zero, count, operations))
SG_STREAM_VARIANTS(cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz,
		   (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations,
		    unsigned int flags),
		   batch_values(stream, zero, count, operations))

/* ---- events ---------------------------------------------------------------------------- */

SG_API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	const unsigned int known =
		CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!event || flags & ~known ||
	    ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_event_new(context, flags, event);
}

static CUresult record_event(CUevent event, CUstream stream, unsigned int flags)
{
	if (!sg_handle_is(event, SG_HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_event_record(event, stream, flags & CU_EVENT_RECORD_EXTERNAL);
}

SG_CHECKED_STREAM_VARIANTS(cuEventRecord, cuEventRecord_ptsz, (CUevent event, CUstream stream),
			   record_event(event, stream, 0))
SG_CHECKED_STREAM_VARIANTS(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz,
			   (CUevent event, CUstream stream, unsigned int flags),
			   record_event(event, stream, flags))

static CUresult check_event(CUevent event)
{
	return sg_check_handle(event, SG_HANDLE_EVENT, CUDA_ERROR_INVALID_HANDLE);
}

SG_API CUresult cuEventQuery(CUevent event)
{
	CUresult result = check_event(event);

	return result ? result : sg_event_query(event);
}

SG_API CUresult cuEventSynchronize(CUevent event)
{
	CUresult result = check_event(event);

	if (!result)
		result = sg_event_synchronize(event);
	if (!result)
		sg_pools_synchronized(event->context->device);
	return result;
}

static CUresult destroy_event(CUevent event)
{
	CUresult result = check_event(event);

	if (!result)
		sg_event_destroy(event);
	return result;
}

SG_VERSIONS(cuEventDestroy_v2, cuEventDestroy, (CUevent event), destroy_event(event))

static CUresult get_elapsed(float *ms, CUevent start, CUevent end)
{
	CUresult result = check_event(start);

	if (!result)
		result = check_event(end);
	if (!result && !ms)
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : sg_event_elapsed(start, end, ms);
}

SG_VERSIONS(cuEventElapsedTime_v2, cuEventElapsedTime, (float *ms, CUevent start, CUevent end),
	    get_elapsed(ms, start, end))
