/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers and requests of the driver i915. The tracepoints are the same from Linux 6.1 to 7.2. */
#define DRIVER_BUFFER GT_EVENT_i915_buffer
#define DRIVER_REQUEST GT_EVENT_i915_request
#include "probe/driver/driver.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PAGE_SHIFT 12

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct drm_i915_private {
	struct drm_device drm;
};

struct drm_i915_gem_object {
	struct drm_gem_object base;
};

struct drm_mm_node {
	__u64 start;
	__u64 size;
};

struct i915_address_space {
	struct drm_i915_private *i915;
};

struct i915_vma {
	struct drm_mm_node node;
	struct i915_address_space *vm;
	struct drm_i915_gem_object *obj;
};

struct intel_engine_cs {
	char name[8];
	__u16 uabi_class;
	__u16 uabi_instance;
};

struct i915_request {
	struct dma_fence fence;
	struct drm_i915_private *i915;
	struct intel_engine_cs *engine;
};

#pragma clang attribute pop

static __always_inline struct device *device_of_object(struct drm_i915_gem_object *object)
{
	return BPF_CORE_READ(object, base.dev, dev);
}

/* An operation on an object. */
static __always_inline void put_object(struct drm_i915_gem_object *object, __u32 operation,
				       __u64 offset, __u64 bytes, __u32 flags)
{
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)object;
	event.event.offset = offset;
	event.event.bytes = bytes;
	event.event.flags = flags;
	put_buffer(&event, operation, device_of_object(object));
}

/* struct drm_i915_gem_object *obj */
UNPREEMPTED_TRACEPOINT(i915_gem_object_create, object_create)
{
	struct drm_i915_gem_object *object = (void *)ctx->args[0];
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)object;
	event.event.bytes = BPF_CORE_READ(object, base.size);
	create_buffer(&event, device_of_object(object));
	return 0;
}

/* The same */
UNPREEMPTED_TRACEPOINT(i915_gem_object_destroy, object_destroy)
{
	destroy_buffer(ctx->args[0], device_of_object((void *)ctx->args[0]));
	return 0;
}

/* struct drm_i915_gem_object *obj, u64 page, bool gtt, bool write */
UNPREEMPTED_TRACEPOINT(i915_gem_object_fault, object_fault)
{
	put_object((void *)ctx->args[0], GT_DRIVER_FAULT, ctx->args[1] << PAGE_SHIFT, 0,
		   ((__u8)ctx->args[2] ? GT_DRIVER_GTT : 0) |
			   ((__u8)ctx->args[3] ? GT_DRIVER_WRITE : 0));
	return 0;
}

/* struct drm_i915_gem_object *obj, u64 offset, u64 length */
UNPREEMPTED_TRACEPOINT(i915_gem_object_pread, object_pread)
{
	put_object((void *)ctx->args[0], GT_DRIVER_PREAD, ctx->args[1], ctx->args[2], 0);
	return 0;
}

UNPREEMPTED_TRACEPOINT(i915_gem_object_pwrite, object_pwrite)
{
	put_object((void *)ctx->args[0], GT_DRIVER_PWRITE, ctx->args[1], ctx->args[2],
		   GT_DRIVER_WRITE);
	return 0;
}

static __always_inline void put_vma(struct i915_vma *vma, __u32 operation, __u32 flags)
{
	struct drm_i915_gem_object *object = BPF_CORE_READ(vma, obj);
	union driver_buffer_event event = {.room = {}};

	event.event.buffer = (__u64)object;
	event.event.offset = BPF_CORE_READ(vma, node.start);
	event.event.bytes = BPF_CORE_READ(vma, node.size);
	event.event.space = (__u64)BPF_CORE_READ(vma, vm);
	event.event.flags = flags;
	put_buffer(&event, operation, device_of_object(object));
}

/* struct i915_vma *vma, unsigned int flags */
UNPREEMPTED_TRACEPOINT(i915_vma_bind, vma_bind)
{
	put_vma((void *)ctx->args[0], GT_DRIVER_BIND, 0);
	return 0;
}

/* struct i915_vma *vma */
UNPREEMPTED_TRACEPOINT(i915_vma_unbind, vma_unbind)
{
	put_vma((void *)ctx->args[0], GT_DRIVER_UNBIND, 0);
	return 0;
}

