/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "nvidia". */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "event/kinds.h"
#include "probe/layer.h"
#include "probe/load.h"
#include "probe/nvidia/log.h"
#include "probe/nvidia/nvidia.h"

/* Last: it uses the types above. */
#include "nvidia.skel.h"

#define MODULE "nvidia"

/* clang-format off */
#define CALL_HOOKS(name, function, what) \
	{.program = "enter_" name, .kind = GT_HOOK_ENTRY, .point = function, .module = MODULE, \
	 .lacks = what}, \
	{.program = "leave_" name, .kind = GT_HOOK_RETURN, .point = function, .module = MODULE}
#define COUNT_HOOK(name, function, what) \
	{.program = "count_" name, .kind = GT_HOOK_ENTRY, .point = function, .module = MODULE, \
	 .lacks = what}
/* clang-format on */

/*
 * The UVM module is loaded after nvidia: without .module its programs are loaded with the others,
 * so that the sums stay, and attached when it is there.
 */
static const struct gt_hook hooks[] = {
	CALL_HOOKS("open", "nvidia_open", "opens"),
	CALL_HOOKS("close", "nvidia_close", "closes"),
	CALL_HOOKS("mmap", "nvidia_mmap", "mappings"),
	CALL_HOOKS("fault", "nvidia_fault", "faults"),
	CALL_HOOKS("p2p_get_pages", "nvidia_p2p_get_pages", "peer-to-peer pages"),
	CALL_HOOKS("p2p_dma_map_pages", "nvidia_p2p_dma_map_pages", "peer-to-peer mappings"),
	CALL_HOOKS("suspend", "nvidia_suspend", "suspends"),
	CALL_HOOKS("resume", "nvidia_resume", "resumes"),
	CALL_HOOKS("ioctl", "nvidia_unlocked_ioctl", "ioctls"),
	/* Until version 535 */
	{.program = "enter_frontend_ioctl",
	 .kind = GT_HOOK_ENTRY,
	 .point = "nvidia_frontend_unlocked_ioctl",
	 .module = MODULE,
	 .fallback_of = "enter_ioctl"},
	{.program = "leave_frontend_ioctl",
	 .kind = GT_HOOK_RETURN,
	 .point = "nvidia_frontend_unlocked_ioctl",
	 .module = MODULE,
	 .fallback_of = "leave_ioctl"},
	{.program = "enter_uvm_ioctl", .kind = GT_HOOK_ENTRY, .point = "uvm_unlocked_ioctl_entry"},
	{.program = "leave_uvm_ioctl", .kind = GT_HOOK_RETURN, .point = "uvm_unlocked_ioctl_entry"},
	COUNT_HOOK("isr", "nvidia_isr", "interrupts"),
	COUNT_HOOK("isr_msix", "nvidia_isr_msix", "MSI-X interrupts"),
	COUNT_HOOK("bottom_half", "nvidia_isr_kthread_bh", "bottom halves"),
	COUNT_HOOK("bottom_half_msix", "nvidia_isr_msix_kthread_bh", NULL),
	COUNT_HOOK("vma_open", "nvidia_vma_open", "copies of mappings"),
	COUNT_HOOK("vma_release", "nvidia_vma_release", "releases of mappings"),
	COUNT_HOOK("poll", "nvidia_poll", "polls"),
	/* Without it, Xids come from the kernel's log. */
	{.program = "dev_xid",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "nvidia_dev_xid",
	 .module = MODULE},
};

static const struct gt_sampled sampled[] = {
	[NVIDIA_SAMPLED_IOCTL] = {"ioctl", 0.01},
};

static int prepare(const struct gt_host *host, struct bpf_object *object, struct gt_diag *diag)
{
	uint32_t shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));

	return gt_load_set_constant(object, "page_shift", &shift, sizeof(shift), diag);
}

static void emit_sums(const struct gt_host *host, const struct nvidia_sums_key *key,
		      const struct nvidia_sums *sums)
{
	size_t buckets = GT_DURATION_BUCKETS;
	struct gt_event_nvidia_sums *event;

	while (buckets && !sums->durations[buckets - 1])
		buckets--;
	event = (void *)gt_event_new(GT_EVENT_nvidia_sums, (const char *)sums->durations,
				     buckets * sizeof(*sums->durations));
	if (event) {
		event->head.time = gt_clock_monotonic();
		event->head.process = key->process;
		event->count = sums->count;
		event->errors = sums->errors;
		event->total = sums->total;
		event->longest = sums->longest;
		event->command = key->command;
		event->control = key->control;
		event->function = key->function;
	}
	gt_event_queue_push(host->events, event ? &event->head : NULL);
}

static void finish(const struct gt_host *host, struct bpf_object *object)
{
	int map = bpf_object__find_map_fd_by_name(object, "sums");
	struct nvidia_sums_key key, *previous = NULL;
	struct nvidia_sums sums;

	while (!bpf_map_get_next_key(map, previous, &key)) {
		previous = &key;
		if (!bpf_map_lookup_elem(map, &key, &sums))
			emit_sums(host, &key, &sums);
	}
}

static const struct gt_layer nvidia_layer = {
	.name = "nvidia",
	.object = nvidia_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.prepare = prepare,
	.finish = finish,
	.extra = &gt_nvidia_log,
	.sampled = sampled,
	.sampled_count = gt_countof(sampled),
};

GT_DEFINE_LAYER_SOURCE(nvidia, "functions and errors (Xid) of NVIDIA's driver",
		       "NVIDIA's driver, kprobes, CAP_BPF and CAP_PERFMON");
