/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of API functions: one program for all entries, one for all returns, or one for both where
 * the kernel has uprobe sessions. They are generic: the attach cookie has the number of a row of
 * `plans`, which describes what to copy.
 *
 * The record of a call is built in the thread's task storage from entry to return, and copied to
 * the ring once.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

#include "probe/api/arguments.bpf.h"
#include "probe/api/calls.h"
#include "probe/api/count.bpf.h"
#include "probe/api/current.bpf.h"
#include "probe/api/own_call.bpf.h"
#include "probe/api/own_stack.bpf.h"
#include "probe/api/record.bpf.h"
#include "probe/api/registers.bpf.h"
#include "probe/api/shared.bpf.h"
#include "probe/api/stack.bpf.h"
#include "probe/api/sums.bpf.h"
#include "probe/api/thread.bpf.h"
#include "probe/task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Calls with such a flag are not counted at their entries. */
#define UNCOUNTED (GT_COOKIE_IMPLICIT | GT_COOKIE_WATCHED | GT_COOKIE_BOUNDARY)

/* End the innermost call without a result. */
static __noinline void abandon_call(struct thread_calls *thread, __u64 now)
{
	struct call_frame *frame;

	if (!thread->depth)
		return;
	thread->depth--;
	thread->too_deep = 0;
	frame = frame_at(thread, thread->depth);
	frame->call.duration = now - frame->call.head.time;
	frame->call.head.time = now;
	frame->call.head.kind = GT_EVENT_call;
	if (frame->implicit)
		return;
	frame->call.state |= GT_CALL_UNFINISHED;
	/* An unfinished call whose record is lost is counted as unfinished only. */
	COUNT(unfinished);
	if (settings.sums)
		add_unfinished_call(frame->call.function);
	else if (put_call(frame))
		COUNT(others_lost);
}

/* Calls with frames below this stack pointer were abandoned, by longjmp or an exception. */
static __always_inline void abandon_below(struct thread_calls *thread, __u64 stack, __u64 now)
{
	for (int i = 0; i < MAX_CALL; i++) {
		if (!thread->depth || frame_at(thread, thread->depth - 1)->stack_pointer >= stack)
			break;
		abandon_call(thread, now);
	}
}

/* Whether driver calls inside such a call are its own. */
static __always_inline bool hides_calls(__u64 flags)
{
	return flags & (GT_COOKIE_WATCHED | GT_COOKIE_BOUNDARY) ||
	       !(flags & (GT_COOKIE_IMPLICIT | GT_COOKIE_LIBRARY));
}

/* What pairs the entry with the return, and what the calls inside this one need. */
static __always_inline struct call_frame *push_frame(struct thread_calls *thread,
						     struct pt_regs *regs, __u64 cookie, __u64 now)
{
	struct call_frame *frame = frame_at(thread, thread->depth);
	__u16 outer = counted_calls(thread), hiding = hiding_calls(thread);
	__u64 flags = cookie >> 48;

	thread->depth++;
	frame->stack_pointer = STACK_POINTER(regs);
	frame->call.head.time = now;
	frame->call.head.thread = thread->thread;
	frame->call.function = cookie;
	frame->call.depth = outer;
	frame->call.state = outer ? GT_CALL_NESTED : 0;
	frame->implicit = flags & UNCOUNTED;
	frame->counted = outer + !frame->implicit;
	frame->hiding = hiding + hides_calls(flags);
	frame->urgent = 0;
	frame->jumps = 0;
	return frame;
}

/* The callers, at the entry or, of a call that fails, at the return. */
static __always_inline void put_callers(struct thread_calls *thread, struct call_frame *frame,
					struct pt_regs *regs)
{
	if (settings.python)
		walk_python(thread, frame->call.head.time);
	if (settings.stack_copy)
		put_memory(thread, frame, regs);
	else
		frame->call.stack = take_stack(thread, frame, regs);
}

/* Begin the record of a call. */
static __always_inline void begin_record(struct thread_calls *thread, struct call_frame *frame,
					 const struct gt_plan *plan, struct pt_regs *regs,
					 __u64 cookie, bool outermost)
{
	struct gt_event_call *call = &frame->call;
	__u64 flags = cookie >> 48;

	call->head.process = thread->process;
	call->head.kind = GT_EVENT_entry;
	call->head.clock = GT_CLOCK_MONOTONIC;
	put_current(&thread->where, call, flags & GT_COOKIE_RUNTIME);
	call->duration = 0;
	call->result = 0;
	call->stack = 0;
	call->library = cookie >> 32;
	if (flags & GT_COOKIE_PER_THREAD)
		call->state |= GT_CALL_PER_THREAD;
	call->copied = 0;
	call->sequence = thread->sequence++;
	copy_arguments(frame, plan, regs, frame->stack_pointer);
	copy_all(frame, plan, GT_COPY_AT_ENTRY);
	if (plan->apart && frame->implicit != GT_COOKIE_WATCHED)
		put_argument_events(frame, plan);
	if (settings.stack_depth) {
		frame->return_address = return_address(regs);
		frame->entry = PROGRAM_COUNTER(regs);
	}
	if (settings.stack_depth && !frame->implicit && outermost)
		put_callers(thread, frame, regs);
	if (settings.entries && !frame->implicit && put_call(frame))
		COUNT(entries_lost);
}

