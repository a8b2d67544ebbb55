/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/work.h"

#include <stdlib.h>
#include <string.h>

#include "device/condition.h"
#include "device/context.h"
#include "device/copy.h"
#include "device/graph.h"
#include "device/launch.h"
#include "device/memory.h"
#include "device/shared_event.h"

const char *sg_work_name(enum sg_work_kind kind)
{
	static const char *const names[] = {
		[SG_WORK_KERNEL] = "kernel",  [SG_WORK_COPY] = "copy",
		[SG_WORK_SET] = "set",        [SG_WORK_HOST] = "host",
		[SG_WORK_RECORD] = "record",  [SG_WORK_VALUE] = "value",
		[SG_WORK_ALLOCATE] = "alloc", [SG_WORK_FREE] = "free",
		[SG_WORK_AWAIT] = NULL,
	};

	return names[kind];
}

bool sg_work_clone(const struct sg_work *work, struct sg_work *ret_work)
{
	struct sg_work copy = *work;

	switch (work->kind) {
	case SG_WORK_KERNEL:
		if (!sg_kernel_clone(&work->kernel, &copy.kernel))
			return false;
		break;
	case SG_WORK_COPY:
		copy.copy.staging = NULL;
		break;
	case SG_WORK_GRAPH:
		copy.graph = sg_graph_clone(work->graph);
		if (!copy.graph)
			return false;
		break;
	case SG_WORK_CONDITION:
		if (!sg_condition_clone(&work->condition, &copy.condition))
			return false;
		break;
	case SG_WORK_RESET:
		sg_condition_reference(work->reset);
		break;
	case SG_WORK_SIGNAL:
	case SG_WORK_AWAIT:
		sg_shared_event_reference(work->shared.event);
		break;
	case SG_WORK_ALLOCATE:
		sg_graph_memory_reference(work->allocation.memory);
		break;
	default:
		break;
	}
	*ret_work = copy;
	return true;
}

void sg_work_clear(struct sg_work *work)
{
	switch (work->kind) {
	case SG_WORK_KERNEL:
		free(work->kernel.parameters);
		free(work->kernel.pointers);
		break;
	case SG_WORK_COPY:
		free(work->copy.staging);
		break;
	case SG_WORK_GRAPH:
		sg_graph_free(work->graph);
		break;
	case SG_WORK_CONDITION:
		sg_condition_clear(&work->condition);
		break;
	case SG_WORK_RESET:
		sg_condition_unreference(work->reset);
		break;
	case SG_WORK_SIGNAL:
	case SG_WORK_AWAIT:
		sg_shared_event_unreference(work->shared.event);
		break;
	case SG_WORK_ALLOCATE:
		sg_graph_memory_unreference(work->allocation.memory);
		break;
	default:
		break;
	}
	*work = (struct sg_work){0};
}

static CUresult run_host(const struct sg_host_work *host, CUcontext context)
{
	struct sg_thread *self = sg_thread_self();

	if (!self)
		return CUDA_ERROR_OUT_OF_MEMORY;
	self->in_host_function = true;
	if (host->function)
		host->function(host->data);
	else
		host->callback(host->stream, (CUresult)atomic_load(&context->error), host->data);
	self->in_host_function = false;
	return CUDA_SUCCESS;
}

static CUresult run_free(CUdeviceptr address, struct sg_record *record)
{
	struct sg_allocation freed = {0};
	CUresult result = sg_memory_set_live(address, false, &freed);

	if (result)
		result = sg_memory_free(address,
					1u << SG_MEMORY_POOL | 1u << SG_MEMORY_DEVICE |
						1u << SG_MEMORY_MANAGED,
					&freed);

	record->address = address;
	record->bytes = freed.size;
	return result;
}

CUresult sg_work_run(struct sg_work *work, CUcontext context, struct sg_record *record)
{
	switch (work->kind) {
	case SG_WORK_KERNEL:
		return sg_kernel_run(&work->kernel, context, record);
	case SG_WORK_COPY:
		return sg_copy_run(&work->copy, record);
	case SG_WORK_SET:
		return sg_set_run(&work->set, record);
	case SG_WORK_HOST:
		return run_host(&work->host, context);
	case SG_WORK_VALUE:
		return sg_value_run(&work->value, context, record);
	case SG_WORK_CONDITION:
		return sg_condition_run(&work->condition, context, record);
	case SG_WORK_RESET:
		sg_condition_reset(work->reset);
		return CUDA_SUCCESS;
	case SG_WORK_SIGNAL:
		sg_shared_event_signal(work->shared.event, work->shared.number);
		return CUDA_SUCCESS;
	case SG_WORK_AWAIT:
		return sg_shared_event_wait(work->shared.event, work->shared.number, context);
	case SG_WORK_ALLOCATE:
		record->address = work->allocation.parameters.dptr;
		record->bytes = work->allocation.parameters.bytesize;
		record->kind = "graph";
		return sg_memory_set_live(work->allocation.parameters.dptr, true, NULL);
	case SG_WORK_FREE:
		return run_free(work->address, record);
	default:
		return CUDA_SUCCESS;
	}
}
