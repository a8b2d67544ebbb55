/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registers of a thread in a probe, and the trampoline that replaces return addresses. */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(regs) ((regs)->sp)
#define FRAME_POINTER(regs) ((regs)->bp)
#define PROGRAM_COUNTER(regs) ((regs)->ip)
#define RESULT(regs) ((regs)->ax)
#define ARGUMENT_REGISTERS 6
#define STACK_ARGUMENTS 8 /* bytes from the stack pointer at entry: after the return address */

static __always_inline void copy_registers(__u64 *words, struct pt_regs *regs)
{
	words[0] = regs->di;
	words[1] = regs->si;
	words[2] = regs->dx;
	words[3] = regs->cx;
	words[4] = regs->r8;
	words[5] = regs->r9;
}

static __always_inline __u64 return_address(struct pt_regs *regs)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)regs->sp);
	return address;
}

#else
#define STACK_POINTER(regs) ((regs)->user_regs.sp)
#define FRAME_POINTER(regs) ((regs)->user_regs.regs[29])
#define PROGRAM_COUNTER(regs) ((regs)->user_regs.pc)
#define RESULT(regs) ((regs)->user_regs.regs[0])
#define ARGUMENT_REGISTERS 8
#define STACK_ARGUMENTS 0

static __always_inline void copy_registers(__u64 *words, struct pt_regs *regs)
{
	for (int i = 0; i < ARGUMENT_REGISTERS; i++)
		words[i] = regs->user_regs.regs[i];
}

static __always_inline __u64 return_address(struct pt_regs *regs)
{
	return regs->user_regs.regs[30];
}

#endif

/* The address by which the kernel replaces return addresses; 0: no return was probed yet. */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * Whether this entry continues the innermost call: a function that ends by jumping to another one.
 * Both have the same stack pointer, but so has a new call after an abandoned one. Only a call that
 * is still active has its return address replaced by the kernel's trampoline.
 */
static __always_inline bool is_jump(struct task_struct *task, struct pt_regs *regs)
{
	__u64 trampoline = trampoline_of(task);

	return trampoline && return_address(regs) == trampoline;
}
