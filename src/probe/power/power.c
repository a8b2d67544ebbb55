/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "power". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "power.skel.h"

#define TRACEPOINT(name, where, what)                                                              \
	{                                                                                          \
		.program = name, .kind = GT_HOOK_TRACEPOINT, .point = where, .lacks = what         \
	}

/* What newer kernels, or those without suspend, do not have is not missed. */
static const struct gt_hook hooks[] = {
	TRACEPOINT("cpu_frequency", "cpu_frequency", "frequencies of CPUs"),
	TRACEPOINT("gpu_frequency", "gpu_frequency", NULL),
	TRACEPOINT("suspend_resume", "suspend_resume", "suspend and resume of the system"),
	TRACEPOINT("device_result", "rpm_return_int", "power states of GPUs"),
	TRACEPOINT("device_idle", "rpm_idle", "power states of GPUs"),
	TRACEPOINT("device_suspend", "rpm_suspend", "power states of GPUs"),
	TRACEPOINT("device_resume", "rpm_resume", "power states of GPUs"),
	TRACEPOINT("callback_end", "device_pm_callback_end", NULL),
	TRACEPOINT("callback_begin", "device_pm_callback_start", NULL),
};

static const struct gt_layer power_layer = {
	.name = "power",
	.object = power_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(power, "frequencies of CPUs and GPUs, suspend and resume",
		       "tracepoints of the power management");
