/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "sched". */
#include "probe/sched/sched.h"

#include "probe/kernel_symbol.h"
#include "probe/kernel_types.h"
#include "probe/layer.h"
#include "probe/load.h"

/* Last: it uses the types above. */
#include "sched.skel.h"

/* Whether programs can find out that an interrupt is handled: see sched.bpf.c. */
static bool has_preempt_count(struct gt_kernel_types *types)
{
#ifdef __x86_64__
	return gt_kernel_types_has_variable(types, "__preempt_count") ||
	       gt_kernel_types_has_variable(types, "pcpu_hot");
#else
	return true;
#endif
}

static const struct gt_hook hooks[] = {
	{.program = "sched_switch",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_switch",
	 .lacks = "waits"},
	{.program = "sched_waking",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_waking",
	 .can_load = has_preempt_count,
	 .lacks = "wakers"},
	{.program = "sched_waking_any",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_waking",
	 .fallback_of = "sched_waking"},
};

/*
 * Only where the program that needs them is attached: the kernel takes long to list its symbols. It
 * recognizes no interrupts without them.
 */
static int set_interrupt_text(const struct gt_host *host, struct bpf_object *object,
			      struct gt_diag *diag)
{
	static const char *const symbols[] = {"__irqentry_text_start", "__irqentry_text_end",
					      "__softirqentry_text_start",
					      "__softirqentry_text_end"};
	__u64 text[2 * GT_INTERRUPT_SECTIONS];

	_Static_assert(gt_countof(symbols) == gt_countof(text), "a symbol for each address");
	if (has_preempt_count(host->types) ||
	    gt_kernel_symbols_find_addresses(gt_kernel_types_symbols(host->types), symbols,
					     gt_countof(symbols), text))
		return 0;
	return gt_load_set_constant(object, "interrupt_text", text, sizeof(text), diag);
}

static void put_waiting_threads(const struct gt_host *host, struct bpf_object *object)
{
	if (gt_load_run_iterator(object, "put_waiting"))
		gt_event_queue_note(host->events,
				    "sched: threads that do not run at the end are not shown: the "
				    "kernel has no iterator over tasks");
}

static const struct gt_layer sched_layer = {
	.name = "sched",
	.object = sched_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.prepare = set_interrupt_text,
	.finish = put_waiting_threads,
};

GT_DEFINE_LAYER_SOURCE(sched, "when threads do not run, why, and who wakes them",
		       "BTF of the kernel, CAP_BPF and CAP_PERFMON");