static __always_inline void put_evict(struct i915_address_space *space, __u64 offset, __u64 bytes,
				      __u32 flags)
{
	union driver_buffer_event event = {.room = {}};

	event.event.space = (__u64)space;
	event.event.offset = offset;
	event.event.bytes = bytes;
	event.event.from = flags;
	put_buffer(&event, GT_DRIVER_EVICT, BPF_CORE_READ(space, i915, drm.dev));
}

/* struct i915_address_space *vm, u64 size, u64 align, unsigned int flags: room is needed */
UNPREEMPTED_TRACEPOINT(i915_gem_evict, evict)
{
	put_evict((void *)ctx->args[0], 0, ctx->args[1], ctx->args[3]);
	return 0;
}

/* struct i915_address_space *vm, struct drm_mm_node *node, unsigned int flags: at this address */
UNPREEMPTED_TRACEPOINT(i915_gem_evict_node, evict_node)
{
	struct drm_mm_node *node = (void *)ctx->args[1];

	put_evict((void *)ctx->args[0], BPF_CORE_READ(node, start), BPF_CORE_READ(node, size),
		  ctx->args[2]);
	return 0;
}

/* struct i915_address_space *vm: all of it */
UNPREEMPTED_TRACEPOINT(i915_gem_evict_vm, evict_vm)
{
	put_evict((void *)ctx->args[0], 0, 0, 0);
	return 0;
}

/* struct drm_i915_private *i915, unsigned long target (pages), unsigned int flags */
UNPREEMPTED_TRACEPOINT(i915_gem_shrink, shrink)
{
	struct drm_i915_private *i915 = (void *)ctx->args[0];
	union driver_buffer_event event = {.room = {}};

	event.event.bytes = ctx->args[1] << PAGE_SHIFT;
	event.event.from = ctx->args[2];
	put_buffer(&event, GT_DRIVER_SHRINK, BPF_CORE_READ(i915, drm.dev));
	return 0;
}

/* ---- requests ----------------------------------------------------------------------------- */

static __always_inline void put_step(struct i915_request *request, __u32 operation, __u64 duration)
{
	struct intel_engine_cs *engine = BPF_CORE_READ(request, engine);
	union driver_request_event event = {.room = {}};

	event.event.duration = duration;
	event.event.context = BPF_CORE_READ(request, fence.context);
	event.event.seqno = BPF_CORE_READ(request, fence.seqno);
	event.event.engine_class = BPF_CORE_READ(engine, uabi_class);
	event.event.engine_instance = BPF_CORE_READ(engine, uabi_instance);
	bpf_core_read_str(event.event.names, sizeof(engine->name), &engine->name);
	put_request((__u64)request, &event, operation, BPF_CORE_READ(request, i915, drm.dev));
}

/* struct i915_request *rq, u32 flags */
UNPREEMPTED_TRACEPOINT(i915_request_queue, request_queue)
{
	put_step((void *)ctx->args[0], GT_DRIVER_QUEUE, 0);
	return 0;
}

/* struct i915_request *rq */
UNPREEMPTED_TRACEPOINT(i915_request_add, request_add)
{
	put_step((void *)ctx->args[0], GT_DRIVER_SUBMIT, 0);
	return 0;
}

/* Of kernels with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS */
UNPREEMPTED_TRACEPOINT(i915_request_execute, request_execute)
{
	put_step((void *)ctx->args[0], GT_DRIVER_RUN, 0);
	return 0;
}

UNPREEMPTED_TRACEPOINT(i915_request_retire, request_retire)
{
	put_step((void *)ctx->args[0], GT_DRIVER_DONE, 0);
	return 0;
}

/* When a thread began to wait: by thread, as it waits for one request at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_DRIVER_REQUESTS);
	__type(key, __u64);
	__type(value, __u64);
} wait_begins SEC(".maps");

/* struct i915_request *rq, unsigned int flags */
UNPREEMPTED_TRACEPOINT(i915_request_wait_begin, wait_begin)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	if (traced_thread())
		add_lru_entry(&wait_begins, &thread, &now);
	return 0;
}

UNPREEMPTED_TRACEPOINT(i915_request_wait_end, wait_end)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u64 *begun = bpf_map_lookup_elem(&wait_begins, &thread);

	if (!begun)
		return 0;
	put_step((void *)ctx->args[0], GT_DRIVER_WAIT, bpf_ktime_get_ns() - *begun);
	remove_lru_entry(&wait_begins, &thread);
	return 0;
}
