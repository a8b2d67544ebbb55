/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "amdgpu". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "amdgpu.skel.h"

/* clang-format off */
#define HOOK(name, how, where, instead, what)                                                      \
	{.program = name, .kind = how, .point = where, .module = "amdgpu", .fallback_of = instead,    \
	 .lacks = what}
/* clang-format on */
#define TRACEPOINT(name, where, what) HOOK(name, GT_HOOK_TRACEPOINT, where, NULL, what)

/* Ends before beginnings, so that none is missed. */
static const struct gt_hook hooks[] = {
	TRACEPOINT("job_done", "drm_sched_job_done", "completed jobs"),
	HOOK("job_done_6_16", GT_HOOK_TRACEPOINT, "drm_sched_process_job", "job_done", NULL),
	TRACEPOINT("job_run", "amdgpu_sched_run_job", "running jobs"),
	TRACEPOINT("job_submit", "amdgpu_cs_ioctl", "jobs"),
	TRACEPOINT("interrupt", "amdgpu_iv", "interrupts"),
	HOOK("buffer_destroy", GT_HOOK_ENTRY, "amdgpu_bo_destroy", NULL, "ends of buffers"),
	HOOK("buffer_user_destroy", GT_HOOK_ENTRY, "amdgpu_bo_user_destroy", NULL,
	     "ends of buffers"),
	HOOK("buffer_vm_destroy", GT_HOOK_ENTRY, "amdgpu_bo_vm_destroy", NULL, NULL),
	TRACEPOINT("buffer_move", "amdgpu_bo_move", "moves"),
	TRACEPOINT("buffer_unmap", "amdgpu_vm_bo_unmap", "mappings"),
	TRACEPOINT("buffer_map", "amdgpu_vm_bo_map", "mappings"),
	TRACEPOINT("buffer_create", "amdgpu_bo_create", "new buffers"),
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
