/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions that programs call in place of those of the API tables. Each loads the number of
 * its slot (slots.h) and jumps to code that all share: where the call is not traced, it jumps on to
 * the library's own function; else it calls gt_call_begin, the function and gt_call_end.
 *
 * System V ABI, AMD64: arguments are in %rdi, %rsi, %rdx, %rcx, %r8, %r9, %xmm0 to %xmm7 and on the
 * stack, from where as many words are copied as the row of the function says; no function has a
 * variable number. Results are in %rax and %rdx. The frame is a usual one, by %rbp and in
 * .eh_frame, so that debuggers, exceptions and pthread_exit pass through it.
 */
#define SLOT_SHIFT 4     /* sizeof(struct gt_call_slot) */
#define SLOT_STATE 12    /* offsetof(struct gt_call_slot, state) */
#define SLOT_PASSES 1    /* GT_SLOT_PASSES */

	.text
	.p2align 4
	.type enter_call, @function
enter_call:
	.cfi_startproc
	shl $SLOT_SHIFT, %r11
	lea gt_call_slots(%rip), %r10
	add %r11, %r10
	cmpl $SLOT_PASSES, SLOT_STATE(%r10)
	jne 1f
	jmp *(%r10)
1:
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %r9
	push %r8
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	sub $144, %rsp
	movaps %xmm0, (%rsp)
	movaps %xmm1, 16(%rsp)
	movaps %xmm2, 32(%rsp)
	movaps %xmm3, 48(%rsp)
	movaps %xmm4, 64(%rsp)
	movaps %xmm5, 80(%rsp)
	movaps %xmm6, 96(%rsp)
	movaps %xmm7, 112(%rsp)
	mov %r10, 128(%rsp)
	lea -48(%rbp), %rdi
	mov %r10, %rsi
	call gt_call_begin
	/* %rax: whether the call is traced; %rdx: words on the stack */
	mov %rdx, %r11
	mov 128(%rsp), %r10
	movaps (%rsp), %xmm0
	movaps 16(%rsp), %xmm1
	movaps 32(%rsp), %xmm2
	movaps 48(%rsp), %xmm3
	movaps 64(%rsp), %xmm4
	movaps 80(%rsp), %xmm5
	movaps 96(%rsp), %xmm6
	movaps 112(%rsp), %xmm7
	mov -48(%rbp), %rdi
	mov -40(%rbp), %rsi
	mov -32(%rbp), %rdx
	mov -24(%rbp), %rcx
	mov -16(%rbp), %r8
	mov -8(%rbp), %r9
	test %rax, %rax
	jz 4f
	test %r11, %r11
	jz 3f
	lea 1(%r11), %rax
	and $-2, %rax
	shl $3, %rax
	sub %rax, %rsp
2:
	mov 8(%rbp,%r11,8), %rax
	mov %rax, -8(%rsp,%r11,8)
	dec %r11
	jnz 2b
3:
	call *(%r10)
	.globl gt_call_returned
	.hidden gt_call_returned
gt_call_returned:
	lea -192(%rbp), %rsp
	mov %rax, (%rsp)
	mov %rdx, 8(%rsp)
	lea 8(%rbp), %rdi
	mov %rax, %rsi
	call gt_call_end
	mov (%rsp), %rax
	mov 8(%rsp), %rdx
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
4:
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp *(%r10)
	.cfi_endproc
	.size enter_call, . - enter_call

/* 16 bytes each, in the order of the slots; they change no register but %r11. */
	.set slot, 0
	.p2align 4
	.globl gt_call_stubs
	.hidden gt_call_stubs
gt_call_stubs:
	.macro stub
	.cfi_startproc
	endbr64
	mov $slot, %r11d
	jmp enter_call
	.cfi_endproc
	.p2align 4
	.set slot, slot + 1
	.endm
#define SYMBOL(row, symbol) .globl symbol; .type symbol, @function; symbol: stub; .size symbol, 16;
#include "agent/calls/symbols.def"

	/* For functions of the driver that programs get by cuGetProcAddress, among others. */
	.rept 2048 /* GT_SPARE_SLOTS */
	stub
	.endr

	.section .note.GNU-stack, "", @progbits
