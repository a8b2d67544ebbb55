/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types of DRM and its scheduler, as far as BPF programs read them (probe/vmlinux_min.h). */
#pragma once

#include "probe/vmlinux_min.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kobject {
	const char *name;
};

struct device {
	struct kobject kobj;
	const char *init_name;
};

struct list_head {
	struct list_head *next;
};

struct spsc_queue {
	atomic_t job_count;
};

struct delayed_work {
	int dummy; /* only its offset is used */
};

struct drm_gpu_scheduler {
	const char *name;
	atomic_t hw_rq_count;  /* until Linux 6.7 */
	atomic_t credit_count; /* since Linux 6.8 */
	struct delayed_work work_tdr;
	struct list_head pending_list;
	struct device *dev;
};

struct drm_sched_entity {
	struct spsc_queue job_queue;
};

struct drm_sched_fence {
	struct dma_fence finished;
	struct dma_fence *parent; /* of the hardware; NULL: the job did not run */
	struct drm_gpu_scheduler *sched;
	__u64 drm_client_id; /* since Linux 6.17 */
};

struct drm_sched_job {
	struct list_head list;
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
};

struct drm_vblank_crtc {
	__s64 time; /* of the latest vblank, CLOCK_MONOTONIC */
};

struct drm_device {
	struct device *dev;
	struct drm_vblank_crtc *vblank; /* an array, by the number of the CRTC */
};

struct drm_minor {
	struct drm_device *dev;
};

struct drm_file {
	struct drm_minor *minor;
};

struct drm_crtc {
	struct drm_device *dev;
};

/* Records of trace events since Linux 6.17; __data_loc: length << 16 | offset. */
struct trace_event_raw_drm_sched_job {
	__u32 __data_loc_name;
	__u32 job_count;
	int hw_job_count;
	__u32 __data_loc_dev;
	__u64 fence_context;
	__u64 fence_seqno;
	__u64 client_id;
};

struct trace_event_raw_drm_sched_job_done {
	__u64 fence_context;
	__u64 fence_seqno;
};

struct trace_event_raw_drm_sched_job_add_dep {
	__u64 fence_context;
	__u64 fence_seqno;
	__u64 ctx; /* of the dependency */
	__u64 seqno;
};

struct trace_event_raw_drm_sched_job_unschedulable {
	__u64 fence_context;
	__u64 fence_seqno;
	__u64 ctx;
	__u64 seqno;
};

#pragma clang attribute pop

/* Copy the name of a device ("0000:01:00.0"): nothing if it has none. `to` is GT_DRM_NAME_SIZE. */
static __always_inline void put_device_name(void *to, struct device *device)
{
	const char *name = BPF_CORE_READ(device, init_name);

	if (!name)
		name = BPF_CORE_READ(device, kobj.name);
	if (name)
		bpf_probe_read_kernel_str(to, GT_DRM_NAME_SIZE, name);
}
