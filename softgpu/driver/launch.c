/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Launches and occupancy. */
#include "device/launch.h"
#include "device/event.h"

#include "driver/api.h"

/* An event that a launch records: here always when the kernel is done. */
struct launch_completion {
	CUevent event; /* NULL: none */
	int flags;
};

static CUresult launch_kernel(const struct sg_launch_request *request,
			      const struct launch_completion *completion, CUstream handle,
			      CUstream zero)
{
	struct sg_work work;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result)
		result = sg_kernel_prepare(stream->context, request, &work);
	if (!result)
		result = sg_stream_submit(stream, &work, false);
	if (!result && completion->event)
		result = sg_event_record(completion->event, stream,
					 completion->flags & CU_EVENT_RECORD_EXTERNAL);
	return result;
}

static const struct launch_completion no_event;

#define PLAIN_PARAMETERS                                                                           \
	CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,        \
		unsigned int block_x, unsigned int block_y, unsigned int block_z,                  \
		unsigned int shared, CUstream stream, void **parameters
#define PLAIN_REQUEST(is_cooperative, more)                                                        \
	(&(struct sg_launch_request){                                                              \
		.function = function,                                                              \
		.shape = {{grid_x, grid_y, grid_z},                                                \
			  {block_x, block_y, block_z},                                             \
			  .dynamic_shared = shared,                                                \
			  .cooperative = is_cooperative},                                          \
		.parameters = parameters,                                                          \
		.extra = more,                                                                     \
	})

SG_STREAM_VARIANTS(cuLaunchKernel, cuLaunchKernel_ptsz, (PLAIN_PARAMETERS, void **extra),
		   launch_kernel(PLAIN_REQUEST(false, extra), &no_event, stream, zero))
SG_STREAM_VARIANTS(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, (PLAIN_PARAMETERS),
		   launch_kernel(PLAIN_REQUEST(true, NULL), &no_event, stream, zero))

static CUresult take_event(CUevent event, int flags, struct launch_completion *ret_completion)
{
	if (!sg_handle_is(event, SG_HANDLE_EVENT) || !(event->flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_completion = (struct launch_completion){event, flags};
	return CUDA_SUCCESS;
}

static CUresult apply_attribute(const CUlaunchAttribute *attribute,
				struct sg_launch_request *request,
				struct launch_completion *completion)
{
	const CUlaunchAttributeValue *value = &attribute->value;

	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		request->shape.cooperative = value->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		request->priority = value->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		request->shape.cluster[0] = value->clusterDim.x;
		request->shape.cluster[1] = value->clusterDim.y;
		request->shape.cluster[2] = value->clusterDim.z;
		if (!value->clusterDim.x || !value->clusterDim.y || !value->clusterDim.z)
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return take_event(value->programmaticEvent.event, value->programmaticEvent.flags,
				  completion);
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return take_event(value->launchCompletionEvent.event,
				  value->launchCompletionEvent.flags, completion);
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		/* The rest are hints. */
		return CUDA_SUCCESS;
	}
}

static CUresult launch_config(const CUlaunchConfig *config, CUfunction function, void **parameters,
			      void **extra, CUstream zero)
{
	struct sg_launch_request request = {
		.function = function, .parameters = parameters, .extra = extra};
	struct launch_completion completion = {0};
	CUresult result = CUDA_SUCCESS;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	request.shape = SG_SHAPE_OF(config);
	for (unsigned int i = 0; i < config->numAttrs && !result; i++)
		result = apply_attribute(&config->attrs[i], &request, &completion);
	return result ? result : launch_kernel(&request, &completion, config->hStream, zero);
}

SG_STREAM_VARIANTS(cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
		   (const CUlaunchConfig *config, CUfunction function, void **parameters,
		    void **extra),
		   launch_config(config, function, parameters, extra, zero))

/* ---- occupancy ------------------------------------------------------------------------- */

static CUresult resolve_function(CUfunction handle, CUfunction *ret_function)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : sg_function_resolve(context, handle, ret_function);
}

static CUresult active_blocks(int *blocks, CUfunction handle, int threads, size_t shared)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (result)
		return result;
	if (!blocks || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = 0;
	if ((uint32_t)threads <= sg_function_max_threads(function))
		*blocks = (int)sg_kernel_occupancy(function, (uint32_t)threads, shared);
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
							    int threads, size_t shared)
{
	return active_blocks(blocks, function, threads, shared);
}

SG_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
								     CUfunction function,
								     int threads, size_t shared,
								     unsigned int flags)
{
	if (flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	return active_blocks(blocks, function, threads, shared);
}

/* The block size that keeps most threads of a multiprocessor busy; of equal ones the largest. */
static CUresult best_block(int *ret_grid, int *ret_block, CUfunction handle,
			   CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
	uint32_t best = 0;
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (result)
		return result;
	if (!ret_grid || !ret_block)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_grid = *ret_block = 0;
	if (limit <= 0 || (uint32_t)limit > sg_function_max_threads(function))
		limit = (int)sg_function_max_threads(function);
	for (int threads = limit / SG_WARP_SIZE * SG_WARP_SIZE; threads > 0;
	     threads -= SG_WARP_SIZE) {
		size_t bytes = shared_of ? shared_of(threads) : shared;
		uint32_t blocks = sg_kernel_occupancy(function, (uint32_t)threads, bytes);

		if (blocks * (uint32_t)threads <= best)
			continue;
		best = blocks * (uint32_t)threads;
		*ret_block = threads;
		*ret_grid = (int)(blocks * sg_state.config.multiprocessors);
	}
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
						 CUoccupancyB2DSize shared_of, size_t shared,
						 int limit)
{
	return best_block(grid, block, function, shared_of, shared, limit);
}

SG_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
							  CUfunction function,
							  CUoccupancyB2DSize shared_of,
							  size_t shared, int limit,
							  unsigned int flags)
{
	return best_block(grid, block, function, shared_of, shared, limit);
}

SG_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction handle, int blocks,
							int threads)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);
	size_t share;

	if (result)
		return result;
	if (!size || blocks <= 0 || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	share = (228u << 10) / (unsigned int)blocks;
	share = share > 1024 + function->info.static_shared
			? share - 1024 - function->info.static_shared
			: 0;
	*size = share < function->max_dynamic_shared ? share : function->max_dynamic_shared;
	return CUDA_SUCCESS;
}

/* Clusters of blocks are scheduled like blocks: as many fit as blocks do. */
SG_API CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle,
						   const CUlaunchConfig *config)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (result)
		return result;
	if (!size || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*size = function->non_portable_cluster ? SG_MAX_CLUSTER : SG_PORTABLE_CLUSTER;
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction handle,
					     const CUlaunchConfig *config)
{
	unsigned int cluster = 1;
	CUfunction function;
	CUresult result = resolve_function(handle, &function);
	uint32_t blocks;

	if (result)
		return result;
	if (!count || !config)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			cluster = attribute->value.clusterDim.x * attribute->value.clusterDim.y *
				  attribute->value.clusterDim.z;
	}
	blocks = sg_kernel_occupancy(function,
				     config->blockDimX * config->blockDimY * config->blockDimZ,
				     config->sharedMemBytes);
	*count = cluster ? (int)(blocks * sg_state.config.multiprocessors / cluster) : 0;
	return CUDA_SUCCESS;
}
