/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers, requests and interrupts of the driver amdgpu. */
#define DRIVER_BUFFER GT_EVENT_amdgpu_buffer
#define DRIVER_REQUEST GT_EVENT_amdgpu_request
#include "probe/driver/driver.bpf.h"
#include "probe/driver/jobs.bpf.h"

#include "probe/api/registers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PAGE_SHIFT 12
#define CPU_ACCESS_REQUIRED 1 /* AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED (amdgpu_drm.h) */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct amdgpu_vm {
	unsigned int pasid;
};

struct amdgpu_job {
	struct drm_sched_job base;
	struct amdgpu_vm *vm;
	__u32 num_ibs;
};

struct amdgpu_bo {
	__u32 preferred_domains;
	__u32 allowed_domains;
	struct ttm_buffer_object tbo;
	__u64 flags;
};

struct amdgpu_vm_bo_base {
	struct amdgpu_bo *bo;
};

struct amdgpu_bo_va {
	struct amdgpu_vm_bo_base base;
};

struct amdgpu_bo_va_mapping {
	__u64 start; /* in pages */
	__u64 last;
};

struct amdgpu_iv_entry {
	unsigned int client_id;
	unsigned int src_id;
	unsigned int ring_id;
	unsigned int vmid;
	__u64 timestamp;
	unsigned int pasid;
	unsigned int src_data[4];
};

#pragma clang attribute pop

/* Whose work an address space of the hardware is: pasid -> process << 32 | thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_DRIVER_SPACES);
	__type(key, __u32);
	__type(value, __u64);
} spaces SEC(".maps");

/* ---- buffers ------------------------------------------------------------------------------ */

static __always_inline __u32 type_of(struct amdgpu_bo *buffer)
{
	struct ttm_resource *resource = BPF_CORE_READ(buffer, tbo.resource);

	return resource ? BPF_CORE_READ(resource, mem_type) : GT_DRIVER_NO_MEMORY;
}

/* struct amdgpu_bo *bo */
UNPREEMPTED_TRACEPOINT(amdgpu_bo_create, buffer_create)
{
	struct amdgpu_bo *buffer = (void *)ctx->args[0];
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)buffer;
	event.event.bytes = BPF_CORE_READ(buffer, tbo.base.size);
	event.event.from = BPF_CORE_READ(buffer, preferred_domains);
	event.event.to = type_of(buffer);
	event.event.flags = BPF_CORE_READ(buffer, allowed_domains) << GT_DRIVER_ALLOWED_SHIFT;
	if (BPF_CORE_READ(buffer, flags) & CPU_ACCESS_REQUIRED)
		event.event.flags |= GT_DRIVER_VISIBLE;
	create_buffer(&event, BPF_CORE_READ(buffer, tbo.base.dev, dev));
	return 0;
}

/* struct ttm_buffer_object *tbo: of its buffers */
static __always_inline void destroy(struct pt_regs *ctx)
{
	__u64 arguments[ARGUMENT_REGISTERS];
	struct amdgpu_bo *buffer = NULL;

	copy_registers(arguments, ctx);
	buffer = (void *)arguments[0] - bpf_core_field_offset(buffer->tbo);
	destroy_buffer((__u64)buffer, BPF_CORE_READ(buffer, tbo.base.dev, dev));
}

SEC("kprobe/amdgpu_bo_destroy")
int buffer_destroy(struct pt_regs *ctx)
{
	destroy(ctx);
	return 0;
}

SEC("kprobe/amdgpu_bo_user_destroy")
int buffer_user_destroy(struct pt_regs *ctx)
{
	destroy(ctx);
	return 0;
}

SEC("kprobe/amdgpu_bo_vm_destroy")
int buffer_vm_destroy(struct pt_regs *ctx)
{
	destroy(ctx);
	return 0;
}

/* struct amdgpu_bo *bo, uint32_t new_placement, uint32_t old_placement */
UNPREEMPTED_TRACEPOINT(amdgpu_bo_move, buffer_move)
{
	struct amdgpu_bo *buffer = (void *)ctx->args[0];
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)buffer;
	event.event.bytes = BPF_CORE_READ(buffer, tbo.base.size);
	event.event.from = ctx->args[2];
	event.event.to = ctx->args[1];
	put_buffer(&event, GT_DRIVER_MOVE, BPF_CORE_READ(buffer, tbo.base.dev, dev));
	return 0;
}

