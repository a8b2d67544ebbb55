/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "pcie". */
#include "probe/layer.h"
#include "probe/pcie/functions.h"
#include "probe/pcie/links.h"

/* Last: it uses the types above. */
#include "pcie.skel.h"

/* clang-format off */
#define CONFIG_HOOKS(function, ...) \
	{.program = "begin_" #function, .kind = GT_HOOK_TYPED_ENTRY, .point = #function}, \
	{.program = "exit_" #function, .kind = GT_HOOK_EXIT, .point = #function, .lacks = "accesses to configuration space"}, \
	{.program = "enter_" #function, .kind = GT_HOOK_ENTRY, .point = #function, \
	 .fallback_of = "begin_" #function}, \
	{.program = "return_" #function, .kind = GT_HOOK_RETURN, .point = #function, \
	 .fallback_of = "exit_" #function},
/* clang-format on */

static const struct gt_hook hooks[] = {
	CONFIG_FUNCTIONS(CONFIG_HOOKS){.program = "aer_event",
				       .kind = GT_HOOK_TRACEPOINT,
				       .point = "aer_event",
				       .lacks = "errors of devices"},
};

static const struct gt_layer pcie_layer = {
	.name = "pcie",
	.object = pcie_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.extra = &gt_pcie_links,
};

GT_DEFINE_LAYER_SOURCE(pcie, "PCI configuration space, errors and links of GPUs",
		       "kprobes or fexit, BTF of the kernel, CAP_BPF and CAP_PERFMON");
