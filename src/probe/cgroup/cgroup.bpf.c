/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Freezing of cgroups, whoever asks for it. What limits cgroups is in their files: see limits.c.
 */
#include "probe/layer.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PATH_SIZE 128

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

#pragma clang attribute pop

static __always_inline void put_cgroup(struct bpf_raw_tracepoint_args *ctx, __u32 operation)
{
	__u64 room[(sizeof(struct gt_event_cgroup_state) + PATH_SIZE) / sizeof(__u64)] = {};
	struct gt_event_cgroup_state *event = (void *)room;
	struct cgroup *cgroup = (void *)ctx->args[0];

	fill_head(&event->head, NULL, GT_EVENT_cgroup_state, sizeof(room));
	event->cgroup = BPF_CORE_READ(cgroup, kn, id);
	event->operation = operation;
	event->count = 1;
	bpf_probe_read_kernel_str(event->path, PATH_SIZE, (void *)ctx->args[1]);
	put_event(room, sizeof(room));
}

/* struct cgroup *cgrp, const char *path */
SEC("raw_tp/cgroup_freeze")
int freeze(struct bpf_raw_tracepoint_args *ctx)
{
	put_cgroup(ctx, GT_CGROUP_FREEZE);
	return 0;
}

SEC("raw_tp/cgroup_unfreeze")
int unfreeze(struct bpf_raw_tracepoint_args *ctx)
{
	put_cgroup(ctx, GT_CGROUP_UNFREEZE);
	return 0;
}

/* struct cgroup *cgrp, const char *path, int frozen */
SEC("raw_tp/cgroup_notify_frozen")
int notify_frozen(struct bpf_raw_tracepoint_args *ctx)
{
	put_cgroup(ctx, (__u32)ctx->args[2] ? GT_CGROUP_FROZEN : GT_CGROUP_THAWED);
	return 0;
}
