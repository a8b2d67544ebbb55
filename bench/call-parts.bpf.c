/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of the programs on calls (src/probe/api). Each on its own: part_… is started by user
 * space, runs one step `rounds` times and returns how long that took. Together: trap_entry and
 * trap_return take those that user space selects, at the entry and the return of a function.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

#include "call-parts.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct part_request request;
__u64 elapsed; /* ns */
volatile __u64 sink;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct part_state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct part_plan);
} plans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct part_plan);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PART_RING_BYTES);
} ring SEC(".maps");

static __u64 record[PART_RECORD_BYTES / 8];

#define PART(name, body)                                                                           \
	static long step_##name(__u32 round, void *context)                                        \
	{                                                                                          \
		body;                                                                              \
		return 0;                                                                          \
	}                                                                                          \
	SEC("syscall")                                                                             \
	int part_##name(void *context)                                                             \
	{                                                                                          \
		__u64 start = bpf_ktime_get_ns();                                                  \
                                                                                                   \
		bpf_loop(request.rounds, step_##name, NULL, 0);                                    \
		elapsed = bpf_ktime_get_ns() - start;                                              \
		return 0;                                                                          \
	}

/* What a round costs without a step; user space subtracts it. */
PART(nothing, sink = round)
PART(clock, sink = bpf_ktime_get_ns())
PART(state, {
	struct part_state *state = bpf_task_storage_get(&states, bpf_get_current_task_btf(), 0,
							BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (state)
		state->words[round & 7] = round;
})
PART(plan, {
	__u32 key = round & 1023;
	struct part_plan *plan = bpf_map_lookup_elem(&plans, &key);

	if (plan)
		sink = plan->words[0];
})
PART(count, {
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
})
PART(sums, {
	__u32 key = 7;
	struct part_plan *calls = bpf_map_lookup_elem(&sums, &key);

	if (calls) {
		__sync_fetch_and_add(&calls->words[round & 7], 1);
		__sync_fetch_and_add(&calls->words[0], round);
	}
})
PART(user_word, {
	__u64 word;

	if (!bpf_probe_read_user(&word, sizeof(word), (void *)request.memory))
		sink = word;
})
PART(user_window, {
	bpf_probe_read_user(record, sizeof(record), (void *)request.memory);
	sink = record[0];
})
PART(ring_query, sink = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA))
PART(ring_output, bpf_ringbuf_output(&ring, record, PART_RECORD_BYTES, BPF_RB_NO_WAKEUP))

static long take_mapping(struct task_struct *task, struct vm_area_struct *mapping, void *context)
{
	sink = mapping->vm_start;
	return 0;
}

PART(find_mapping, {
	__u64 none = 0;

	bpf_find_vma(bpf_get_current_task_btf(), request.memory, take_mapping, &none, 0);
})

static __always_inline void take_steps(__u32 steps)
{
	if (steps & 1 << PART_TIME_STAMP)
		step_clock(0, NULL);
	if (steps & 1 << PART_THREAD_STATE)
		step_state(0, NULL);
	if (steps & 1 << PART_PLAN)
		step_plan(0, NULL);
	if (steps & 1 << PART_COUNT)
		step_count(0, NULL);
	if (steps & 1 << PART_USER_WORD)
		step_user_word(0, NULL);
	if (steps & 1 << PART_RING_QUERY)
		step_ring_query(0, NULL);
	if (steps & 1 << PART_RING_RECORD)
		step_ring_output(0, NULL);
}

SEC("uprobe")
int trap_entry(struct pt_regs *regs)
{
	take_steps(request.at_entry);
	return 0;
}

SEC("uretprobe")
int trap_return(struct pt_regs *regs)
{
	take_steps(request.at_return);
	return 0;
}
