/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identity of a thread, and whether it is traced: for every BPF program that emits events. */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "event/event.h"
#include "probe/filter.h"

#define MAX_PID_NAMESPACE 32 /* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */

#define MAX_CGROUP 64 /* levels that are examined */

const volatile struct gt_filter filter;
/* Bytes in the ring at which the reader is woken; it also polls. */
const volatile __u64 wakeup_bytes;

/* Shared by all sources: the session creates them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} processes SEC(".maps"); /* filter.by_process: that are traced; else that have a name */

/*
 * Linux 6.12 permits calls of static functions only where preemption is disabled. Objects with such
 * programs define UNPREEMPTED_PROGRAMS first.
 */
#ifdef UNPREEMPTED_PROGRAMS
#define EXAMINED_ONCE static __noinline
#else
#define EXAMINED_ONCE __noinline
#endif

/*
 * The id that a struct pid has in gputap's own pid namespace; 0 if it is not visible there. Where
 * it is not static, and its argument is no pointer, the verifier examines it once for each program,
 * not at each call.
 */
EXAMINED_ONCE __u32 id_of_pid(__u64 address)
{
	struct pid *pid = (void *)address;
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i <= MAX_PID_NAMESPACE; i++) {
		struct upid upid;

		if (i > level)
			break;
		if (bpf_probe_read_kernel(&upid, sizeof(upid),
					  (void *)pid + bpf_core_field_offset(pid->numbers) +
						  i * sizeof(upid)))
			break;
		if (BPF_CORE_READ(upid.ns, ns.inum) == filter.pid_namespace)
			return upid.nr;
	}
	return 0;
}

/* A task's id in gputap's own pid namespace; 0 if it is not visible there. */
static __always_inline __u32 id_in_our_namespace(struct task_struct *task)
{
	return id_of_pid((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline bool name_is(const char *name, const volatile struct gt_filter_name *wanted)
{
	for (__u32 i = 0; i < GT_NAME_SIZE; i++) {
		if (i >= wanted->length)
			return wanted->is_prefix || !name[i];
		if (name[i] != wanted->text[i])
			return false;
	}
	return true;
}

static __noinline bool name_passes(struct task_struct *leader)
{
	char name[GT_NAME_SIZE] = {};

	bpf_core_read(name, sizeof(name), &leader->comm);
	for (__u32 i = 0; i < GT_FILTER_MAX && i < filter.name_count; i++)
		if (name_is(name, &filter.names[i]))
			return true;
	return false;
}

static __always_inline bool executable_passes(struct task_struct *task)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	return BPF_CORE_READ(inode, i_ino) == filter.executable_inode &&
	       BPF_CORE_READ(inode, i_sb, s_dev) == filter.executable_device;
}

/*
 * Whether a wanted cgroup is that of the current task, or an ancestor of it. All levels are
 * tried: from a cgroup namespace, or in a bind mount, the path does not show the level.
 */
static __noinline bool cgroup_passes(void)
{
	for (int level = 0; level < MAX_CGROUP; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);

		if (!id || gt_filter_has_cgroup(&filter, id))
			return id;
	}
	return false;
}

/* Whether the current task is traced; `process` is its process id in our namespace. */
__attribute__((unused)) static __noinline bool current_passes(struct task_struct *task,
							      __u32 process)
{
	if (filter.by_process && !bpf_map_lookup_elem(&processes, &process))
		return false;
	if (filter.uid_count && !gt_filter_has_uid(&filter, (__u32)bpf_get_current_uid_gid()))
		return false;
	if (filter.cgroup_count && !cgroup_passes())
		return false;
	if (filter.name_count && !name_passes(BPF_CORE_READ(task, group_leader)))
		return false;
	if (filter.executable_inode && !executable_passes(task))
		return false;
	return true;
}

/*
 * Add or replace an entry that is learnt again where it is missing: without room for it, that costs
 * time, and nothing is lost.
 */
__attribute__((unused)) static __always_inline void cache_entry(void *map, const void *key,
								const void *value)
{
	(void)bpf_map_update_elem(map, key, value, BPF_ANY);
}

/*
 * Copy a record of `size` bytes to the ring; 0, or negative if it is full. The reader is woken when
 * the ring fills past wakeup_bytes; it also polls.
 */
static __always_inline long put_record(void *record, __u64 size)
{
	__u64 waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	__u64 wake = waiting >= wakeup_bytes && waiting < wakeup_bytes + 4096;

	return bpf_ringbuf_output(&events, record, size,
				  wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* The same, for records that the reader must see at once. */
static __always_inline long put_urgent_record(void *record, __u64 size)
{
	return bpf_ringbuf_output(&events, record, size, BPF_RB_FORCE_WAKEUP);
}

/* Emit the `process` event of a task. 0, or negative if the ring is full. */
static __noinline long put_named_process(struct task_struct *task, __u32 process, __u32 thread,
					 const char *name)
{
	__u64 room[(sizeof(struct gt_event_process) + GT_NAME_SIZE) / sizeof(__u64)] = {};
	struct gt_event_process *event = (void *)room;

	event->head.time = bpf_ktime_get_ns();
	event->head.process = process;
	event->head.thread = thread;
	event->head.kind = GT_EVENT_process;
	event->head.size = sizeof(room);
	event->head.device = GT_DEVICE_UNKNOWN;
	event->parent = id_in_our_namespace(BPF_CORE_READ(task, group_leader, real_parent));
	event->uid = bpf_get_current_uid_gid();
	bpf_probe_read_kernel_str(event->name, GT_NAME_SIZE, name);
	return put_record(room, sizeof(room));
}

/*
 * Put the event of a process with its present name. Without a list of processes, it is in the map
 * from then on: for its later names.
 */
static __always_inline long put_process(struct task_struct *task, __u32 process, __u32 thread)
{
	long error =
		put_named_process(task, process, thread, BPF_CORE_READ(task, group_leader)->comm);
	__u8 named = 1;

	if (!error && !filter.by_process)
		cache_entry(&processes, &process, &named);
	return error;
}
