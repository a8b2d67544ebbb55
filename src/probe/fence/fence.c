/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "fence". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "fence.skel.h"

/* clang-format off */
#define NAMES(operation)                                                                           \
	{.program = "name_" #operation, .kind = GT_HOOK_TRACE_EVENT,                               \
	 .point = "dma_fence/dma_fence_" #operation, .unless_preemptible = true}
#define FENCE(operation, what)                                                                     \
	{.program = "fence_" #operation, .kind = GT_HOOK_TRACEPOINT,                               \
	 .point = "dma_fence_" #operation, .lacks = what},                                         \
	{.program = "fence_" #operation "_record", .kind = GT_HOOK_TRACE_EVENT,                    \
	 .point = "dma_fence/dma_fence_" #operation, .recovers = "fence_" #operation}
/* clang-format on */

/*
 * Names first: programs are called in the order in which they are attached. Where tracepoints are
 * preemptible, the programs of the records learn them: raw tracepoints come first there.
 */
static const struct gt_hook hooks[] = {
	{.program = "interrupt_begin",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "irq_handler_entry",
	 .lacks = "interrupts that signal fences"},
	{.program = "interrupt_end",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "irq_handler_exit",
	 .lacks = "interrupts that signal fences"},
	NAMES(init),
	NAMES(emit),
	NAMES(enable_signal),
	FENCE(init, "new fences"),
	FENCE(emit, "emitted fences"),
	FENCE(enable_signal, "requests to signal fences"),
	FENCE(signaled, "signaled fences"),
	FENCE(destroy, "destroyed fences"),
	FENCE(wait_start, "the beginnings of waits"),
	FENCE(wait_end, "waits"),
};

static const struct gt_layer fence_layer = {
	.name = "fence",
	.object = fence_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.lru_maps = {"timelines"},
};

GT_DEFINE_LAYER_SOURCE(fence, "DMA fences: who waits for which work of a GPU, and how long",
		       "the kernel's dma_fence tracepoints; tracefs for the names of drivers");
