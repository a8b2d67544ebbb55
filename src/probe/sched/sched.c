/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "sched". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "sched.skel.h"

static const struct gt_hook hooks[] = {
	{.program = "sched_switch",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_switch",
	 .lacks = "waits"},
	{.program = "sched_waking",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_waking",
	 .lacks = "wakers"},
};

static const struct gt_layer sched_layer = {
	.name = "sched",
	.object = sched_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(sched, "when threads do not run, why, and who wakes them",
		       "BTF of the kernel, CAP_BPF and CAP_PERFMON");
