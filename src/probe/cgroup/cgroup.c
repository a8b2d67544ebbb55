/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "cgroup". */
#include "probe/cgroup/limits.h"
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "cgroup.skel.h"

#define TRACEPOINT(name, where)                                                                    \
	{                                                                                          \
		.program = name, .kind = GT_HOOK_TRACEPOINT, .point = where, .lacks = "freezes"    \
	}

static const struct gt_hook hooks[] = {
	TRACEPOINT("notify_frozen", "cgroup_notify_frozen"),
	TRACEPOINT("freeze", "cgroup_freeze"),
	TRACEPOINT("unfreeze", "cgroup_unfreeze"),
};

static const struct gt_layer cgroup_layer = {
	.name = "cgroup",
	.object = cgroup_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.extra = &gt_cgroup_limits,
};

GT_DEFINE_LAYER_SOURCE(cgroup, "throttling, memory limits, stalls and freezes of cgroups",
		       "cgroups; limits and stalls of memory need version 2 of them");
