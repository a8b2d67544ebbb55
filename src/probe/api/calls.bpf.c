/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of API functions: one program for every entry, one for every return. They know no
 * function: the attach cookie names a row of `plans`, and that says what to copy.
 *
 * The record of a call is built in the thread's own storage from entry to return, and put
 * into the ring once.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "probe/api/calls.h"
#include "probe/task.bpf.h"

static __always_inline long gt_read_user(void *to, __u32 size, __u64 from)
{
	return bpf_probe_read_user(to, size, (void *)from);
}
__u64 gt_probed_return(__u64 frame);
#include "probe/api/walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_call_counts);
} counts SEC(".maps");

#define COUNT(what)                                                                                \
	do {                                                                                       \
		__u32 zero_key = 0;                                                                \
		struct gt_call_counts *sums = bpf_map_lookup_elem(&counts, &zero_key);             \
		if (sums)                                                                          \
			__sync_fetch_and_add(&sums->what, 1);                                      \
	} while (0)

#include "probe/api/current.bpf.h"

#define DEEPEST_CALL 8 /* a power of two */
#define MAX_WORDS (GT_PLAN_MAX_SLOTS + GT_PLAN_MAX_COPIED)
#define ROOM_WORDS (MAX_WORDS + GT_PLAN_MAX_COPIED + 1) /* the verifier adds up both limits */
#define HEAD_WORDS (sizeof(struct gt_event_call) / sizeof(__u64))

struct frame {
	__u64 stack_pointer;  /* at entry */
	__u64 return_address; /* before the kernel replaces it; only where stacks are taken */
	__u16 aside;          /* becomes an `aside` */
	__u16 urgent;         /* a string is missing, which the reader may still find */
	__u16 counted;        /* calls up to this one that are no asides … */
	__u16 hiding;         /* … and those of them that driver calls are left out inside of */
	__u64 words;          /* used of record[], behind the head */
	union {
		struct gt_event_call call;
		__u64 record[HEAD_WORDS + ROOM_WORDS];
	};
};

#define STACK_HEAD_WORDS (sizeof(struct gt_event_stack) / sizeof(__u64))
#define ARGUMENTS_HEAD_WORDS (sizeof(struct gt_event_arguments) / sizeof(__u64))
#define STRING_HEAD_WORDS (sizeof(struct gt_event_string) / sizeof(__u64))

struct thread {
	__u32 process;
	__u32 thread;
	__u32 depth;    /* frames in use */
	__u32 too_deep; /* calls inside the deepest frame, counted as lost */
	__u16 sequence;
	__u8 known; /* the fields above and `traced` are filled in */
	__u8 traced;
	__u8 named; /* its process event was written */
	struct whereabouts where;
	struct frame frames[DEEPEST_CALL];
	union { /* events that are built at entry */
		struct {
			__u64 stack[STACK_HEAD_WORDS + GT_MAX_STACK];
			struct gt_window window;
		};
		__u64 string[STRING_HEAD_WORDS + GT_MAX_STRING / sizeof(__u64) + 1];
		__u64 arguments[ARGUMENTS_HEAD_WORDS + GT_MAX_ARGUMENTS];
		__u64 device[DEVICE_WORDS];
	};
};

const volatile struct gt_call_settings settings;

volatile __u32 phase; /* enum gt_call_phase */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_plan);
} plans SEC(".maps");

/* Stacks that were told already: hashes of stack and process. Once full, stacks are told again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} told_stacks SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(regs) ((regs)->sp)
#define FRAME_POINTER(regs) ((regs)->bp)
#define PROGRAM_COUNTER(regs) ((regs)->ip)
#define RESULT(regs) ((regs)->ax)
#define ARGUMENT_REGISTERS 6
#define STACK_ARGUMENTS 8 /* bytes from the stack pointer at entry: behind the return address */
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

static __always_inline struct frame *frame_at(struct thread *thread, __u32 index)
{
	return &thread->frames[index & (DEEPEST_CALL - 1)];
}

