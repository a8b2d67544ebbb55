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

/*
 * Of a thread and of the interrupts in it. An interrupt in the program of a trace event leaves all
 * its hits, since the kernel omits their records: three for each job that it completes, and a late
 * one completes many.
 */
#define MAX_NESTED_HITS 64

#define ENTRY_EXISTS 17 /* EEXIST */

struct layer_thread {
	__u32 process;
	__u32 thread;
	__u64 executed; /* the task's self_exec_id when the verdict was made */
	__u8 known;     /* the fields are filled in */
	__u8 traced;
	__u8 named; /* the process event was written */
	/* Where hits have no names: the program that handled the last one, unless both came. */
	__u8 came;
	/* Hits of tracepoints to which the first of two programs has come; 0: unused. */
	__u64 hits[MAX_NESTED_HITS];
	__u32 latest_hit; /* its index */
	__u32 reserved;
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
#define ADD_EVENTS(what, number)                                                                   \
	do {                                                                                       \
		__u32 zero_key = 0;                                                                \
		struct gt_layer_counts *counts_here =                                              \
			bpf_map_lookup_elem(&layer_counts, &zero_key);                             \
		if (counts_here)                                                                   \
			__sync_fetch_and_add(&counts_here->what, number);                          \
	} while (0)
#define COUNT_EVENTS(what) ADD_EVENTS(what, 1)

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

/* For tests, which cannot make the kernel run out of memory: no storage of a thread is created. */
const volatile __u8 lacks_storage;

/*
 * The storage of a thread in a map of the type TASK_STORAGE, created if it has none. NULL: there is
 * no memory for it, or the program interrupted another one that creates one on this CPU. The caller
 * counts what is lost by that.
 */
static __always_inline void *create_storage(void *map, struct task_struct *task)
{
	void *found;

	if (lacks_storage)
		return NULL;
	found = bpf_task_storage_get(map, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	/* An interrupt may have created it meanwhile. */
	return found ? found : bpf_task_storage_get(map, task, NULL, 0);
}

/* The same, of the current thread, for what an event cannot do without: NULL: one more is lost. */
__attribute__((unused)) static __always_inline void *create_own_storage(void *map)
{
	void *found = create_storage(map, bpf_get_current_task_btf());

	if (!found)
		COUNT_EVENTS(lost);
	return found;
}

/* Without storage, no event of a thread can be recorded: it is lost, if the thread is traced. */
static __noinline void count_unknown_thread(struct task_struct *task)
{
	if (current_passes(task, id_in_our_namespace(BPF_CORE_READ(task, group_leader))))
		COUNT_EVENTS(lost);
}

/*
 * Return the current thread if it is traced, else NULL. The verdict is kept with the thread until
 * it executes another program. In an interrupt the current thread is any.
 */
__attribute__((unused)) static __always_inline struct layer_thread *traced_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct layer_thread *thread = create_storage(&layer_threads, task);
	__u64 executed;

	if (!thread) {
		count_unknown_thread(task);
		return NULL;
	}
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

/* Add or replace an entry of a map. What there is no room for is counted; 0 or -Exxx. */
__attribute__((unused)) static __always_inline long put_map_entry(void *map, const void *key,
								  const void *value)
{
	long error = bpf_map_update_elem(map, key, value, BPF_ANY);

	if (error)
		COUNT_EVENTS(evicted);
	return error;
}

/* Add an entry, unless there is one. The same is counted. */
__attribute__((unused)) static __always_inline void add_map_entry(void *map, const void *key,
								  const void *value)
{
	long error = bpf_map_update_elem(map, key, value, BPF_NOEXIST);

	if (error && error != -ENTRY_EXISTS)
		COUNT_EVENTS(evicted);
}

/* Add or replace an entry of a map of the type LRU_HASH that is in the source's `lru_maps`. */
__attribute__((unused)) static __always_inline void add_lru_entry(void *map, const void *key,
								  const void *value)
{
	if (!bpf_map_update_elem(map, key, value, BPF_NOEXIST))
		COUNT_EVENTS(lru_added);
	else
		put_map_entry(map, key, value);
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

#ifdef UNPREEMPTED_PROGRAMS

/* Of Linux 6.10 and later. */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;

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

#endif

/*
 * In newer kernels (not yet in 6.18; in 7.2), a thread can be preempted while the kernel runs the
 * program of a raw tracepoint or between its recursion check and the program (__bpf_trace_run()):
 * the kernel then omits the program for other threads that come to it on this CPU. For a program of
 * a trace event the kernel disables preemption before its check (include/trace/perf.h), which is
 * one for all programs of this class on a CPU: there an interrupt in one of them goes unseen.
 *
 * So a tracepoint that is hit in both has two programs (gt_hook.recovers): that of the raw
 * tracepoint, with its arguments, and that of the trace event, which has the record only. The one
 * that is called first handles the hit, the other one does nothing, and a hit is lost if the kernel
 * omits both.
 */
const volatile __u8 has_preemptible_tracepoints;

/* The name of a hit: of an operation on a fence, or on two. It is not 0. */
__attribute__((unused)) static __always_inline __u64 name_hit(__u32 operation, __u64 context,
							      __u64 seqno)
{
	__u64 name = (context * 0x9e3779b97f4a7c15 ^ seqno) * 0xff51afd7ed558ccd + operation;

	return name ? name : 1;
}

/* Whether the other program has come to this hit; then it is forgotten. */
static __always_inline bool take_hit(struct layer_thread *thread, __u64 hit)
{
	for (int i = 0; i < MAX_NESTED_HITS; i++)
		if (thread->hits[i] == hit) {
			thread->hits[i] = 0;
			return true;
		}
	return false;
}

/*
 * In place of the oldest one: of that the second program was omitted. Unused places before it stay
 * unused, for a hit in one of those would be the next to be replaced while it is still needed.
 */
static __always_inline void put_hit(struct layer_thread *thread, __u64 hit)
{
	__u32 place = (thread->latest_hit + 1) % MAX_NESTED_HITS;

	thread->latest_hit = place;
	thread->hits[place] = hit;
}

/*
 * Whether a program is to handle a hit: it is the first of both that is called. `has_record`, a
 * constant: it is the program of the trace event.
 */
__attribute__((unused)) static __always_inline bool is_first_at(__u64 hit, bool has_record)
{
	struct layer_thread *thread;

	if (!has_preemptible_tracepoints)
		return true;
	thread = create_storage(&layer_threads, bpf_get_current_task_btf());
	if (!thread) {
		/* As if the kernel had omitted the program: the other one may come to the hit. */
		if (!has_record)
			ADD_EVENTS(recovered, -1ull);
		return false;
	}
	if (take_hit(thread, hit)) {
		if (!has_record)
			ADD_EVENTS(recovered, -1ull);
		return false;
	}
	put_hit(thread, hit);
	if (has_record)
		COUNT_EVENTS(recovered);
	return true;
}

/*
 * The same for hits that have no names: a thread comes to the points of a source, which it numbers,
 * by turns, as to entries and returns of system calls. So what came last is what this hit is
 * compared with, and a thread that comes to another point has left the hit before.
 *
 * If the kernel omits all programs of a point, the next hit of the point before it may be taken for
 * the one before. What is handled and skipped adds up in `recovered` nevertheless.
 */
__attribute__((unused)) static __always_inline bool is_first_of_pair(__u8 point, bool has_record)
{
	const __u8 own = point << 1 | has_record, other = own ^ 1;
	struct layer_thread *thread;
	bool first;

	if (!has_preemptible_tracepoints)
		return true;
	thread = create_storage(&layer_threads, bpf_get_current_task_btf());
	first = thread && thread->came != other;
	if (thread)
		thread->came = first ? own : 0;
	if (first == has_record)
		ADD_EVENTS(recovered, has_record ? 1 : -1ull);
	return first;
}

/* A program of a raw tracepoint that is not preempted (UNPREEMPTED_PROGRAMS); its body follows. */
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
