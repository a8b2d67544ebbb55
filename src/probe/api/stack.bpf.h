/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The callers of a call: a list of return addresses, found by frame pointers (walk.h) or by
 * unwinding rules (unwind.bpf.h), or a copy of the stack, which the reader unwinds.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

#include "base/walk.h"
#include "event/event.h"
#include "probe/api/registers.bpf.h"
#include "probe/api/shared.bpf.h"
#include "probe/api/thread.bpf.h"
#include "probe/api/unwind.bpf.h"
#include "probe/task.bpf.h"

/* Stacks that were recorded: by number and process. Once full, stacks are repeated. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} recorded_stacks SEC(".maps");

static __always_inline long gt_read_user(void *to, __u32 size, __u64 from)
{
	return bpf_probe_read_user(to, size, (void *)from);
}

/*
 * A traced call made its frame below its stack pointer at entry (x86-64: right there), and calls
 * inside of it are further down. Not static, so that it is verified once, not once a frame.
 */
__noinline __u64 gt_probed_return(__u64 frame)
{
	struct thread_calls *thread =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	for (__u32 i = 1; thread && i <= MAX_CALL && i <= thread->depth; i++) {
		struct call_frame *call = frame_at(thread, thread->depth - i);

		if (call->stack_pointer > frame)
			return call->return_address;
	}
	return 0;
}

/*
 * Collect the Python callers, for the functions below. They do not call this: the kernel limits the
 * stack of a program with all functions that are active.
 */
static __noinline void walk_python(struct thread_calls *thread, __u64 time)
{
	struct thread_buffers *buffer = current_buffers();

	if (!buffer)
		return;
	buffer->python.time = time;
	gt_python_walk(&buffer->python, thread->process, thread->parent, settings.stack_depth);
}

/* Collect the callers, and emit them if they are new. Returns the number of the stack. */
static __noinline __u64 take_stack(struct thread_calls *thread, struct call_frame *frame,
				   struct pt_regs *regs)
{
	struct thread_buffers *buffer = current_buffers();
	struct gt_event_stack *event;
	/* Without a call around this one, there is no trampoline of gputap's. */
	__u64 trampoline = thread->depth > 1 ? trampoline_of(bpf_get_current_task_btf()) : 0;
	struct gt_walk walk;
	__u64 words, number, key;
	__u8 recorded = 1;

	if (!buffer)
		return 0;
	event = (void *)buffer->stack;
	if (settings.unwind) {
		buffer->walk.pc = frame->return_address;
		buffer->walk.stack = frame->stack_pointer + STACK_ARGUMENTS;
		buffer->walk.base = FRAME_POINTER(regs);
		buffer->walk.trampoline = trampoline;
		buffer->walk.process = thread->process;
		walk = unwind_frames(&buffer->walk, &buffer->stack[STACK_HEAD_WORDS],
				     GT_MAX_CALLERS, settings.stack_depth);
	} else {
		walk = gt_walk_frames(&buffer->walk.window, &buffer->stack[STACK_HEAD_WORDS],
				      GT_MAX_CALLERS, settings.stack_depth, frame->return_address,
				      STACK_POINTER(regs), FRAME_POINTER(regs), trampoline);
	}
	words = walk.count;
	number = settings.python && buffer->python.hash
			 ? gt_hash_mix(walk.hash, buffer->python.hash)
			 : walk.hash;
	key = number ^ (__u64)thread->process << 32;
	if (bpf_map_lookup_elem(&recorded_stacks, &key) || words > GT_MAX_CALLERS)
		return number;
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_stack;
	event->head.size = (STACK_HEAD_WORDS + words) * sizeof(__u64);
	event->number = number;
	event->flags = walk.truncated ? GT_STACK_TRUNCATED : 0;
	event->reserved = 0;
	if ((settings.python && buffer->python.count &&
	     put_python(&buffer->python, &event->head, number)) ||
	    put_record(event, (STACK_HEAD_WORDS + words) * sizeof(__u64)))
		COUNT(others_lost);
	else
		cache_entry(&recorded_stacks, &key, &recorded);
	return number;
}

/*
 * Put the return addresses of the calls back into a copy of the stack. That of the innermost one is
 * below the stack pointer once it returns, where the kernel's trampoline has overwritten it.
 * AArch64 returns by a register, which its functions keep where they like.
 */
static __always_inline void restore_returns(struct thread_calls *thread, __u8 *copy, __u64 stack,
					    __u64 bytes)
{
	for (__u32 i = 0; STACK_ARGUMENTS && i < MAX_CALL && i < thread->depth; i++) {
		struct call_frame *call = frame_at(thread, i);
		__u64 at = call->stack_pointer - stack;

		if (at < bytes && !(at & 7))
			*(__u64 *)(copy + (at & (GT_STACK_COPY - 8))) = call->return_address;
	}
}

/* For unwinding by .eh_frame: a copy of the stack, as it is at the entry, up to its end. */
static __noinline void put_memory(struct thread_calls *thread, struct call_frame *frame,
				  struct pt_regs *regs)
{
	struct thread_buffers *buffer = settings.python ? current_buffers() : NULL;
	struct gt_event_memory *event;
	__u64 stack = frame->stack_pointer, bytes = 0;

	/* The reader finds the number of the stack, and pairs the two by their time. */
	if (buffer) {
		if (buffer->python.count &&
		    put_python(&buffer->python, &frame->call.head, buffer->python.hash))
			COUNT(others_lost);
	}
	event = bpf_ringbuf_reserve(&events, sizeof(*event) + GT_STACK_COPY, 0);
	if (!event) {
		COUNT(others_lost);
		return;
	}
	for (int i = 0; i < GT_STACK_COPY / GT_STACK_PIECE; i++) {
		if (bpf_probe_read_user(event->bytes + i * GT_STACK_PIECE, GT_STACK_PIECE,
					(void *)(stack + i * GT_STACK_PIECE)))
			break;
		bytes += GT_STACK_PIECE;
	}
	restore_returns(thread, event->bytes, stack, bytes);
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_memory;
	event->head.size = sizeof(*event) + bytes;
	event->pc = frame->entry;
	event->stack_pointer = stack;
	event->frame_pointer = FRAME_POINTER(regs);
	event->link = frame->return_address;
	event->sequence = frame->call.sequence;
	event->reserved = 0;
	event->function = frame->call.function;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}