static __always_inline __u64 *words_of(struct frame *frame)
{
	return frame->record + HEAD_WORDS;
}

/* Tells the name of the thread's process, once; again if there was no room. */
static __noinline void name_process(struct thread *thread, struct task_struct *task)
{
	if (put_process(task, thread->process, thread->thread))
		COUNT(others_lost);
	else
		thread->named = 1;
}

/* The first call of a thread, or the first after exec. */
static __noinline void meet(struct thread *thread, struct task_struct *task)
{
	thread->thread = id_in_our_namespace(task);
	thread->process = id_in_our_namespace(BPF_CORE_READ(task, group_leader));
	thread->traced = current_passes(task, thread->process);
	thread->named = 0;
	thread->where.device = settings.first_device;
	thread->where.depth = 0;
	thread->known = 1;
}

/* Calls that a new one of the thread runs inside of, without those that were not asked for. */
static __always_inline __u16 counted_calls(struct thread *thread)
{
	return thread->depth ? frame_at(thread, thread->depth - 1)->counted : 0;
}

static __always_inline __u16 hiding_calls(struct thread *thread)
{
	return thread->depth ? frame_at(thread, thread->depth - 1)->hiding : 0;
}

static __always_inline long put_call(struct frame *frame)
{
	__u64 words = frame->words;

	if (words > MAX_WORDS)
		return -1;
	frame->call.head.size = (HEAD_WORDS + words) * sizeof(__u64);
	if (frame->urgent)
		return put_urgent_record(frame->record, (HEAD_WORDS + words) * sizeof(__u64));
	return put_record(frame->record, (HEAD_WORDS + words) * sizeof(__u64));
}

/* Ends the innermost call without a result. */
static __noinline void abandon_call(struct thread *thread, __u64 now)
{
	struct frame *frame;

	if (!thread->depth)
		return;
	thread->depth--;
	thread->too_deep = 0;
	frame = frame_at(thread, thread->depth);
	frame->call.duration = now - frame->call.head.time;
	frame->call.head.time = now;
	frame->call.head.kind = GT_EVENT_call;
	if (frame->aside)
		return;
	frame->call.state |= GT_CALL_UNFINISHED;
	/* An unfinished call whose record is lost stays an unfinished call: it is counted once. */
	COUNT(unfinished);
	if (put_call(frame))
		COUNT(others_lost);
}

/* Calls whose frames lie below this stack pointer were left: by longjmp, or an exception. */
static __always_inline void abandon_below(struct thread *thread, __u64 stack, __u64 now)
{
	for (int i = 0; i < DEEPEST_CALL; i++) {
		if (!thread->depth || frame_at(thread, thread->depth - 1)->stack_pointer >= stack)
			break;
		abandon_call(thread, now);
	}
}

/* What the kernel puts in place of return addresses that it probes; 0: none was probed yet. */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * Whether this entry goes on with the innermost call: a function that ends by jumping to
 * another one. Both have the same stack pointer, but so has a new call from a place where a
 * call was left. The return address tells: only a call that is still there has its own
 * replaced by the kernel's trampoline.
 */
static __always_inline bool is_jump(struct task_struct *task, struct pt_regs *regs)
{
	__u64 trampoline = trampoline_of(task);

	return trampoline && return_address(regs) == trampoline;
}

/* A string argument becomes an event of its own, before the call's. Whether it could be read. */
static __noinline bool put_string(struct thread *thread, struct frame *frame, __u8 slot)
{
	__u64 pointer = words_of(frame)[slot & (GT_PLAN_MAX_SLOTS - 1)];
	struct gt_event_string *event = (void *)thread->string;
	char *text = (char *)&thread->string[STRING_HEAD_WORDS];
	long length = bpf_probe_read_user_str(text, GT_MAX_STRING, (void *)pointer);

	if (length <= 0 || length > GT_MAX_STRING)
		return false;
	length--;
	*(__u64 *)&text[length & (GT_MAX_STRING - 1)] = 0;
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_string;
	event->head.size = (sizeof(*event) + length + 7) & ~7;
	event->sequence = frame->call.sequence;
	event->slot = slot;
	event->cut = length == GT_MAX_STRING - 1;
	event->function = frame->call.function;
	if (put_record(event, event->head.size & (2 * GT_MAX_STRING - 1)))
		COUNT(others_lost);
	return true;
}

