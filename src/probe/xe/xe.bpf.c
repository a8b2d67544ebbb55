/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers and requests of the driver xe (since Linux 6.8; layouts of 6.12 and 7.2). */
#define DRIVER_BUFFER GT_EVENT_xe_buffer
#define DRIVER_REQUEST GT_EVENT_xe_request
#include "probe/driver/driver.bpf.h"
#include "probe/driver/jobs.bpf.h"

#include "probe/api/registers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MAX_ERRNO 4095

/* Only its size is used. */
enum xe_engine_class {
	XE_ENGINE_CLASS_RENDER = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xe_bo {
	struct ttm_buffer_object ttm;
};

struct xe_exec_queue {
	char name[16];
	enum xe_engine_class class;
};

struct xe_sched_job {
	struct drm_sched_job drm;
	struct xe_exec_queue *q;
};

struct drm_gpuvm;

struct drm_gpuva {
	struct drm_gpuvm *vm;
	struct {
		__u64 addr;
		__u64 range;
	} va;
	struct {
		struct drm_gem_object *obj;
	} gem;
};

struct xe_vma {
	struct drm_gpuva gpuva;
};

#pragma clang attribute pop

static __always_inline struct device *device_of_buffer(struct xe_bo *buffer)
{
	return BPF_CORE_READ(buffer, ttm.base.dev, dev);
}

static __always_inline int create(struct xe_bo *buffer)
{
	union driver_buffer_event event = {.room = {}};
	struct ttm_resource *resource = BPF_CORE_READ(buffer, ttm.resource);

	event.event.buffer = (__u64)buffer;
	event.event.bytes = BPF_CORE_READ(buffer, ttm.base.size);
	event.event.to = resource ? BPF_CORE_READ(resource, mem_type) : GT_DRIVER_NO_MEMORY;
	create_buffer(&event, device_of_buffer(buffer));
	return 0;
}

/* struct xe_bo *bo; in 7.2 */
UNPREEMPTED_TRACEPOINT(xe_bo_create, buffer_create)
{
	return create((void *)ctx->args[0]);
}

/* Before: the function that makes each buffer returns it, or an error. */
SEC("kretprobe/___xe_bo_create_locked")
int buffer_created(struct pt_regs *ctx)
{
	__u64 result = RESULT(ctx);

	return result && result < -(__u64)MAX_ERRNO ? create((void *)result) : 0;
}

/* struct ttm_buffer_object *ttm_bo */
SEC("kprobe/xe_ttm_bo_destroy")
int buffer_destroy(struct pt_regs *ctx)
{
	__u64 arguments[ARGUMENT_REGISTERS];
	struct xe_bo *buffer = NULL;

	copy_registers(arguments, ctx);
	buffer = (void *)arguments[0] - bpf_core_field_offset(buffer->ttm);
	destroy_buffer((__u64)buffer, device_of_buffer(buffer));
	return 0;
}

/* struct xe_bo *bo */
UNPREEMPTED_TRACEPOINT(xe_bo_cpu_fault, buffer_fault)
{
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = ctx->args[0];
	put_buffer(&event, GT_DRIVER_FAULT, device_of_buffer((void *)ctx->args[0]));
	return 0;
}

/* struct xe_bo *bo, uint32_t new_placement, uint32_t old_placement, bool lacks_source */
UNPREEMPTED_TRACEPOINT(xe_bo_move, buffer_move)
{
	struct xe_bo *buffer = (void *)ctx->args[0];
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)buffer;
	event.event.bytes = BPF_CORE_READ(buffer, ttm.base.size);
	event.event.to = ctx->args[1];
	event.event.from = ctx->args[2];
	event.event.flags = (__u8)ctx->args[3] ? GT_DRIVER_NO_COPY : 0;
	put_buffer(&event, GT_DRIVER_MOVE, device_of_buffer(buffer));
	return 0;
}

static __always_inline int put_vma(struct bpf_raw_tracepoint_args *ctx, __u32 operation)
{
	struct xe_vma *vma = (void *)ctx->args[0];
	struct drm_gem_object *object = BPF_CORE_READ(vma, gpuva.gem.obj);
	union driver_buffer_event event = {.room = {}};
	struct xe_bo *buffer = NULL;

	if (object)
		event.event.buffer = (__u64)object - bpf_core_field_offset(buffer->ttm.base);
	event.event.offset = BPF_CORE_READ(vma, gpuva.va.addr);
	event.event.bytes = BPF_CORE_READ(vma, gpuva.va.range);
	event.event.space = (__u64)BPF_CORE_READ(vma, gpuva.vm);
	put_buffer(&event, operation, device_of(object));
	return 0;
}

/* struct xe_vma *vma */
#define VMA_PROGRAM(name, tracepoint, operation)                                                   \
	UNPREEMPTED_TRACEPOINT(tracepoint, name)                                                   \
	{                                                                                          \
		return put_vma(ctx, operation);                                                    \
	}

VMA_PROGRAM(vma_bind, xe_vma_bind, GT_DRIVER_BIND)
VMA_PROGRAM(vma_fault_bind, xe_vma_pf_bind, GT_DRIVER_BIND)
VMA_PROGRAM(vma_rebind_exec, xe_vma_rebind_exec, GT_DRIVER_REBIND)
VMA_PROGRAM(vma_rebind_worker, xe_vma_rebind_worker, GT_DRIVER_REBIND)
VMA_PROGRAM(vma_unbind, xe_vma_unbind, GT_DRIVER_UNBIND)
VMA_PROGRAM(vma_evict, xe_vma_evict, GT_DRIVER_EVICT)
VMA_PROGRAM(vma_invalidate, xe_vma_invalidate, GT_DRIVER_INVALIDATE)
VMA_PROGRAM(vma_pagefault, xe_vma_pagefault, GT_DRIVER_GPU_FAULT)

static __always_inline int put_job(struct bpf_raw_tracepoint_args *ctx, __u32 operation)
{
	struct xe_sched_job *job = (void *)ctx->args[0];
	struct xe_exec_queue *queue = BPF_CORE_READ(job, q);
	union driver_request_event event = {.room = {}};

	event.event.context = BPF_CORE_READ(job, drm.s_fence, finished.context);
	event.event.seqno = BPF_CORE_READ(job, drm.s_fence, finished.seqno);
	event.event.engine_class = BPF_CORE_READ(queue, class);
	bpf_core_read_str(event.event.names, sizeof(queue->name), &queue->name);
	put_request((__u64)BPF_CORE_READ(job, drm.s_fence), &event, operation,
		    BPF_CORE_READ(job, drm.sched, dev));
	return 0;
}

/* struct xe_sched_job *job */
#define JOB_PROGRAM(name, tracepoint, operation)                                                   \
	UNPREEMPTED_TRACEPOINT(tracepoint, name)                                                   \
	{                                                                                          \
		return put_job(ctx, operation);                                                    \
	}

JOB_PROGRAM(job_exec, xe_sched_job_exec, GT_DRIVER_SUBMIT)
JOB_PROGRAM(job_run, xe_sched_job_run, GT_DRIVER_RUN)
JOB_PROGRAM(job_timedout, xe_sched_job_timedout, GT_DRIVER_TIMEOUT)
JOB_PROGRAM(job_set_error, xe_sched_job_set_error, GT_DRIVER_ERROR)
