/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ends of requests that are jobs of the DRM scheduler (xe, amdgpu). Their key in put_request()
 * is the address of the job's fence: the job itself is freed later, by a worker. Include it after
 * driver.bpf.h; the hooks are DRIVER_JOB_ENDS.
 */
#pragma once

#include "probe/driver/driver.bpf.h"

/* struct drm_sched_fence *fence: of the scheduler, whose jobs may be another driver's */
static __always_inline int put_job_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_fence *fence = (void *)ctx->args[0];
	union driver_request_event event = {.room = {}};
	struct drm_gpu_scheduler *scheduler;
	__u64 key = (__u64)fence;
	const char *name;

	if (!bpf_map_lookup_elem(&requests, &key))
		return 0;
	scheduler = BPF_CORE_READ(fence, sched);
	name = BPF_CORE_READ(scheduler, name);
	event.event.context = BPF_CORE_READ(fence, finished.context);
	event.event.seqno = BPF_CORE_READ(fence, finished.seqno);
	if (name)
		bpf_probe_read_kernel_str(event.event.names, GT_DRM_NAME_SIZE, name);
	put_request(key, &event, GT_DRIVER_DONE, BPF_CORE_READ(scheduler, dev));
	return 0;
}

UNPREEMPTED_TRACEPOINT(drm_sched_job_done, job_done)
{
	return put_job_end(ctx);
}

/* Until Linux 6.16 */
UNPREEMPTED_TRACEPOINT(drm_sched_process_job, job_done_6_16)
{
	return put_job_end(ctx);
}