/*
 * Strings that were not read yet. A page that the program has not touched cannot be read from
 * here: by the time of the return it often was; if not, the reader is told to look at once.
 */
static __noinline void put_strings(struct thread *thread, struct frame *frame,
				   const struct gt_plan *plan)
{
	frame->urgent = 0;
	for (int i = 0; i < GT_PLAN_MAX_COPIES; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when != GT_COPY_STRING || frame->call.copied & 1 << i)
			continue;
		if (put_string(thread, frame, plan->copy[i].slot))
			frame->call.copied |= 1 << i;
		else
			frame->urgent = 1;
	}
}

/*
 * A kernel's arguments: the array has a pointer for each, and nothing tells how many there are or
 * how long each is. What cannot be read is told so; a NULL ends it.
 */
static __noinline void put_arguments(struct thread *thread, struct frame *frame, __u8 slot)
{
	__u64 array = words_of(frame)[slot & (GT_PLAN_MAX_SLOTS - 1)];
	struct gt_event_arguments *event = (void *)thread->arguments;
	__u64 *values = &thread->arguments[ARGUMENTS_HEAD_WORDS];

	event->readable = 0;
	for (int i = 0; i < GT_MAX_ARGUMENTS; i++) {
		__u64 pointer = 0;

		values[i] = 0;
		bpf_probe_read_user(&pointer, sizeof(pointer),
				    (void *)(array + i * sizeof(pointer)));
		if (!pointer)
			break;
		if (!bpf_probe_read_user(&values[i], sizeof(__u64), (void *)pointer) ||
		    !bpf_probe_read_user(&values[i], sizeof(__u32), (void *)pointer))
			event->readable |= 1 << i;
	}
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_arguments;
	event->head.size = sizeof(thread->arguments);
	event->sequence = frame->call.sequence;
	event->function = frame->call.function;
	if (put_record(event, sizeof(thread->arguments)))
		COUNT(others_lost);
}

/*
 * A traced call made its frame below its stack pointer at entry (x86-64: right there), and calls
 * inside of it are further down. Not static, so that it is verified once, not once a frame.
 */
__noinline __u64 gt_probed_return(__u64 frame)
{
	struct thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	for (__u32 i = 1; thread && i <= DEEPEST_CALL && i <= thread->depth; i++) {
		struct frame *call = frame_at(thread, thread->depth - i);

		if (call->stack_pointer > frame)
			return call->return_address;
	}
	return 0;
}

/* Takes the callers; tells them if they are new. The stack's number. */
static __noinline __u64 take_stack(struct thread *thread, struct frame *frame, struct pt_regs *regs)
{
	struct gt_event_stack *event = (void *)thread->stack;
	/* Without a call around this one, there is no trampoline of gputap's. */
	__u64 trampoline = thread->depth > 1 ? trampoline_of(bpf_get_current_task_btf()) : 0;
	struct gt_walk walk =
		gt_walk_frames(&thread->window, &thread->stack[STACK_HEAD_WORDS], GT_MAX_STACK,
			       settings.stack_depth, frame->return_address, STACK_POINTER(regs),
			       FRAME_POINTER(regs), trampoline);
	__u64 key = walk.hash ^ ((__u64)thread->process << 32), words = walk.count;
	__u8 told = 1;

	if (bpf_map_lookup_elem(&told_stacks, &key) || words > GT_MAX_STACK)
		return walk.hash;
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_stack;
	event->head.size = (STACK_HEAD_WORDS + words) * sizeof(__u64);
	event->number = walk.hash;
	event->flags = walk.truncated ? GT_STACK_TRUNCATED : 0;
	event->reserved = 0;
	if (put_record(event, (STACK_HEAD_WORDS + words) * sizeof(__u64)))
		COUNT(others_lost);
	else
		bpf_map_update_elem(&told_stacks, &key, &told, BPF_ANY);
	return walk.hash;
}

