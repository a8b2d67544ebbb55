/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For the BPF programs of layer sources: whether the current thread is traced, and the writing of
 * events. A program looks like this:
 *
 *	SEC("raw_tp/dma_fence_wait_start")
 *	int wait_start(struct bpf_raw_tracepoint_args *ctx)
 *	{
 *		struct layer_thread *thread = traced_thread();
 *		struct gt_event_fence event = {};
 *
 *		if (!thread)
 *			return 0;
 *		fill_head(&event.head, thread, GT_EVENT_fence, sizeof(event));
 *		…
 *		put_event(&event, sizeof(event));
 *		return 0;
 *	}
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "event/event.h"
#include "probe/layer_counts.h"
#include "probe/task.bpf.h"

struct layer_thread {
	__u32 process;
	__u32 thread;
	__u64 executed; /* the task's self_exec_id when the verdict was made */
	__u8 known;     /* the fields are filled in */
	__u8 traced;
	__u8 named; /* the process event was written */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct layer_thread);
} layer_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_layer_counts);
} layer_counts SEC(".maps");

/* Programs can be preempted by others on the same CPU: counters are atomic. */
#define COUNT_EVENTS(what)                                                                         \
	do {                                                                                       \
		__u32 zero_key = 0;                                                                \
		struct gt_layer_counts *counts_here =                                              \
			bpf_map_lookup_elem(&layer_counts, &zero_key);                             \
		if (counts_here)                                                                   \
			__sync_fetch_and_add(&counts_here->what, 1);                               \
	} while (0)

/* By the order in the source's struct gt_layer.sampled: 0 (none) to GT_SAMPLE_ALL. */
const volatile __u64 sample_rates[GT_MAX_SAMPLED];

/* Whether an event of a kind is to be recorded; if not, it is counted. */
__attribute__((unused)) static __always_inline bool is_sampled(__u32 kind)
{
	if (bpf_get_prandom_u32() < sample_rates[kind])
		return true;
	COUNT_EVENTS(unsampled);
	return false;
}

/* Emit the name of the thread's process, once; again if the ring was full. */
static __noinline void name_layer_process(struct layer_thread *thread, struct task_struct *task)
{
	if (put_process(task, thread->process, thread->thread))
		COUNT_EVENTS(names_lost);
	else
		thread->named = 1;
}

/*
 * Return the current thread if it is traced, else NULL. The verdict is kept with the thread until
 * it executes another program. In an interrupt the current thread is any.
 */
__attribute__((unused)) static __always_inline struct layer_thread *traced_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct layer_thread *thread =
		bpf_task_storage_get(&layer_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 executed;

	if (!thread)
		return NULL;
	executed = task->self_exec_id;
	if (!thread->known || thread->executed != executed) {
		thread->thread = id_in_our_namespace(task);
		thread->process = id_in_our_namespace(BPF_CORE_READ(task, group_leader));
		thread->traced = current_passes(task, thread->process);
		thread->executed = executed;
		thread->named = 0;
		thread->known = 1;
	}
	if (!thread->traced)
		return NULL;
	if (!thread->named)
		name_layer_process(thread, task);
	return thread;
}

/* Add or replace an entry of a map of the type LRU_HASH that is in the source's `lru_maps`. */
__attribute__((unused)) static __always_inline void add_lru_entry(void *map, const void *key,
								  const void *value)
{
	if (!bpf_map_update_elem(map, key, value, BPF_NOEXIST))
		COUNT_EVENTS(lru_added);
	else
		bpf_map_update_elem(map, key, value, BPF_ANY);
}

__attribute__((unused)) static __always_inline void remove_lru_entry(void *map, const void *key)
{
	if (!bpf_map_delete_elem(map, key))
		COUNT_EVENTS(lru_removed);
}

/* Whether some processes are selected: then events of unknown processes are not shown. */
__attribute__((unused)) static __always_inline bool filters_processes(void)
{
	return filter.by_process || filter.uid_count || filter.cgroup_count || filter.name_count ||
	       filter.executable_inode;
}

/* Fill in the head of an event of a thread (NULL: of none), at the present time. */
__attribute__((unused)) static __always_inline void
fill_head(struct gt_event *head, const struct layer_thread *thread, __u16 kind, __u16 size)
{
	head->time = bpf_ktime_get_ns();
	head->process = thread ? thread->process : 0;
	head->thread = thread ? thread->thread : 0;
	head->kind = kind;
	head->size = size;
	head->clock = GT_CLOCK_MONOTONIC;
	head->device = GT_DEVICE_UNKNOWN;
}

/* Write an event of `size` bytes, and count it: recorded or lost. */
__attribute__((unused)) static __always_inline void put_event(void *event, __u64 size)
{
	if (put_record(event, size))
		COUNT_EVENTS(lost);
	else
		COUNT_EVENTS(recorded);
}

/* Of Linux 6.10 and later. */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;

/*
 * In Linux 7.2, and not yet in 6.12, a thread can be preempted in the program of a tracepoint by
 * another one that comes to the same tracepoint: the kernel then omits the program for that one,
 * and the event is lost.
 */
__attribute__((unused)) static __always_inline void disable_preemption(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_disable();
}

__attribute__((unused)) static __always_inline void enable_preemption(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_enable();
}

/* A program of a raw tracepoint that is not preempted; its body follows. */
#define UNPREEMPTED_TRACEPOINT(point, name)                                                        \
	static __always_inline int name##_body(struct bpf_raw_tracepoint_args *ctx);               \
	SEC("raw_tp/" #point)                                                                      \
	int name(struct bpf_raw_tracepoint_args *ctx)                                              \
	{                                                                                          \
		int result;                                                                        \
                                                                                                   \
		disable_preemption();                                                              \
		result = name##_body(ctx);                                                         \
		enable_preemption();                                                               \
		return result;                                                                     \
	}                                                                                          \
	static __always_inline int name##_body(struct bpf_raw_tracepoint_args *ctx)
