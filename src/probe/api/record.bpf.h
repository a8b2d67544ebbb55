/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The record of a call: the copies that its plan defines, and the output to the ring. */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "probe/api/registers.bpf.h"
#include "probe/api/thread.bpf.h"
#include "probe/task.bpf.h"

static __always_inline __u64 *words_of(struct call_frame *frame)
{
	return frame->record + HEAD_WORDS;
}

#define SMALL_COPY 8 /* words */

/*
 * Read memory of the program to words[at]; the rest of the last word is 0. Small copies take a
 * detour: where the kernel checks what is written to (CONFIG_HARDENED_USERCOPY), it finds a
 * variable on the stack in less time than a frame in the memory of an allocator.
 */
static __always_inline bool read_words(__u64 *words, __u64 at, __u64 size, __u64 address)
{
	__u64 small[SMALL_COPY] = {};

	if (size > sizeof(small)) {
		words[at + size / sizeof(__u64)] = 0;
		return !bpf_probe_read_user(&words[at], size, (void *)address);
	}
	if (bpf_probe_read_user(small, size, (void *)address))
		return false;
	/* What is after the last word is overwritten, or not used. */
	for (__u32 i = 0; i < SMALL_COPY; i++)
		words[at + i] = small[i];
	return true;
}

static __always_inline void copy_arguments(struct call_frame *frame, const struct gt_plan *plan,
					   struct pt_regs *regs, __u64 stack)
{
	__u64 registers = plan->registers, on_stack = plan->stack;
	__u64 *words = words_of(frame);

	copy_registers(words, regs);
	if (registers > ARGUMENT_REGISTERS)
		registers = ARGUMENT_REGISTERS;
	on_stack &= GT_PLAN_MAX_SLOTS - 1;
	barrier_var(on_stack);
	if (on_stack &&
	    !read_words(words, registers, on_stack * sizeof(__u64), stack + STACK_ARGUMENTS))
		on_stack = 0;
	frame->call.slots = registers + on_stack;
	frame->words = registers + on_stack;
}

/* Append a copy of the memory to which slot `copy->slot` points. */
static __always_inline bool copy_memory(struct call_frame *frame, const struct gt_plan_copy *copy)
{
	__u64 *words = words_of(frame);
	__u64 pointer = words[copy->slot & (GT_PLAN_MAX_SLOTS - 1)];
	__u64 at = frame->words, size = copy->bytes;

	if (copy->count) { /* an array of fewer elements than there is room for */
		__u64 count = words[(copy->count - 1) & (GT_PLAN_MAX_SLOTS - 1)] & 0xffffffff;

		if (count * copy->element < size)
			size = count * copy->element;
	}
	barrier_var(at);
	barrier_var(size);
	if (!pointer || at >= MAX_WORDS || size > GT_PLAN_MAX_COPIED * sizeof(__u64))
		return false;
	if (!read_words(words, at, size, pointer))
		return false;
	if (copy->count) {
		/* The record has room for all of the array. */
		for (__u32 i = 0; i < GT_PLAN_MAX_ARRAY; i++) {
			__u64 word = at + (size + sizeof(__u64) - 1) / sizeof(__u64) + i;

			barrier_var(word); /* the limit is that of the index, not of i */
			if (word >= at + copy->bytes / sizeof(__u64) || word >= ROOM_WORDS)
				break;
			words[word] = 0;
		}
		size = copy->bytes;
	}
	frame->words = at + (size + sizeof(__u64) - 1) / sizeof(__u64);
	return true;
}

static __always_inline void copy_all(struct call_frame *frame, const struct gt_plan *plan,
				     __u8 when)
{
	for (int i = 0; i < GT_PLAN_MAX_COPIES; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when == when && copy_memory(frame, &plan->copy[i]))
			frame->call.copied |= 1 << i;
	}
}

static __always_inline long put_call(struct call_frame *frame)
{
	__u64 words = frame->words;

	if (words > MAX_WORDS)
		return -1;
	frame->call.head.size = (HEAD_WORDS + words) * sizeof(__u64);
	if (frame->urgent)
		return put_urgent_record(frame->record, (HEAD_WORDS + words) * sizeof(__u64));
	return put_record(frame->record, (HEAD_WORDS + words) * sizeof(__u64));
}