static __always_inline void begin_call(struct thread_calls *thread, const struct gt_plan *plan,
				       struct pt_regs *regs, __u64 cookie, __u64 now)
{
	bool outermost = !hiding_calls(thread) || is_inside_inherited(thread);
	struct call_frame *frame = push_frame(thread, regs, cookie, now);

	if (!settings.sums && frame->implicit != GT_COOKIE_BOUNDARY)
		begin_record(thread, frame, plan, regs, cookie, outermost);
}

/* The cookie of the function at whose entry we are; ~0 if its probe is unknown. */
static __always_inline __u64 cookie_at_entry(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs), *known;
	__u32 key = GT_SITE_KEY(cookie, PROGRAM_COUNTER(regs));

	if (!(cookie >> 48 & GT_COOKIE_GROUP))
		return cookie;
	known = bpf_map_lookup_elem(&sites, &key);
	return known ? *known : ~0ull;
}

/* A call begins. Returns whether its return is to be seen. */
static __always_inline bool enter_call(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = cookie_at_entry(regs), stack = STACK_POINTER(regs), now;
	__u32 function = cookie;
	struct thread_calls *thread;
	struct gt_plan *plan;

	if (phase != GT_PHASE_TRACING)
		return false;
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		COUNT(made);
		COUNT(lost);
		return false;
	}
	if (!thread->known)
		initialise_thread(thread, task);
	plan = bpf_map_lookup_elem(&plans, &function);
	if (!thread->traced || !plan)
		return false;
	if (settings.has_agent && is_own_call(return_address(regs)))
		return false;
	if (cookie >> 48 & GT_COOKIE_RUNTIME && !runtime_called)
		runtime_called = 1;
	now = bpf_ktime_get_ns();
	abandon_below(thread, stack, now);
	if (thread->depth && frame_at(thread, thread->depth - 1)->stack_pointer == stack) {
		struct call_frame *jumping = frame_at(thread, thread->depth - 1);

		if (is_jump(task, regs) &&
		    (jumping->implicit & ~FRAME_INHERITED) != GT_COOKIE_BOUNDARY) {
			jumping->jumps++;
			return false;
		}
		/* A function that is not traced may jump to one that is. */
		abandon_call(thread, now);
	}
	if (cookie >> 48 & GT_COOKIE_ONLY_OUTERMOST && hiding_calls(thread)) {
		if (!plan->effect && !(cookie >> 48 & GT_COOKIE_IMPLICIT))
			return false;
		cookie |= (__u64)GT_COOKIE_IMPLICIT << 48;
		cookie &= ~((__u64)GT_COOKIE_WATCHED << 48);
	}
	if (!(cookie >> 48 & UNCOUNTED))
		COUNT(made);
	if (!thread->named)
		name_process(thread, task);
	if (thread->depth >= MAX_CALL) {
		thread->too_deep++;
		if (!(cookie >> 48 & UNCOUNTED))
			COUNT(lost);
		return true;
	}
	begin_call(thread, plan, regs, cookie, now);
	return true;
}

