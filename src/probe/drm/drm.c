/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "drm". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "drm.skel.h"

#define MODULE "gpu_sched"

/* clang-format off */
#define TRACEPOINT(name, where, instead, what)                                                     \
	{.program = name, .kind = GT_HOOK_TRACEPOINT, .point = where, .module = MODULE,            \
	 .fallback_of = instead, .lacks = what}
/* The program of the trace event beside that of the raw tracepoint. */
#define RECORD(name, where)                                                                        \
	{.program = name "_record", .kind = GT_HOOK_TRACE_EVENT, .point = where, .module = MODULE, \
	 .recovers = name}
/* clang-format on */

/* The names since Linux 6.17, then those until 6.16. */
static const struct gt_hook hooks[] = {
	TRACEPOINT("job_fence_signaled", "dma_fence_signaled", NULL, "ends of dependencies"),
	RECORD("job_fence_signaled", "dma_fence/dma_fence_signaled"),
	TRACEPOINT("job_done", "drm_sched_job_done", NULL, "completed jobs"),
	RECORD("job_done", "gpu_scheduler/drm_sched_job_done"),
	TRACEPOINT("job_done_6_16", "drm_sched_process_job", "job_done", NULL),
	TRACEPOINT("job_run", "drm_sched_job_run", NULL, "running jobs"),
	RECORD("job_run", "gpu_scheduler/drm_sched_job_run"),
	TRACEPOINT("job_run_6_16", "drm_run_job", "job_run", NULL),
	TRACEPOINT("job_unschedulable", "drm_sched_job_unschedulable", NULL, "blocked jobs"),
	RECORD("job_unschedulable", "gpu_scheduler/drm_sched_job_unschedulable"),
	TRACEPOINT("job_wait_dep", "drm_sched_job_wait_dep", "job_unschedulable", NULL),
	TRACEPOINT("job_add_dep", "drm_sched_job_add_dep", NULL, NULL),
	RECORD("job_add_dep", "gpu_scheduler/drm_sched_job_add_dep"),
	TRACEPOINT("job_queue", "drm_sched_job_queue", NULL, "queued jobs"),
	RECORD("job_queue", "gpu_scheduler/drm_sched_job_queue"),
	TRACEPOINT("job_queue_6_16", "drm_sched_job", "job_queue", NULL),
	{.program = "job_timeout",
	 .kind = GT_HOOK_ENTRY,
	 .point = "drm_sched_job_timedout",
	 .module = MODULE,
	 .lacks = "timeouts"},
};

static const struct gt_layer drm_layer = {
	.name = "drm",
	.object = drm_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(drm, "jobs of the DRM scheduler: queued, blocked, run, done, by ring",
		       "the module gpu_sched; kprobes for timeouts");