static __always_inline void put_mapping(struct bpf_raw_tracepoint_args *ctx, __u32 operation)
{
	struct amdgpu_bo *buffer = BPF_CORE_READ((struct amdgpu_bo_va *)ctx->args[0], base.bo);
	struct amdgpu_bo_va_mapping *mapping = (void *)ctx->args[1];
	__u64 start = BPF_CORE_READ(mapping, start);
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)buffer;
	event.event.offset = start << PAGE_SHIFT;
	event.event.bytes = (BPF_CORE_READ(mapping, last) - start + 1) << PAGE_SHIFT;
	put_buffer(&event, operation, BPF_CORE_READ(buffer, tbo.base.dev, dev));
}

/* struct amdgpu_bo_va *bo_va, struct amdgpu_bo_va_mapping *mapping */
UNPREEMPTED_TRACEPOINT(amdgpu_vm_bo_map, buffer_map)
{
	put_mapping(ctx, GT_DRIVER_BIND);
	return 0;
}

UNPREEMPTED_TRACEPOINT(amdgpu_vm_bo_unmap, buffer_unmap)
{
	put_mapping(ctx, GT_DRIVER_UNBIND);
	return 0;
}

/* ---- requests ----------------------------------------------------------------------------- */

static __always_inline void put_job(struct amdgpu_job *job, __u32 operation)
{
	struct drm_gpu_scheduler *scheduler = BPF_CORE_READ(job, base.sched);
	union driver_request_event event = {.room = {}};
	const char *name = BPF_CORE_READ(scheduler, name);

	event.event.context = BPF_CORE_READ(job, base.s_fence, finished.context);
	event.event.seqno = BPF_CORE_READ(job, base.s_fence, finished.seqno);
	event.event.count = BPF_CORE_READ(job, num_ibs);
	if (name)
		bpf_probe_read_kernel_str(event.event.names, GT_DRM_NAME_SIZE, name);
	put_request((__u64)BPF_CORE_READ(job, base.s_fence), &event, operation,
		    BPF_CORE_READ(scheduler, dev));
}

/* struct amdgpu_job *job */
UNPREEMPTED_TRACEPOINT(amdgpu_cs_ioctl, job_submit)
{
	struct amdgpu_job *job = (void *)ctx->args[0];
	struct layer_thread *thread = traced_thread();
	__u32 pasid = BPF_CORE_READ(job, vm, pasid);
	__u64 owner;

	if (thread && pasid) {
		owner = (__u64)thread->process << 32 | thread->thread;
		put_map_entry(&spaces, &pasid, &owner);
	}
	put_job(job, GT_DRIVER_SUBMIT);
	return 0;
}

UNPREEMPTED_TRACEPOINT(amdgpu_sched_run_job, job_run)
{
	put_job((void *)ctx->args[0], GT_DRIVER_RUN);
	return 0;
}

/* ---- interrupts --------------------------------------------------------------------------- */

/* unsigned int ih, struct amdgpu_iv_entry *iv */
UNPREEMPTED_TRACEPOINT(amdgpu_iv, interrupt)
{
	struct amdgpu_iv_entry *entry = (void *)ctx->args[1];
	struct gt_event_amdgpu_interrupt event = {};
	struct layer_thread thread = {};
	__u64 *owner;

	event.pasid = BPF_CORE_READ(entry, pasid);
	owner = event.pasid ? bpf_map_lookup_elem(&spaces, &event.pasid) : NULL;
	if (owner) {
		thread.process = *owner >> 32;
		thread.thread = (__u32)*owner;
	} else if (filters_processes()) {
		COUNT_EVENTS(unattributed);
		return 0;
	}
	fill_head(&event.head, &thread, GT_EVENT_amdgpu_interrupt, sizeof(event));
	event.timestamp = BPF_CORE_READ(entry, timestamp);
	event.handler = (__u32)ctx->args[0];
	event.client = BPF_CORE_READ(entry, client_id);
	event.interrupt = BPF_CORE_READ(entry, src_id);
	event.ring = BPF_CORE_READ(entry, ring_id);
	event.vmid = BPF_CORE_READ(entry, vmid);
	event.data0 = BPF_CORE_READ(entry, src_data[0]);
	event.data1 = BPF_CORE_READ(entry, src_data[1]);
	event.data2 = BPF_CORE_READ(entry, src_data[2]);
	event.data3 = BPF_CORE_READ(entry, src_data[3]);
	put_event(&event, sizeof(event));
	return 0;
}
