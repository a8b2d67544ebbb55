/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "amdgpu". */
#include "probe/driver/hooks.h"

/* Last: it uses the types above. */
#include "amdgpu.skel.h"

#define DRIVER_MODULE "amdgpu"

/* Ends before beginnings, so that none is missed. */
static const struct gt_hook hooks[] = {
	DRIVER_JOB_ENDS,
	DRIVER_TRACEPOINT("job_run", "amdgpu_sched_run_job", "running jobs"),
	DRIVER_TRACEPOINT("job_submit", "amdgpu_cs_ioctl", "jobs"),
	DRIVER_TRACEPOINT("interrupt", "amdgpu_iv", "interrupts"),
	DRIVER_HOOK("buffer_destroy", GT_HOOK_ENTRY, "amdgpu_bo_destroy", NULL, "ends of buffers"),
	DRIVER_HOOK("buffer_user_destroy", GT_HOOK_ENTRY, "amdgpu_bo_user_destroy", NULL,
		    "ends of buffers"),
	DRIVER_HOOK("buffer_vm_destroy", GT_HOOK_ENTRY, "amdgpu_bo_vm_destroy", NULL, NULL),
	DRIVER_TRACEPOINT("buffer_move", "amdgpu_bo_move", "moves"),
	DRIVER_TRACEPOINT("buffer_unmap", "amdgpu_vm_bo_unmap", "mappings"),
	DRIVER_TRACEPOINT("buffer_map", "amdgpu_vm_bo_map", "mappings"),
	DRIVER_TRACEPOINT("buffer_create", "amdgpu_bo_create", "new buffers"),
};

static const struct gt_layer amdgpu_layer = {
	.name = "amdgpu",
	.object = amdgpu_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.lru_maps = {"requests"},
};

GT_DEFINE_LAYER_SOURCE(amdgpu, "the driver amdgpu: buffers, moves, mappings, jobs, interrupts",
		       "the module amdgpu; kprobes for the ends of buffers");
