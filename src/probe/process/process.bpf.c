/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of the traced processes: children are traced from their first instruction; exec and
 * prctl(2) change names; exits are recorded. Without a list of processes, the map has those whose
 * names were recorded, with their first events: only prctl(2) is of interest then.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "probe/process/process.h"
#include "probe/task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_process_counts);
} counts SEC(".maps");

static __always_inline struct gt_process_counts *sums(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void count_lost(void)
{
	struct gt_process_counts *all = sums();

	if (all)
		__sync_fetch_and_add(&all->lost, 1);
}

SEC("tp_btf/sched_process_fork")
int process_fork(__u64 *arguments)
{
	struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];
	__u32 parent_id, child_id;
	__u8 traced = 1;

	if (!filter.by_process || BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0;
	parent_id = id_in_our_namespace(BPF_CORE_READ(parent, group_leader));
	if (!bpf_map_lookup_elem(&processes, &parent_id))
		return 0;
	child_id = id_in_our_namespace(child);
	if (child_id && bpf_map_update_elem(&processes, &child_id, &traced, BPF_ANY)) {
		struct gt_process_counts *all = sums();

		if (all)
			__sync_fetch_and_add(&all->untraced, 1);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 process = id_in_our_namespace(BPF_CORE_READ(task, group_leader));

	/* Without a list of processes, names are recorded with the first call. */
	if (filter.by_process && bpf_map_lookup_elem(&processes, &process) &&
	    put_process(task, process, process))
		count_lost();
	return 0;
}

struct task_struct___execve {
	unsigned in_execve : 1;
} __attribute__((preserve_access_index));

/* Whether it executes a program: process_exec follows. */
static __always_inline bool is_in_execve(struct task_struct *task)
{
	struct task_struct___execve *in = (void *)task;

	return bpf_core_field_exists(in->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(in, in_execve);
}

/* A process has the name of its first thread, which does not have its new one yet. */
SEC("tp_btf/task_rename")
int process_rename(__u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];
	__u32 process;

	if (BPF_CORE_READ(task, group_leader) != task || is_in_execve(task))
		return 0;
	process = id_in_our_namespace(task);
	if (bpf_map_lookup_elem(&processes, &process) &&
	    put_named_process(task, process, process, (const char *)arguments[1]))
		count_lost();
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(__u64 *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gt_event_exit event = {};
	__u32 process;

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	process = id_in_our_namespace(BPF_CORE_READ(task, group_leader));
	if (bpf_map_delete_elem(&processes, &process) || !filter.by_process)
		return 0;
	event.head.time = bpf_ktime_get_ns();
	event.head.process = process;
	event.head.thread = id_in_our_namespace(task);
	event.head.kind = GT_EVENT_exit;
	event.head.size = sizeof(event);
	event.head.device = GT_DEVICE_UNKNOWN;
	event.status = BPF_CORE_READ(task, exit_code);
	if (put_record(&event, sizeof(event)))
		count_lost();
	return 0;
}
