/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "syscall". */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/text.h"
#include "kernel/syscalls.h"
#include "probe/layer.h"
#include "probe/load.h"

/* Last: it uses the types above. */
#include "syscall.skel.h"

static const struct gt_hook hooks[] = {
	{.program = "exit_syscall",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sys_exit",
	 .lacks = "returns of calls"},
	{.program = "exit_formatted",
	 .kind = GT_HOOK_TRACE_EVENT,
	 .point = "raw_syscalls/sys_exit",
	 .recovers = "exit_syscall"},
	{.program = "end_thread",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sched_process_exit",
	 .lacks = "calls in which a thread ended"},
	{.program = "end_formatted",
	 .kind = GT_HOOK_TRACE_EVENT,
	 .point = "sched/sched_process_exit",
	 .recovers = "end_thread"},
	{.program = "enter_syscall",
	 .kind = GT_HOOK_BTF_TRACEPOINT,
	 .point = "sys_enter",
	 .lacks = "calls"},
	{.program = "enter_formatted",
	 .kind = GT_HOOK_TRACE_EVENT,
	 .point = "raw_syscalls/sys_enter",
	 .recovers = "enter_syscall"},
};

static int set_constants(const struct gt_host *host, struct bpf_object *object,
			 struct gt_diag *diag)
{
	const __u32 own = (__u32)getpid();
	int error = gt_load_set_constant(object, "own_process", &own, sizeof(own), diag);

	return error ? error
		     : gt_load_set_constant(object, "has_entries", &host->options->entries,
					    sizeof(host->options->entries), diag);
}

/* Whether --syscall selects a call. */
static bool is_selected(const struct gt_host *host, __u32 number)
{
	const char *name = gt_syscall_name(gt_syscall_machine(), number);
	const struct gt_strings *globs = &host->options->syscalls;

	if (!globs->words.count)
		return true;
	return name && gt_globs_select(globs->words.items, globs->words.count, name, true);
}

static int write_plans(const struct gt_host *host, struct bpf_object *object, struct gt_diag *diag)
{
	int map = bpf_object__find_map_fd_by_name(object, "syscall_plans");

	for (__u32 number = 0; number < GT_SYSCALL_NUMBERS; number++) {
		struct gt_syscall_plan plan = gt_syscall_plan(number);

		plan.selected = is_selected(host, number);
		if (bpf_map_update_elem(map, &number, &plan, BPF_ANY))
			return gt_diag(diag, -errno, "syscall", NULL,
				       "the plans of system calls cannot be written: %s",
				       strerror(errno));
	}
	return 0;
}

/* Run the iterator over all tasks: it writes the calls that have not returned to the ring. */
static void put_waiting_calls(const struct gt_host *host, struct bpf_object *object)
{
	if (gt_load_run_iterator(object, "put_waiting"))
		gt_event_queue_note(host->events,
				    "syscall: calls that have not returned are not shown: the "
				    "kernel has no iterator over tasks");
}

static const struct gt_layer syscall_layer = {
	.name = "syscall",
	.object = syscall_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.prepare = set_constants,
	.start = write_plans,
	.finish = put_waiting_calls,
};

GT_DEFINE_LAYER_SOURCE(syscall, "system calls: arguments, results, durations",
		       "BTF of the kernel (5.11 or newer), CAP_BPF and CAP_PERFMON");
