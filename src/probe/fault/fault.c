/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "fault". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "fault.skel.h"

/* The tracepoint has no end, so no duration: it is used where functions cannot be probed. */
static const struct gt_hook hooks[] = {
	{.program = "fault_end",
	 .kind = GT_HOOK_RETURN,
	 .point = "handle_mm_fault",
	 .lacks = "page faults"},
	{.program = "fault_begin", .kind = GT_HOOK_ENTRY, .point = "handle_mm_fault"},
	{.program = "fault_user",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "page_fault_user",
	 .fallback_of = "fault_end"},
	{.program = "uvm_end",
	 .kind = GT_HOOK_RETURN,
	 .point = "uvm_vm_fault_wrapper_entry",
	 .module = "nvidia_uvm"},
	{.program = "uvm_begin",
	 .kind = GT_HOOK_ENTRY,
	 .point = "uvm_vm_fault_wrapper_entry",
	 .module = "nvidia_uvm"},
	{.program = "uvm_notify",
	 .kind = GT_HOOK_ENTRY,
	 .point = "uvm_perf_event_notify",
	 .module = "nvidia_uvm"},
};

static const struct gt_layer fault_layer = {
	.name = "fault",
	.object = fault_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(fault, "page faults, and those that wait for I/O",
		       "kprobes; without them, on x86, there are no durations");
