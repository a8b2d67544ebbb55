/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that are only counted, where the kernel has uprobe sessions: nothing is looked up to pair
 * an entry with its return. The kernel itself keeps a list of the calls of a thread that have not
 * returned (struct return_instance, since Linux 6.14), with a word for each, the session's cookie.
 * It has the time of the entry here, and what calls inside this one need.
 *
 * An abandoned call is not seen: it began, and is not counted at a return. User space computes how
 * many there are once the session is detached.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "probe/api/calls.h"
#include "probe/api/own_call.bpf.h"
#include "probe/api/registers.bpf.h"
#include "probe/api/shared.bpf.h"
#include "probe/api/sums.bpf.h"
#include "probe/api/thread.bpf.h"
#include "probe/task.bpf.h"

/*
 * The word of a call, before it is encrypted: the time of its entry, and in the upper bits what
 * follows. The kernel clears it before an entry (handler_chain() in kernel/events/uprobes.c), and
 * GT_WORD_SET in the key makes it another value than 0: at a return it is never 0.
 */
#define WORD_HIDES (1ull << 63)    /* driver calls inside it are filtered */
#define WORD_BOUNDARY (1ull << 62) /* it is not counted itself */
#define WORD_TIME (WORD_BOUNDARY - 1)
_Static_assert(GT_WORD_SET == 1ull << 61, "a bit of the time that is never set");

/*
 * may_goto of Linux 6.9, BPF_JMP | BPF_JCOND, which clang 14 has not: jump to the label after very
 * many iterations. The verifier examines a loop with it once, and not each iteration.
 */
#define BREAK_WHERE_ENDLESS(label)                                                                 \
	__asm__ volatile goto("1: .byte 0xe5\n"                                                    \
			      ".byte 0\n"                                                          \
			      ".long ((%l[" #label "] - 1b - 8) / 8) & 0xffff\n"                   \
			      ".short 0\n"                                                         \
			      :                                                                    \
			      :                                                                    \
			      :                                                                    \
			      : label)

#define MAX_CONSUMERS 4 /* tools that see the return of a call, and whose words are examined */

/*
 * bpf_session_cookie(): the word of the current call. It has no argument before Linux 7.0, and the
 * context since: user space replaces the number of the function (count_program.c).
 */
static __always_inline __u64 *word_of_call(void *context)
{
	__u64 *word;

	__asm__ volatile("r1 = %[context]\n"
			 "call %[number]\n"
			 "%[word] = r0\n"
			 : [word] "=r"(word)
			 : [context] "r"(context), [number] "i"(GT_CALL_SESSION_COOKIE)
			 : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return word;
}

static __always_inline void forget_threads(void)
{
	__sync_fetch_and_add(&generation, 1);
}

/*
 * The last thread that is_traced() found to be traced. Another thread may run between any two of
 * these accesses: no thread ever has the generation of another one.
 */
static __always_inline void keep_last_thread(volatile struct gt_call_sums *calls,
					     struct pt_regs *regs)
{
	calls->last_registers = 0;
	calls->last_generation = generation;
	calls->last_registers = (__u64)regs;
}

static __always_inline bool is_last_thread(const volatile struct gt_call_sums *calls,
					   struct pt_regs *regs)
{
	return calls && calls->last_generation == generation &&
	       calls->last_registers == (__u64)regs;
}

/*
 * Whether a thread is traced: the state of the thread has it, which takes longer to find than the
 * last thread in the sums of the function.
 */
static __noinline bool is_traced(struct pt_regs *regs, struct gt_call_sums *calls)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_calls *thread =
		bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread) {
		COUNT(made);
		COUNT(lost);
		return false;
	}
	if (!thread->known) {
		initialise_thread(thread, task);
		/* Of the parent, where the process was forked inside a call. */
		thread->inherits = task->utask->return_instances != NULL;
	}
	if (!thread->traced)
		return false;
	if (!thread->named)
		name_process(thread, task);
	if (thread->named && !thread->inherits && calls)
		keep_last_thread(calls, regs);
	return true;
}

/*
 * Whether a word is of this session. Other tools have words, too: no time between the session's
 * start and now results from those, but for one in thousands of millions.
 */
static __always_inline bool is_own_word(__u64 word, __u64 now)
{
	return (word & WORD_TIME) >= settings.loaded && (word & WORD_TIME) <= now;
}

/*
 * The word of this session among those of `count` further tools, at an address; decrypted; 0: none.
 * Not static, and without pointers as arguments: the verifier then examines it once, and not for
 * each enclosing call.
 */
