/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uprobes that run programs in the processes of a command only. The kernel's own filter by process
 * does not follow fork. A traced task is one that has an entry in `traced`; its children inherit
 * it.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* User space adds the command. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u8);
} traced SEC(".maps");

/* The programs, by the cookies of their uprobes. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} programs SEC(".maps");

/* Threads and processes that could not be added (out of memory). */
__u64 untraced;

SEC("tp_btf/sched_process_fork")
int inherit(__u64 *arguments)
{
	struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];

	if (bpf_task_storage_get(&traced, parent, 0, 0) &&
	    !bpf_task_storage_get(&traced, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&untraced, 1);
	return 0;
}

SEC("uprobe")
int dispatch(void *context)
{
	if (bpf_task_storage_get(&traced, bpf_get_current_task_btf(), 0, 0))
		bpf_tail_call(context, &programs, (__u32)bpf_get_attach_cookie(context));
	return 0;
}
