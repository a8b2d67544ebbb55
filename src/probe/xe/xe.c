/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "xe". */
#include "probe/driver/hooks.h"

/* Last: it uses the types above. */
#include "xe.skel.h"

#define DRIVER_MODULE "xe"

/* Ends before beginnings, so that none is missed. */
static const struct gt_hook hooks[] = {
	DRIVER_JOB_ENDS,
	DRIVER_TRACEPOINT("job_timedout", "xe_sched_job_timedout", "timeouts"),
	DRIVER_TRACEPOINT("job_set_error", "xe_sched_job_set_error", "errors"),
	DRIVER_TRACEPOINT("job_run", "xe_sched_job_run", "running jobs"),
	DRIVER_TRACEPOINT("job_exec", "xe_sched_job_exec", "jobs"),
	DRIVER_HOOK("buffer_destroy", GT_HOOK_ENTRY, "xe_ttm_bo_destroy", NULL, "ends of buffers"),
	DRIVER_TRACEPOINT("buffer_fault", "xe_bo_cpu_fault", "faults"),
	DRIVER_TRACEPOINT("buffer_move", "xe_bo_move", "moves"),
	DRIVER_TRACEPOINT("vma_bind", "xe_vma_bind", "bindings"),
	DRIVER_TRACEPOINT("vma_fault_bind", "xe_vma_pf_bind", NULL),
	DRIVER_TRACEPOINT("vma_rebind_exec", "xe_vma_rebind_exec", "rebindings"),
	DRIVER_TRACEPOINT("vma_rebind_worker", "xe_vma_rebind_worker", "rebindings"),
	DRIVER_TRACEPOINT("vma_unbind", "xe_vma_unbind", "bindings"),
	DRIVER_TRACEPOINT("vma_evict", "xe_vma_evict", "evictions"),
	DRIVER_TRACEPOINT("vma_invalidate", "xe_vma_invalidate", NULL),
	DRIVER_TRACEPOINT("vma_pagefault", "xe_vma_pagefault", NULL),
	DRIVER_TRACEPOINT("buffer_create", "xe_bo_create", "new buffers"),
	DRIVER_HOOK("buffer_created", GT_HOOK_RETURN, "___xe_bo_create_locked", "buffer_create",
		    NULL),
};

static const struct gt_layer xe_layer = {
	.name = "xe",
	.object = xe_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.lru_maps = {"requests"},
};

GT_DEFINE_LAYER_SOURCE(xe, "the driver xe: buffers, bindings, moves, evictions, jobs",
		       "the module xe; kprobes for the ends of buffers");