/*
 * Puts the return addresses of the calls around the innermost one back into a copy of the stack.
 * AArch64 returns by a register, which its functions keep where they like.
 */
static __always_inline void restore_returns(struct thread *thread, __u8 *copy, __u64 stack,
					    __u64 bytes)
{
	for (__u32 i = 0; STACK_ARGUMENTS && i < DEEPEST_CALL && i + 1 < thread->depth; i++) {
		struct frame *call = frame_at(thread, i);
		__u64 at = call->stack_pointer - stack;

		if (at < bytes && !(at & 7))
			*(__u64 *)(copy + (at & (GT_STACK_COPY - 8))) = call->return_address;
	}
}

/* For unwinding by .eh_frame: a copy of the stack, up to its end. */
static __noinline void put_memory(struct thread *thread, struct frame *frame, struct pt_regs *regs)
{
	struct gt_event_memory *event =
		bpf_ringbuf_reserve(&events, sizeof(*event) + GT_STACK_COPY, 0);
	__u64 stack = STACK_POINTER(regs), bytes = 0;

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
	event->pc = PROGRAM_COUNTER(regs);
	event->stack_pointer = stack;
	event->frame_pointer = FRAME_POINTER(regs);
	event->link = frame->return_address;
	event->sequence = frame->call.sequence;
	event->reserved = 0;
	event->function = frame->call.function;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Copies what slot `copy->slot` points to behind the words that are there. */
static __always_inline bool copy_memory(struct frame *frame, const struct gt_plan_copy *copy)
{
	__u64 *words = words_of(frame);
	__u64 pointer = words[copy->slot & (GT_PLAN_MAX_SLOTS - 1)];
	__u64 at = frame->words, size = copy->bytes;

	barrier_var(at);
	barrier_var(size);
	if (!pointer || at >= MAX_WORDS || size > GT_PLAN_MAX_COPIED * sizeof(__u64))
		return false;
	words[at + size / sizeof(__u64)] = 0; /* what the last word is not filled up with */
	if (bpf_probe_read_user(&words[at], size, (void *)pointer))
		return false;
	frame->words = at + (size + sizeof(__u64) - 1) / sizeof(__u64);
	return true;
}

static __always_inline void copy_all(struct frame *frame, const struct gt_plan *plan, __u8 when)
{
	for (int i = 0; i < GT_PLAN_MAX_COPIES; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when == when && copy_memory(frame, &plan->copy[i]))
			frame->call.copied |= 1 << i;
	}
}

static __always_inline void copy_arguments(struct frame *frame, const struct gt_plan *plan,
					   struct pt_regs *regs, __u64 stack)
{
	__u64 registers = plan->registers, on_stack = plan->stack;
	__u64 *words = words_of(frame);

	copy_registers(words, regs);
	if (registers > ARGUMENT_REGISTERS)
		registers = ARGUMENT_REGISTERS;
	on_stack &= GT_PLAN_MAX_SLOTS - 1;
	barrier_var(on_stack);
	if (on_stack && bpf_probe_read_user(&words[registers], on_stack * sizeof(__u64),
					    (void *)(stack + STACK_ARGUMENTS)))
		on_stack = 0;
	frame->call.slots = registers + on_stack;
	frame->words = registers + on_stack;
}

static __always_inline void put_apart(struct thread *thread, struct frame *frame,
				      const struct gt_plan *plan)
{
	put_strings(thread, frame, plan);
	for (int i = 0; i < GT_PLAN_MAX_COPIES && settings.kernel_arguments; i++) {
		if (i >= plan->copies)
			break;
		if (plan->copy[i].when == GT_COPY_ARGUMENTS)
			put_arguments(thread, frame, plan->copy[i].slot);
	}
}

