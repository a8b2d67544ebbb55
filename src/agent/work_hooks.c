/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hooks of work.def, and what the arguments of copies mean. */
#include "agent/agent.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/work.h"

/* An operation is examined after the call, which has checked the arguments. */
#define WORK(base, since, name, per_thread, parameters, arguments, stream, operation, object,      \
	     bytes)                                                                                \
	CUresult name parameters                                                                   \
	{                                                                                          \
		struct gt_agent_work work;                                                         \
		CUresult error;                                                                    \
                                                                                                   \
		NEED(name);                                                                        \
		if (object)                                                                        \
			gt_agent_number_launch(object, stream);                                    \
		if (!gt_agent_work_begin(&work, stream, per_thread))                               \
			return gt_driver.name arguments;                                           \
		error = gt_driver.name arguments;                                                  \
		if (error)                                                                         \
			gt_agent_work_end(&work, error, GT_GPU_COPY, 0, 0);                        \
		else                                                                               \
			gt_agent_work_end(&work, 0, operation, (uint64_t)(uintptr_t)(object),      \
					  bytes);                                                  \
		return error;                                                                      \
	}
#include "agent/work.def"
#undef WORK

/* CUmemorytype */
enum memory_type {
	MEMORY_HOST = 1,
	MEMORY_DEVICE,
	MEMORY_ARRAY,
	MEMORY_UNIFIED,
};

enum {
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
};

/* Addresses that the driver does not know are the host's. */
static unsigned type_of(uint64_t address)
{
	unsigned type = 0;

	if (!gt_driver.cuPointerGetAttribute)
		return 0;
	return OWN3(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)
		       ? MEMORY_HOST
		       : type;
}

static enum gt_gpu_operation copy_between(unsigned target, unsigned source)
{
	bool to_host = target == MEMORY_HOST, from_host = source == MEMORY_HOST;

	if (!target || !source || (to_host && from_host))
		return GT_GPU_COPY;
	if (to_host)
		return GT_GPU_COPY_TO_HOST;
	return from_host ? GT_GPU_COPY_TO_DEVICE : GT_GPU_COPY_ON_DEVICE;
}

enum gt_gpu_operation gt_agent_copy_of(uint64_t target, uint64_t source)
{
	return copy_between(type_of(target), type_of(source));
}

/* An address of unified memory is that of the device's member. */
static unsigned resolve_type(unsigned type, uint64_t address)
{
	return type == MEMORY_UNIFIED ? type_of(address) : type;
}

enum gt_gpu_operation gt_agent_copy_of_2d(const struct gt_agent_copy_2d *copy)
{
	return copy_between(resolve_type(copy->target_type, copy->target_device),
			    resolve_type(copy->source_type, copy->source_device));
}

enum gt_gpu_operation gt_agent_copy_of_3d(const struct gt_agent_copy_3d *copy)
{
	return copy_between(resolve_type(copy->target_type, copy->target_device),
			    resolve_type(copy->source_type, copy->source_device));
}

uint64_t gt_agent_bytes_of_2d(const struct gt_agent_copy_2d *copy)
{
	return (uint64_t)copy->width * copy->height;
}

uint64_t gt_agent_bytes_of_3d(const struct gt_agent_copy_3d *copy)
{
	return (uint64_t)copy->width * copy->height * copy->depth;
}

uint64_t gt_agent_sum(const size_t *sizes, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += sizes[i];
	return sum;
}
