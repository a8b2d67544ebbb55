/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contexts. */
#include "driver/api.h"

enum { CONTEXT_VERSION = 3020 }; /* as of CUDA 3.2, for all contexts made since */

/* ---- primary contexts ------------------------------------------------------------------ */

SG_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult result = sg_check_device(device, &device);

	if (result)
		return result;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_context_retain_primary(device, context);
}

static CUresult release_primary(CUdevice device)
{
	CUresult result = sg_check_device(device, &device);

	return result ? result : sg_context_release_primary(device);
}

SG_VERSIONS(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, (CUdevice device),
	    release_primary(device))

static CUresult reset_primary(CUdevice device)
{
	CUresult result = sg_check_device(device, &device);

	return result ? result : sg_context_reset_primary(device);
}

SG_VERSIONS(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, (CUdevice device),
	    reset_primary(device))

static CUresult set_primary_flags(CUdevice device, unsigned int flags)
{
	struct sg_device *owner;
	CUresult result = sg_check_device(device, &device);

	if (result)
		return result;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	owner = sg_device_find(device);
	pthread_mutex_lock(&sg_state.lock);
	owner->primary_flags = flags;
	if (owner->primary)
		owner->primary->flags = flags;
	pthread_mutex_unlock(&sg_state.lock);
	return CUDA_SUCCESS;
}

SG_VERSIONS(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags,
	    (CUdevice device, unsigned int flags), set_primary_flags(device, flags))

SG_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	struct sg_device *owner;
	CUresult result = sg_check_device(device, &device);

	if (result)
		return result;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	owner = sg_device_find(device);
	pthread_mutex_lock(&sg_state.lock);
	*flags = owner->primary_flags;
	*active = owner->primary != NULL;
	pthread_mutex_unlock(&sg_state.lock);
	return CUDA_SUCCESS;
}

/* ---- other contexts -------------------------------------------------------------------- */

static CUresult create_context(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
	CUcontext context;
	CUresult result = sg_check_device(device, &device);

	if (result)
		return result;
	if (!ret_context || flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_context_new(device, flags, false, &context);
	if (result)
		return result;
	if (!sg_context_push(context)) {
		sg_context_destroy(context);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_context = context;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters,
			       unsigned int flags, CUdevice device)
{
	if (parameters && (parameters->numExecAffinityParams || parameters->cigParams))
		return CUDA_ERROR_NOT_SUPPORTED;
	return create_context(context, flags, device);
}

SG_API CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count,
			       unsigned int flags, CUdevice device);
SG_API CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count,
			       unsigned int flags, CUdevice device)
{
	if (affinity || count)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create_context(context, flags, device);
}

SG_VERSIONS(cuCtxCreate_v2, cuCtxCreate, (CUcontext * context, unsigned int flags, CUdevice device),
	    create_context(context, flags, device))

