/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "i915". */
#include "probe/driver/hooks.h"

/* Last: it uses the types above. */
#include "i915.skel.h"

#define DRIVER_MODULE "i915"

/* Ends before beginnings, so that none is missed. */
static const struct gt_hook hooks[] = {
	DRIVER_TRACEPOINT("request_retire", "i915_request_retire", "completed requests"),
	DRIVER_TRACEPOINT("request_execute", "i915_request_execute", NULL),
	DRIVER_TRACEPOINT("wait_end", "i915_request_wait_end", "waits"),
	DRIVER_TRACEPOINT("wait_begin", "i915_request_wait_begin", "waits"),
	DRIVER_TRACEPOINT("request_add", "i915_request_add", "requests"),
	DRIVER_TRACEPOINT("request_queue", "i915_request_queue", "requests"),
	DRIVER_TRACEPOINT("object_destroy", "i915_gem_object_destroy", "objects"),
	DRIVER_TRACEPOINT("object_fault", "i915_gem_object_fault", "faults"),
	DRIVER_TRACEPOINT("object_pread", "i915_gem_object_pread", "reads"),
	DRIVER_TRACEPOINT("object_pwrite", "i915_gem_object_pwrite", "writes"),
	DRIVER_TRACEPOINT("vma_unbind", "i915_vma_unbind", "bindings"),
	DRIVER_TRACEPOINT("vma_bind", "i915_vma_bind", "bindings"),
	DRIVER_TRACEPOINT("evict", "i915_gem_evict", "evictions"),
	DRIVER_TRACEPOINT("evict_node", "i915_gem_evict_node", "evictions"),
	DRIVER_TRACEPOINT("evict_vm", "i915_gem_evict_vm", "evictions"),
	DRIVER_TRACEPOINT("shrink", "i915_gem_shrink", "shrinking"),
	DRIVER_TRACEPOINT("object_create", "i915_gem_object_create", "objects"),
};

static const struct gt_layer i915_layer = {
	.name = "i915",
	.object = i915_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.lru_maps = {"requests", "wait_begins"},
};

GT_DEFINE_LAYER_SOURCE(i915, "the driver i915: objects, bindings, evictions, faults, requests",
		       "the module i915");
