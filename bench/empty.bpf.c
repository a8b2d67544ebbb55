/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lower bounds of tracers of calls: a pair of probes that do nothing; one that takes what a
 * duration needs: two time stamps, the first of which waits in the state of the thread; and one
 * that also writes a record of 96 bytes for each call.
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

/* Nobody reads it: it has room for all calls that the bench makes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} records SEC(".maps");

SEC("uretprobe")
int recording_return(struct pt_regs *regs)
{
	__u64 *start = bpf_task_storage_get(&began, bpf_get_current_task_btf(), 0, 0);
	__u64 *record = bpf_ringbuf_reserve(&records, 96, 0);

	if (!record)
		return 0;
	for (int i = 2; i < 12; i++)
		record[i] = (__u64)regs;
	record[0] = start ? *start : 0;
	record[1] = bpf_ktime_get_ns() - record[0];
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
