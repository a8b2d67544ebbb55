/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Since Linux 6.13, x86 has "private stacks" of BPF programs: one per CPU and program, which is
 * safe where a program cannot be entered again before it ends. Programs of uprobes have the type
 * that gets them, and can be preempted: two threads on one CPU then overwrite each other's
 * variables. The verifier gives none to programs with tail calls.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");

/* Keep the program's variables on the stack of its thread. `never` is false, and unknown to
 * compilers. */
#define USE_OWN_STACK(context, never)                                                              \
	do {                                                                                       \
		if (never)                                                                         \
			bpf_tail_call(context, &no_programs, 0);                                   \
	} while (0)
