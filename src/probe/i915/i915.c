/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "i915". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "i915.skel.h"

/* clang-format off */
#define HOOK(name, how, where, instead, what)                                                      \
	{.program = name, .kind = how, .point = where, .module = "i915", .fallback_of = instead,    \
	 .lacks = what}
/* clang-format on */
#define TRACEPOINT(name, where, what) HOOK(name, GT_HOOK_TRACEPOINT, where, NULL, what)

/* Ends before beginnings, so that none is missed. */
static const struct gt_hook hooks[] = {
	TRACEPOINT("request_retire", "i915_request_retire", "completed requests"),
	TRACEPOINT("wait_end", "i915_request_wait_end", "waits"),
	TRACEPOINT("wait_begin", "i915_request_wait_begin", "waits"),
	TRACEPOINT("request_add", "i915_request_add", "requests"),
	TRACEPOINT("request_queue", "i915_request_queue", "requests"),
	TRACEPOINT("object_destroy", "i915_gem_object_destroy", "objects"),
	TRACEPOINT("object_fault", "i915_gem_object_fault", "faults"),
	TRACEPOINT("object_pread", "i915_gem_object_pread", "reads"),
	TRACEPOINT("object_pwrite", "i915_gem_object_pwrite", "writes"),
	TRACEPOINT("vma_unbind", "i915_vma_unbind", "bindings"),
	TRACEPOINT("vma_bind", "i915_vma_bind", "bindings"),
	TRACEPOINT("evict", "i915_gem_evict", "evictions"),
	TRACEPOINT("evict_node", "i915_gem_evict_node", "evictions"),
	TRACEPOINT("evict_vm", "i915_gem_evict_vm", "evictions"),
	TRACEPOINT("shrink", "i915_gem_shrink", "shrinking"),
	TRACEPOINT("object_create", "i915_gem_object_create", "objects"),
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
