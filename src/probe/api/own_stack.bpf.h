/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Since Linux 6.13, x86 has "private stacks" of BPF programs: one per CPU and program, for
 * functions whose variables take 64 bytes or more (BPF_PRIV_STACK_MIN_SIZE). They rely on the
 * recursion check of tracing programs: a program that runs on a CPU
 * is not entered again there (bpf_enable_priv_stack() in kernel/bpf/verifier.c). Programs of
 * uprobes have the type that gets them, BPF_PROG_TYPE_KPROBE, but bpf_prog_run_array_uprobe() makes
 * no such check, and only disables migration: two threads on one CPU then overwrite each other's
 * variables. A program with a tail call in any of its functions gets none
 * (check_max_stack_depth_subprog()).
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
