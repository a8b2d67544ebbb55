/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "fault". */
#include "probe/kernel_symbol.h"
#include "probe/kernel_types.h"
#include "probe/layer.h"
#include "probe/load.h"
#include "probe/module_events.h"

/* Last: it uses the types above. */
#include "fault.skel.h"

/* The tracepoint has no end, so no duration: it is used where functions cannot be probed. */
static const struct gt_hook hooks[] = {
	{.program = "fault_begin", .kind = GT_HOOK_TYPED_ENTRY, .point = "handle_mm_fault"},
	{.program = "fault_end",
	 .kind = GT_HOOK_EXIT,
	 .point = "handle_mm_fault",
	 .lacks = "page faults"},
	{.program = "second_end",
	 .kind = GT_HOOK_RETURN,
	 .point = "handle_mm_fault",
	 .second_of = "fault_end"},
	{.program = "second_begin",
	 .kind = GT_HOOK_ENTRY,
	 .point = "handle_mm_fault",
	 .second_of = "fault_begin"},
	{.program = "only_begin",
	 .kind = GT_HOOK_ENTRY,
	 .point = "handle_mm_fault",
	 .fallback_of = "fault_begin"},
	{.program = "only_end",
	 .kind = GT_HOOK_RETURN,
	 .point = "handle_mm_fault",
	 .fallback_of = "fault_end"},
	{.program = "fault_user",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "page_fault_user",
	 .fallback_of = "only_end"},
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

/*
 * UVM_PERF_EVENT_FAULT (nvidia-uvm/uvm_perf_events.h): UVM_PERF_EVENT_BLOCK_MUNMAP was inserted
 * before it between the drivers 515 and 535, together with the function that is called at it.
 */
static int set_fault_event(const struct gt_host *host, struct bpf_object *object,
			   struct gt_diag *diag)
{
	const __u32 event =
		gt_module_is_loaded("nvidia_uvm") &&
				gt_kernel_symbols_has(gt_kernel_types_symbols(host->types),
						      "thrashing_block_munmap_cb")
			? 6
			: 5;

	return gt_load_set_constant(object, "uvm_fault_event", &event, sizeof(event), diag);
}

static const struct gt_layer fault_layer = {
	.name = "fault",
	.object = fault_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.prepare = set_fault_event,
};

GT_DEFINE_LAYER_SOURCE(fault, "page faults, and those that wait for I/O",
		       "fexit or kprobes; without them, on x86, there are no durations");