static __noinline void apply_effect(struct thread_calls *thread, struct call_frame *frame,
				    const struct gt_plan *plan)
{
	__u64 value = words_of(frame)[(plan->effect_value - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	__u64 ordinal = words_of(frame)[(plan->effect_device - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	__s16 device = GT_DEVICE_UNKNOWN;

	if (plan->effect_device && (__u32)ordinal < MAX_DEVICES)
		device = (__s16)ordinal;
	if (plan->effect >= GT_EFFECT_DEVICE_UUID) {
		struct thread_buffers *buffer = current_buffers();

		if (buffer)
			learn_device(buffer->device, &frame->call.head, plan->effect, value,
				     device);
	} else {
		learn_current(&thread->where, &frame->call.head, plan->effect, value, device);
	}
}

static __always_inline bool holds(const volatile struct gt_condition *condition,
				  const struct gt_event_call *call, __u64 result)
{
	__u64 value = condition->field == GT_CONDITION_DURATION ? call->duration
		      : condition->field == GT_CONDITION_RESULT ? result
		      : condition->field == GT_CONDITION_THREAD ? call->head.thread
								: call->depth;

	return gt_condition_holds(condition->compare, value, condition->value);
}

/* The error code of a failed call that returned NULL. */
static __noinline __u64 error_code(struct call_frame *frame, const struct gt_plan *plan)
{
	__u64 pointer = words_of(frame)[(plan->error - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	__s32 code = 0;

	if (!plan->error || bpf_probe_read_user(&code, sizeof(code), (void *)pointer) ||
	    code >= 0 || code < -GT_PLAN_UNKNOWN_ERROR)
		code = -GT_PLAN_UNKNOWN_ERROR;
	return (__s64)code;
}

/* The result, without the upper half of the register where it is an error code. */
static __always_inline __u64 result_of(const struct gt_event_call *call, const struct gt_plan *plan)
{
	return plan->result == GT_RESULT_ERROR ? (__u32)call->result : call->result;
}

static __always_inline bool has_failed(const struct gt_event_call *call, const struct gt_plan *plan)
{
	__u64 result = result_of(call, plan);

	if (plan->result == GT_RESULT_POINTER)
		return result >= (__u64)-GT_PLAN_UNKNOWN_ERROR;
	return plan->result == GT_RESULT_ERROR && result && result != plan->pending;
}

static __always_inline bool is_wanted(const struct gt_event_call *call, const struct gt_plan *plan)
{
	__u64 result = result_of(call, plan);

	if (settings.failed_only && !has_failed(call, plan))
		return false;
	for (__u32 i = 0; i < GT_MAX_CONDITIONS; i++) {
		if (i >= settings.condition_count)
			break;
		if (!holds(&settings.conditions[i], call, result))
			return false;
	}
	return true;
}

/* A call that returned, where no records are wanted. */
static __always_inline void sum_call(const struct call_frame *frame, const struct gt_plan *plan)
{
	const struct gt_event_call *call = &frame->call;

	if (frame->implicit)
		return;
	if (!is_wanted(call, plan))
		COUNT(filtered);
	else if (add_returned_call(sums_of(plan->sums), call->duration, has_failed(call, plan)))
		COUNT(lost);
}

/* A watched call has failed: from here on it is a call that was made. */
static __always_inline void begin_failed_call(struct thread_calls *thread, struct call_frame *frame,
					      struct pt_regs *regs)
{
	COUNT(made);
	frame->implicit = 0;
	if (settings.stack_depth && frame->hiding == 1)
		put_callers(thread, frame, regs);
}

static __always_inline void leave_call(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 stack = STACK_POINTER(regs) - STACK_ARGUMENTS, now;
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 function = cookie;
	struct thread_calls *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct gt_plan *plan;
	struct call_frame *frame;

	if (!thread || !(thread->traced || thread->depth) || phase == GT_PHASE_ATTACHING)
		return;
	if (thread->too_deep) {
		thread->too_deep--;
		return;
	}
	now = bpf_ktime_get_ns();
	abandon_below(thread, stack, now);
	frame = frame_at(thread, thread->depth - 1);
	if (!thread->depth || frame->stack_pointer != stack) {
		if (phase == GT_PHASE_TRACING && thread->traced && !(cookie >> 48 & UNCOUNTED) &&
		    !is_own_call(PROGRAM_COUNTER(regs)) &&
		    !(cookie >> 48 & GT_COOKIE_ONLY_OUTERMOST && hiding_calls(thread)))
			COUNT(orphans);
		return;
	}
	/* The second of two functions: the first one jumped to it. */
	if (cookie >> 48 & GT_COOKIE_GROUP && frame->jumps) {
		frame->jumps--;
		return;
	}
	if (frame->implicit & FRAME_INHERITED) {
		thread->depth--;
		return;
	}
	if (cookie >> 48 & GT_COOKIE_GROUP)
		function = frame->call.function;
	plan = bpf_map_lookup_elem(&plans, &function);
	if (!plan || frame->call.function != function)
		return;
	frame->call.duration = now - frame->call.head.time;
	frame->call.result = RESULT(regs);
	if (plan->result == GT_RESULT_POINTER && !frame->call.result)
		frame->call.result = error_code(frame, plan);
	if (frame->implicit == GT_COOKIE_BOUNDARY) {
		thread->depth--;
		return;
	}
	if (frame->implicit & GT_COOKIE_WATCHED && has_failed(&frame->call, plan))
		begin_failed_call(thread, frame, regs);
	thread->depth--;
	if (frame->implicit == GT_COOKIE_WATCHED)
		return;
	if (settings.sums) {
		sum_call(frame, plan);
		return;
	}
	frame->call.head.kind = frame->implicit ? GT_EVENT_implicit : GT_EVENT_call;
	frame->call.head.time = now;
	/* The runtime creates its context when it first needs one: inside a call. */
	if (!frame->call.context)
		put_current(&thread->where, &frame->call, cookie >> 48 & GT_COOKIE_RUNTIME);
	if (plan->effect && !(__u32)frame->call.result)
		apply_effect(thread, frame, plan);
	if (!frame->implicit && !is_wanted(&frame->call, plan)) {
		COUNT(filtered);
		return;
	}
	if (plan->result == GT_RESULT_POINTER ? !has_failed(&frame->call, plan)
					      : !plan->result || !(__u32)frame->call.result)
		copy_all(frame, plan, GT_COPY_AT_SUCCESS);
	if (frame->urgent)
		put_missing_strings(frame, plan);
	if ((frame->implicit && plan->effect) || !put_call(frame))
		return;
	if (frame->implicit)
		COUNT(others_lost);
	else
		COUNT(lost);
}

SEC("uprobe")
int call_entry(struct pt_regs *regs)
{
	USE_OWN_STACK(regs, phase > GT_PHASE_ENDING);
	enter_call(regs);
	return 0;
}

SEC("uretprobe")
int call_return(struct pt_regs *regs)
{
	USE_OWN_STACK(regs, phase > GT_PHASE_ENDING);
	leave_call(regs);
	return 0;
}

/* Both: at a return, the thread is where the function returns to. 1: the return is not wanted. */
SEC("uprobe")
int call_session(struct pt_regs *regs)
{
	USE_OWN_STACK(regs, phase > GT_PHASE_ENDING);
	if (PROGRAM_COUNTER(regs) == bpf_get_func_ip(regs))
		return !enter_call(regs);
	leave_call(regs);
	return 0;
}

/* The same, where calls are only counted. Loaded on demand: user space completes it. */
SEC("?uprobe")
int count_session(struct pt_regs *regs)
{
	__u64 *word;

	USE_OWN_STACK(regs, phase > GT_PHASE_ENDING);
	word = word_of_call(regs);
	if (!*word)
		return !begin_counting(regs, word);
	count_return(regs, *word);
	return 0;
}

static __always_inline void abandon_all(struct task_struct *task)
{
	struct thread_calls *thread = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 now = bpf_ktime_get_ns();

	if (!thread)
		return;
	for (int i = 0; i < MAX_CALL && thread->depth; i++)
		abandon_call(thread, now);
	thread->known = 0;
	forget_threads();
}

/* A call that a child returns from, too; it is not a call of the child. */
static __always_inline void inherit_frame(struct call_frame *inherited,
					  const struct call_frame *frame)
{
	inherited->stack_pointer = frame->stack_pointer;
	inherited->call.function = frame->call.function;
	inherited->implicit = frame->implicit | FRAME_INHERITED;
	inherited->counted = 0;
	inherited->hiding = frame->hiding;
	inherited->jumps = frame->jumps;
}

/*
 * A thread forks inside calls. A new thread does not return from them, a new process does, and the
 * child of vfork(2) may.
 */
SEC("tp_btf/sched_process_fork")
int process_fork(__u64 *arguments)
{
	struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];
	struct thread_calls *calls = bpf_task_storage_get(&threads, parent, 0, 0), *inherited;

	if (!calls || !calls->depth || !BPF_CORE_READ(child, utask, return_instances))
		return 0;
	inherited = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!inherited) {
		COUNT(others_lost);
		return 0;
	}
	for (__u32 i = 0; i < MAX_CALL && i < calls->depth; i++)
		inherit_frame(frame_at(inherited, i), frame_at(calls, i));
	inherited->depth = calls->depth;
	inherited->too_deep = calls->too_deep;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int thread_exit(__u64 *arguments)
{
	abandon_all(bpf_get_current_task_btf());
	return 0;
}

/* The name may have changed, and with it whether the process is traced. */
SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *arguments)
{
	abandon_all(bpf_get_current_task_btf());
	return 0;
}

/* At the end of the tracing: calls that are still running. */
SEC("iter/task")
int unfinished_calls(struct bpf_iter__task *iterator)
{
	/* The verifier of Linux 6.1 wants a NULL test for each read: read it once. */
	struct task_struct *task = *(struct task_struct *volatile *)&iterator->task;

	if (task)
		abandon_all(task);
	return 0;
}