static CUresult check_context(CUcontext context)
{
	return sg_check_handle(context, SG_HANDLE_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
}

static CUresult destroy_context(CUcontext context)
{
	CUresult result = check_context(context);

	if (result)
		return result;
	if (context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sg_context_current() == context)
		sg_context_pop();
	sg_context_destroy(context);
	return CUDA_SUCCESS;
}

SG_VERSIONS(cuCtxDestroy_v2, cuCtxDestroy, (CUcontext context), destroy_context(context))

static CUresult push_context(CUcontext context)
{
	CUresult result = check_context(context);

	if (result)
		return result;
	return sg_context_push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_VERSIONS(cuCtxPushCurrent_v2, cuCtxPushCurrent, (CUcontext context), push_context(context))

static CUresult pop_context(CUcontext *ret_context)
{
	CUcontext context;
	CUresult result = sg_check();

	if (result)
		return result;
	context = sg_context_pop();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ret_context)
		*ret_context = context;
	return CUDA_SUCCESS;
}

SG_VERSIONS(cuCtxPopCurrent_v2, cuCtxPopCurrent, (CUcontext * context), pop_context(context))

SG_API CUresult cuCtxSetCurrent(CUcontext context)
{
	CUresult result = context ? check_context(context) : sg_check();

	if (result)
		return result;
	return sg_context_set(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_API CUresult cuCtxGetCurrent(CUcontext *context)
{
	CUresult result = sg_check_started();

	return result ? result : SG_RETURN(context, sg_context_current());
}

/* ---- questions and settings ------------------------------------------------------------ */

/* The context of a query: the given one, else the current one, even if it failed. */
static CUresult find_context(CUcontext given, CUresult otherwise, CUcontext *ret_context)
{
	*ret_context = given;
	if (!given)
		return sg_context_use_failed(ret_context);
	return sg_handle_is(given, SG_HANDLE_CONTEXT) ? CUDA_SUCCESS : otherwise;
}

static CUresult get_device(CUcontext given, CUdevice *device)
{
	CUcontext context;
	CUresult result = find_context(given, CUDA_ERROR_INVALID_CONTEXT, &context);

	return result ? result : SG_RETURN(device, context->device);
}

SG_API CUresult cuCtxGetDevice(CUdevice *device)
{
	return get_device(NULL, device);
}

SG_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
	return get_device(context, device);
}

SG_API CUresult cuCtxGetFlags(unsigned int *flags)
{
	CUcontext context;
	CUresult result = sg_context_use_failed(&context);

	return result ? result : SG_RETURN(flags, context->flags);
}

SG_API CUresult cuCtxSetFlags(unsigned int flags)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		context->flags = flags;
	return result;
}

SG_API CUresult cuCtxGetId(CUcontext given, unsigned long long *id)
{
	CUcontext context;
	CUresult result = find_context(given, CUDA_ERROR_CONTEXT_IS_DESTROYED, &context);

	return result ? result : SG_RETURN(id, context->id);
}

SG_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
	CUresult result = context ? check_context(context) : sg_check();

	return result ? result : SG_RETURN(version, CONTEXT_VERSION);
}

SG_API CUresult cuCtxSynchronize(void)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = sg_stream_capture_allows_unsafe();
	return result ? result : sg_context_synchronize(context);
}

SG_API CUresult cuCtxSynchronize_v2(CUcontext context)
{
	CUresult result = check_context(context);

	if (!result)
		result = sg_stream_capture_allows_unsafe();
	return result ? result : sg_context_synchronize(context);
}

static CUresult apply_limit(CUlimit limit, size_t value)
{
	switch (limit) {
	case CU_LIMIT_STACK_SIZE:
		/* On hardware it is for recursion only: kernels have the stack that they need. */
		if (value > SG_DEFAULT_STACK_SIZE)
			sg_machine_set_stack_size(sg_state.machine, value);
		return CUDA_SUCCESS;
	case CU_LIMIT_MALLOC_HEAP_SIZE:
		return sg_machine_set_heap_size(sg_state.machine, value) ? CUDA_ERROR_INVALID_VALUE
									 : CUDA_SUCCESS;
	case CU_LIMIT_PRINTF_FIFO_SIZE:
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
		return CUDA_SUCCESS;
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = apply_limit(limit, value);
	if (!result)
		context->limits[limit] = value;
	return result;
}

SG_API CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if ((unsigned int)limit >= SG_LIMITS)
		return CUDA_ERROR_INVALID_VALUE;
	return SG_RETURN(value, context->limits[limit]);
}

SG_API CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : SG_RETURN(config, context->cache_config);
}

SG_API CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	context->cache_config = config;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : SG_RETURN(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
}

SG_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	CUcontext context;

	return sg_context_use(&context);
}

SG_API CUresult cuCtxGetStreamPriorityRange(int *lowest, int *highest)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (lowest)
		*lowest = 0;
	if (highest)
		*highest = -5;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxResetPersistingL2Cache(void)
{
	CUcontext context;

	return sg_context_use(&context);
}