static __always_inline void begin_call(struct thread *thread, const struct gt_plan *plan,
				       struct pt_regs *regs, __u64 cookie, __u64 now)
{
	struct frame *frame = frame_at(thread, thread->depth);
	struct gt_event_call *call = &frame->call;
	__u64 flags = cookie >> 48;
	__u16 outer = counted_calls(thread), hiding = hiding_calls(thread);

	call->head.time = now;
	call->head.process = thread->process;
	call->head.thread = thread->thread;
	call->head.kind = GT_EVENT_enter;
	call->head.clock = GT_CLOCK_MONOTONIC;
	put_current(&thread->where, call, flags & GT_COOKIE_RUNTIME);
	call->duration = 0;
	call->result = 0;
	call->stack = 0;
	frame->stack_pointer = STACK_POINTER(regs);
	call->function = cookie;
	call->library = cookie >> 32;
	call->depth = outer;
	call->state = outer ? GT_CALL_NESTED : 0;
	if (flags & GT_COOKIE_PER_THREAD)
		call->state |= GT_CALL_PER_THREAD;
	call->copied = 0;
	call->sequence = thread->sequence++;
	thread->depth++;
	copy_arguments(frame, plan, regs, frame->stack_pointer);
	copy_all(frame, plan, GT_COPY_AT_ENTRY);
	frame->aside = flags & GT_COOKIE_ASIDE;
	frame->counted = outer + !frame->aside;
	frame->hiding = hiding + !(flags & (GT_COOKIE_ASIDE | GT_COOKIE_LIBRARY));
	frame->urgent = 0;
	if (plan->apart)
		put_apart(thread, frame, plan);
	if (settings.stack_depth)
		frame->return_address = return_address(regs);
	if (settings.stack_depth && !frame->aside && !hiding) {
		if (settings.stack_copy)
			put_memory(thread, frame, regs);
		else
			call->stack = take_stack(thread, frame, regs);
	}
	if (settings.marks && !frame->aside && put_call(frame))
		COUNT(marks_lost);
}

SEC("uprobe")
int call_entry(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(regs), stack = STACK_POINTER(regs), now;
	__u32 function = cookie;
	struct thread *thread;
	struct gt_plan *plan;

	if (phase != GT_PHASE_TRACING)
		return 0;
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		COUNT(made);
		COUNT(lost);
		return 0;
	}
	if (!thread->known)
		meet(thread, task);
	plan = bpf_map_lookup_elem(&plans, &function);
	if (!thread->traced || !plan)
		return 0;
	now = bpf_ktime_get_ns();
	abandon_below(thread, stack, now);
	if (thread->depth && frame_at(thread, thread->depth - 1)->stack_pointer == stack) {
		if (is_jump(task, regs))
			return 0;
		abandon_call(thread, now);
	}
	if (cookie >> 48 & GT_COOKIE_ONLY_OUTERMOST && hiding_calls(thread)) {
		if (!plan->tell)
			return 0;
		cookie |= (__u64)GT_COOKIE_ASIDE << 48;
	}
	if (!(cookie >> 48 & GT_COOKIE_ASIDE))
		COUNT(made);
	if (!thread->named)
		name_process(thread, task);
	if (thread->depth >= DEEPEST_CALL) {
		thread->too_deep++;
		if (!(cookie >> 48 & GT_COOKIE_ASIDE))
			COUNT(lost);
		return 0;
	}
	begin_call(thread, plan, regs, cookie, now);
	return 0;
}

