/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of functions of NVIDIA's driver, from entry to return: what the sources "nvidia" and
 * "nvlink" share. A thread is in a function once at a time. Define before including it:
 * CALL_STATE, the type of what is remembered, and MAX_CALLS, of how many calls at a time.
 */
#pragma once

#include "probe/layer.bpf.h"

struct nvidia_call_key {
	__u64 thread;
	__u64 function;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CALLS);
	__type(key, struct nvidia_call_key);
	__type(value, CALL_STATE);
} calls SEC(".maps");

/* Remember the call of a function that the current thread begins. */
static __always_inline void begin_call(__u32 function, const CALL_STATE *call)
{
	struct nvidia_call_key key = {bpf_get_current_pid_tgid(), function};

	/* The return of a call before this one was missed: too many at a time. */
	if (bpf_map_lookup_elem(&calls, &key))
		COUNT_EVENTS(evicted);
	put_map_entry(&calls, &key, call);
}

/* The call from which the current thread returns; NULL: its beginning was not seen. */
static __always_inline CALL_STATE *find_call(__u32 function)
{
	struct nvidia_call_key key = {bpf_get_current_pid_tgid(), function};

	return bpf_map_lookup_elem(&calls, &key);
}

static __always_inline void end_call(__u32 function)
{
	struct nvidia_call_key key = {bpf_get_current_pid_tgid(), function};

	bpf_map_delete_elem(&calls, &key);
}

/* The programs of a function: enter_NAME and leave_NAME call enter() and leave(). */
#define CALL_PROGRAMS(name, function)                                                              \
	SEC("kprobe") int enter_##name(struct pt_regs *registers)                                  \
	{                                                                                          \
		return enter(registers, function);                                                 \
	}                                                                                          \
	SEC("kretprobe") int leave_##name(struct pt_regs *registers)                               \
	{                                                                                          \
		return leave(registers, function);                                                 \
	}
