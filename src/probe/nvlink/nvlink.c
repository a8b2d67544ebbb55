/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "nvlink". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "nvlink.skel.h"

/* clang-format off */
#define CALL_HOOKS(name) \
	{.program = "enter_" name, .kind = GT_HOOK_ENTRY, .point = "nvlink_" name, \
	 .module = "nvidia", .lacks = "calls of nvlink_" name}, \
	{.program = "leave_" name, .kind = GT_HOOK_RETURN, .point = "nvlink_" name, \
	 .module = "nvidia"}
/* clang-format on */

static const struct gt_hook hooks[] = {
	CALL_HOOKS("strcpy"),
	CALL_HOOKS("memcpy"),
	CALL_HOOKS("memset"),
};

static const struct gt_layer nvlink_layer = {
	.name = "nvlink",
	.object = nvlink_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(nvlink, "copies in memory by NVIDIA's NVLink code; no traffic of links",
		       "NVIDIA's driver, kprobes, CAP_BPF and CAP_PERFMON", .on_request = true);
