/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lower bounds of tracers of calls: a pair of probes that do nothing, and one that takes what a
 * duration needs: two time stamps, the first of which waits in the state of the thread.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe")
int empty_entry(struct pt_regs *regs)
{
	return 0;
}

SEC("uretprobe")
int empty_return(struct pt_regs *regs)
{
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} began SEC(".maps");

volatile __u64 duration;

SEC("uprobe")
int timed_entry(struct pt_regs *regs)
{
	__u64 *start = bpf_task_storage_get(&began, bpf_get_current_task_btf(), 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (start)
		*start = bpf_ktime_get_ns();
	return 0;
}

SEC("uretprobe")
int timed_return(struct pt_regs *regs)
{
	__u64 *start = bpf_task_storage_get(&began, bpf_get_current_task_btf(), 0, 0);

	if (start)
		duration = bpf_ktime_get_ns() - *start;
	return 0;
}