__noinline __u64 own_word_among(__u64 address, __u32 count, __u64 now)
{
	const __u64 size = bpf_core_type_size(struct return_consumer);
	__u64 word;

	address += bpf_core_field_offset(struct return_consumer, cookie);
	for (__u32 i = 0; i < MAX_CONSUMERS - 1 && i < count; i++) {
		if (bpf_probe_read_kernel(&word, sizeof(word), (void *)(address + i * size)))
			break;
		word ^= word_key;
		if (is_own_word(word, now))
			return word;
	}
	return 0;
}

/* The word that this session gave to an enclosing call, decrypted; 0: none. */
static __always_inline __u64 own_word(struct return_instance *enclosing, __u64 now)
{
	__u64 word = enclosing->consumer.cookie ^ word_key;
	__s32 consumers = enclosing->cons_cnt;

	if (consumers < 1)
		return 0;
	if (is_own_word(word, now))
		return word;
	return consumers > 1 ? own_word_among((__u64)BPF_CORE_READ(enclosing, extra_consumers),
					      consumers - 1, now)
			     : 0;
}

enum entry_kind {
	ENTRY_OF_CALL,
	ENTRY_INSIDE, /* of a call that hides it */
	ENTRY_JUMP,   /* of a function to which another one jumped at its end: the same call */
};

/*
 * What an entry is, by the calls that enclose it: at most 64 (MAX_URETPROBE_DEPTH,
 * include/linux/uprobes.h). Those with a lower stack pointer were abandoned.
 * Only for some entries all of the calls matter (`can_hide`).
 */
static __always_inline enum entry_kind kind_of_entry(struct task_struct *task, struct pt_regs *regs,
						     bool can_hide, __u64 now)
{
	struct return_instance *enclosing = task->utask->return_instances;
	__u64 stack = STACK_POINTER(regs);

	while (enclosing) {
		__u64 place = enclosing->stack, word;

		BREAK_WHERE_ENDLESS(done);
		if (place > stack && !can_hide)
			break;
		word = place >= stack ? own_word(enclosing, now) : 0;
		if (place == stack && word && !(word & WORD_BOUNDARY) && is_jump(task, regs))
			return ENTRY_JUMP;
		if (place > stack && word & WORD_HIDES)
			return ENTRY_INSIDE;
		enclosing = enclosing->next;
	}
done:
	return ENTRY_OF_CALL;
}

/* A call begins. Returns whether its return is to be seen; then `ret_word` is the call's word. */
static __always_inline bool begin_counting(struct pt_regs *regs, __u64 *ret_word)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(regs), flags = cookie >> 48, word;
	struct gt_call_sums *calls = NULL;

	if (phase != GT_PHASE_TRACING)
		return false;
	if (!(flags & GT_COOKIE_BOUNDARY))
		calls = sums_of(cookie >> 32 & 0xffff);
	if (!is_last_thread(calls, regs) && !is_traced(regs, calls))
		return false;
	if (settings.has_agent && is_own_call(return_address(regs)))
		return false;
	if (flags & GT_COOKIE_RUNTIME && !runtime_called)
		runtime_called = 1;
	word = bpf_ktime_get_ns();
	if (kind_of_entry(task, regs, flags & GT_COOKIE_ONLY_OUTERMOST, word) != ENTRY_OF_CALL)
		return false;
	if (calls) {
		__sync_fetch_and_add(&calls->begun, 1);
	} else if (flags & GT_COOKIE_BOUNDARY) {
		word |= WORD_BOUNDARY;
	} else { /* no memory */
		COUNT(made);
		COUNT(lost);
		return false;
	}
	if (!(flags & GT_COOKIE_LIBRARY))
		word |= WORD_HIDES;
	*ret_word = word ^ word_key;
	return true;
}

/* Whether a call has failed; the plan of the function is needed only if it may have. */
static __always_inline bool has_result_of_failure(__u32 function, __u64 flags, __u64 result)
{
	struct gt_plan *plan;

	if (flags & GT_COOKIE_POINTER)
		return !result || result >= (__u64)-GT_PLAN_UNKNOWN_ERROR;
	if (!(__u32)result)
		return false;
	plan = bpf_map_lookup_elem(&plans, &function);
	return plan && plan->result == GT_RESULT_ERROR && (__u32)result != plan->pending;
}

static __always_inline void count_return(struct pt_regs *regs, __u64 word)
{
	__u64 cookie = bpf_get_attach_cookie(regs), flags = cookie >> 48, now, began;
	struct gt_call_sums *calls;

	if (flags & GT_COOKIE_BOUNDARY)
		return;
	now = bpf_ktime_get_ns();
	began = (word ^ word_key) & WORD_TIME;
	calls = sums_of(cookie >> 32 & 0xffff);
	/* A process that was forked inside a call returns from it, too. */
	if (!is_last_thread(calls, regs) && bpf_get_current_task_btf()->start_time > began)
		return;
	if (add_returned_call(calls, now - began,
			      has_result_of_failure((__u32)cookie, flags, RESULT(regs))))
		COUNT(lost);
}
