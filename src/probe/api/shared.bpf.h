/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data shared by the programs on calls and user space (calls.h): settings, plans, phase, counts.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

#include "probe/api/calls.h"

const volatile struct gt_call_settings settings;

/*
 * One after the other, in one line of the cache: what is touched first after a trap pays for its
 * page.
 */
volatile __u32 phase;          /* enum gt_call_phase */
volatile __u32 runtime_called; /* whether a call of the runtime API was seen */
volatile __u64 word_key;       /* encrypts the words of calls; only for count_session */
/*
 * Changes whenever a thread that has made calls ends or executes another file: until then, its
 * stack in the kernel is its own, and so is the address of its registers there (task_pt_regs()),
 * the context of programs.
 */
volatile __u64 generation;

/* One row per function; user space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_plan);
} plans SEC(".maps");

/* Cookies of functions that share a probe (GT_COOKIE_GROUP). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 20);
	__type(key, __u32);
	__type(value, __u64);
} sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_call_counts);
} counts SEC(".maps");

/*
 * Of the functions that are counted, by gt_plan.sums. Only with settings.sums; user space then sets
 * the size, and makes it an array, which is faster, unless that takes too much memory.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_call_sums);
} sums SEC(".maps");

#define COUNT(what)                                                                                \
	do {                                                                                       \
		__u32 zero_key = 0;                                                                \
		struct gt_call_counts *counts_here = bpf_map_lookup_elem(&counts, &zero_key);      \
		if (counts_here)                                                                   \
			__sync_fetch_and_add(&counts_here->what, 1);                               \
	} while (0)
