/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/own_call.h"

/* With a frame, so that stacks can be followed. */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl gt_agent_own_call\n"
	".hidden gt_agent_own_call\n"
	".type gt_agent_own_call, @function\n"
	"gt_agent_own_call:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	call *%r9\n"
	"	.byte 0x0f, 0x1f, 0x8f, 0x47, 0x41, 0x74, 0x67\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size gt_agent_own_call, . - gt_agent_own_call\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl gt_agent_own_call\n"
	".hidden gt_agent_own_call\n"
	".type gt_agent_own_call, @function\n"
	"gt_agent_own_call:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	blr x5\n"
	"	mov w16, #0x4147\n"
	"	mov w16, #0x6747\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size gt_agent_own_call, . - gt_agent_own_call\n");
#else
#error "calls of the agent need a marker on this machine"
#endif
