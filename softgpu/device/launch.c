/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/launch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/clock.h"
#include "device/handles.h"
#include "device/report.h"

static bool is_required_block(const struct CUfunc_st *function, const uint32_t block[3])
{
	const uint32_t *required = function->info.required_block;

	return !required[0] || !memcmp(required, block, 3 * sizeof(*block));
}

uint32_t sg_kernel_occupancy(CUfunction function, uint32_t threads, uint64_t shared)
{
	if (shared > UINT32_MAX)
		return 0;
	return sg_function_occupancy(function->code, threads, (uint32_t)shared);
}

/* Check the cluster size of the launch, or else the one that the kernel declares. */
static bool cluster_is_possible(const struct CUfunc_st *function,
				const struct sg_launch_shape *shape)
{
	const uint32_t *required = function->info.required_cluster;
	const uint32_t *cluster = shape->cluster[0] ? shape->cluster : required;
	uint32_t max = function->non_portable_cluster ? SG_MAX_CLUSTER : SG_PORTABLE_CLUSTER;
	uint64_t blocks = 1;

	if (!cluster[0])
		return true;
	for (int i = 0; i < 3; i++) {
		if (!cluster[i] || cluster[i] > max || shape->grid[i] % cluster[i] ||
		    (required[0] && required[i] != cluster[i]))
			return false;
		blocks *= cluster[i];
	}
	return blocks <= max;
}

static CUresult check_shape(CUfunction function, const struct sg_launch_shape *shape)
{
	uint32_t threads = shape->block[0] * shape->block[1] * shape->block[2];
	uint64_t blocks, resident;

	if (!gt_launch_grid_is_valid(shape->grid) || !gt_launch_block_is_valid(shape->block) ||
	    shape->dynamic_shared > function->max_dynamic_shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (!cluster_is_possible(function, shape))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (threads > sg_function_max_threads(function) ||
	    !is_required_block(function, shape->block))
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	resident = sg_kernel_occupancy(function, threads, shape->dynamic_shared);
	if (!resident)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	blocks = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
	if (shape->cooperative && blocks > resident * sg_state.config.multiprocessors)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

/* Arguments given as one buffer. */
static CUresult copy_extra(void **extra, struct sg_kernel_work *kernel)
{
	const void *buffer = NULL;
	size_t size = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (size < kernel->parameter_size || (!buffer && size))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(kernel->parameters, buffer, kernel->parameter_size);
	return CUDA_SUCCESS;
}

static CUresult copy_arguments(CUfunction function, const struct sg_launch_request *request,
			       struct sg_kernel_work *kernel)
{
	uint32_t count = function->info.parameter_count;

	kernel->parameter_size = function->info.parameter_size;
	kernel->parameters = calloc(1, kernel->parameter_size + 1);
	kernel->pointers = calloc(count + 1, sizeof(*kernel->pointers));
	if (!kernel->parameters || !kernel->pointers)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		kernel->pointers[i] = kernel->parameters + function->parameters[i].offset;
	if (!count)
		return CUDA_SUCCESS;
	if (!request->parameters)
		return request->extra ? copy_extra(request->extra, kernel)
				      : CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < count; i++) {
		if (!request->parameters[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(kernel->pointers[i], request->parameters[i], function->parameters[i].size);
	}
	return CUDA_SUCCESS;
}

CUresult sg_kernel_prepare(CUcontext context, const struct sg_launch_request *request,
			   struct sg_work *ret_work)
{
	struct sg_work work = {.kind = SG_WORK_KERNEL};
	struct sg_kernel_work *kernel = &work.kernel;
	CUresult result = sg_function_resolve(context, request->function, &kernel->function);

	if (result)
		return result;
	if (sg_handle_is(request->function, SG_HANDLE_KERNEL))
		kernel->kernel = (CUkernel)request->function;
	kernel->shape = request->shape;
	kernel->priority = request->priority;
	result = check_shape(kernel->function, &request->shape);
	if (!result)
		result = copy_arguments(kernel->function, request, kernel);
	if (result) {
		sg_work_clear(&work);
		return result;
	}
	kernel->id = sg_grid_next_id(sg_state.machine);
	*ret_work = work;
	return CUDA_SUCCESS;
}

bool sg_kernel_clone(const struct sg_kernel_work *kernel, struct sg_kernel_work *ret_kernel)
{
	struct sg_kernel_work copy = *kernel;
	uint32_t count = kernel->function->info.parameter_count;

	copy.parameters = malloc(kernel->parameter_size + 1);
	copy.pointers = calloc(count + 1, sizeof(*copy.pointers));
	if (!copy.parameters || !copy.pointers) {
		free(copy.parameters);
		free(copy.pointers);
		return false;
	}
	memcpy(copy.parameters, kernel->parameters, kernel->parameter_size);
	for (uint32_t i = 0; i < count; i++)
		copy.pointers[i] = copy.parameters + kernel->function->parameters[i].offset;
	copy.id = 0;
	*ret_kernel = copy;
	return true;
}

/* Record a fault that makes the context unusable. */
static void fail_context(CUcontext context, const struct sg_fault *fault)
{
	int none = 0;

	atomic_compare_exchange_strong(&context->error, &none, sg_fault_code(fault->kind));
	sg_report_fault(fault->text);
}

CUresult sg_kernel_run(const struct sg_kernel_work *kernel, CUcontext context,
		       struct sg_record *record)
{
	struct sg_launch launch = {
		.function = kernel->function->code,
		.shape = kernel->shape,
		.parameters = kernel->parameters,
		.parameter_size = kernel->parameter_size,
		.device = (uint32_t)context->device,
		.limits = context->limits,
		.limit_count = SG_LIMITS,
		.id = kernel->id ? kernel->id : sg_grid_next_id(sg_state.machine),
	};
	static __thread struct sg_grid_result result;
	int error;

	record->name = kernel->function->info.name;
	record->has_shape = true;
	record->shape = kernel->shape;
	error = sg_grid_run(sg_state.machine, &launch, &result);
	sg_clock_kernel_took(&result);
	if (error == -EFAULT) {
		record->fault = result.fault.text;
		if (result.fault.kind == SG_FAULT_OUT_OF_RESOURCES)
			return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
		fail_context(context, &result.fault);
		return (CUresult)sg_fault_code(result.fault.kind);
	}
	if (error)
		return error == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