static __noinline void learn_told(struct thread *thread, struct frame *frame,
				  const struct gt_plan *plan)
{
	__u64 value = words_of(frame)[(plan->tell_value - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	__u64 ordinal = words_of(frame)[(plan->tell_device - 1) & (GT_PLAN_MAX_SLOTS - 1)];
	__s16 device = GT_DEVICE_UNKNOWN;

	if (plan->tell_device && (__u32)ordinal < MOST_DEVICES)
		device = (__s16)ordinal;
	if (plan->tell >= GT_TELL_DEVICE_UUID)
		learn_device(thread->device, &frame->call.head, plan->tell, value, device);
	else
		learn_current(&thread->where, &frame->call.head, plan->tell, value, device);
}

static __always_inline bool holds(const volatile struct gt_condition *condition,
				  const struct gt_event_call *call, __u64 result)
{
	__u64 value = condition->field == GT_CONDITION_DURATION ? call->duration
		      : condition->field == GT_CONDITION_RESULT ? result
								: call->depth;

	return gt_condition_holds(condition->compare, value, condition->value);
}

static __always_inline bool is_wanted(const struct gt_event_call *call, const struct gt_plan *plan)
{
	__u64 result = plan->error_result ? (__u32)call->result : call->result;

	if (settings.failed_only && !(plan->error_result && result))
		return false;
	for (__u32 i = 0; i < GT_MAX_CONDITIONS; i++) {
		if (i >= settings.condition_count)
			break;
		if (!holds(&settings.conditions[i], call, result))
			return false;
	}
	return true;
}

SEC("uretprobe")
int call_return(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 stack = STACK_POINTER(regs) - STACK_ARGUMENTS, now;
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 function = cookie;
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct gt_plan *plan = bpf_map_lookup_elem(&plans, &function);
	struct frame *frame;

	if (!thread || !plan || !thread->traced || phase == GT_PHASE_ATTACHING)
		return 0;
	if (thread->too_deep) {
		thread->too_deep--;
		return 0;
	}
	now = bpf_ktime_get_ns();
	abandon_below(thread, stack, now);
	frame = frame_at(thread, thread->depth - 1);
	if (!thread->depth || frame->stack_pointer != stack) {
		if (phase == GT_PHASE_TRACING && !(cookie >> 48 & GT_COOKIE_ASIDE) &&
		    !(cookie >> 48 & GT_COOKIE_ONLY_OUTERMOST && hiding_calls(thread)))
			COUNT(orphans);
		return 0;
	}
	if (frame->call.function != function)
		return 0; /* the second of two functions of which the first jumped to it */
	thread->depth--;
	frame->call.head.kind = frame->aside ? GT_EVENT_aside : GT_EVENT_call;
	frame->call.duration = now - frame->call.head.time;
	frame->call.head.time = now;
	frame->call.result = RESULT(regs);
	/* The runtime makes its context when it first needs one: inside of a call. */
	if (!frame->call.context)
		put_current(&thread->where, &frame->call, cookie >> 48 & GT_COOKIE_RUNTIME);
	if (plan->tell && !(__u32)frame->call.result)
		learn_told(thread, frame, plan);
	if (!frame->aside && !is_wanted(&frame->call, plan)) {
		COUNT(filtered);
		return 0;
	}
	if (!plan->error_result || !(__u32)frame->call.result)
		copy_all(frame, plan, GT_COPY_AT_SUCCESS);
	if (frame->urgent)
		put_strings(thread, frame, plan);
	if ((frame->aside && plan->tell) || !put_call(frame))
		return 0;
	if (frame->aside)
		COUNT(others_lost);
	else
		COUNT(lost);
	return 0;
}

static __always_inline void abandon_all(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 now = bpf_ktime_get_ns();

	if (!thread)
		return;
	for (int i = 0; i < DEEPEST_CALL && thread->traced; i++)
		abandon_call(thread, now);
	thread->known = 0;
}

SEC("tp_btf/sched_process_exit")
int thread_exit(__u64 *arguments)
{
	abandon_all(bpf_get_current_task_btf());
	return 0;
}

/* The name may be another now, and with it whether the process is traced. */
SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *arguments)
{
	abandon_all(bpf_get_current_task_btf());
	return 0;
}

struct bpf_iter_meta {
	__u64 padding;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/* At the end of the tracing: calls that are still running. */
SEC("iter/task")
int unfinished_calls(struct bpf_iter__task *iterator)
{
	if (iterator->task)
		abandon_all(iterator->task);
	return 0;
}
