/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a thread from entries to returns, in its task storage: the calls that have not
 * returned, each with its record, and the current context.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "base/walk.h"
#include "event/event.h"
#include "probe/api/current.bpf.h"
#include "probe/api/shared.bpf.h"
#include "probe/api/unwind.bpf.h"
#include "probe/python/python.bpf.h"
#include "probe/task.bpf.h"

#define MAX_CALL 8 /* a power of two */
#define MAX_WORDS (GT_PLAN_MAX_SLOTS + GT_PLAN_MAX_COPIED)
#define ROOM_WORDS (MAX_WORDS + GT_PLAN_MAX_COPIED + 1) /* the verifier adds up both limits */
#define HEAD_WORDS (sizeof(struct gt_event_call) / sizeof(__u64))
#define STACK_HEAD_WORDS (sizeof(struct gt_event_stack) / sizeof(__u64))
#define ARGUMENTS_HEAD_WORDS (sizeof(struct gt_event_arguments) / sizeof(__u64))
#define STRING_HEAD_WORDS (sizeof(struct gt_event_string) / sizeof(__u64))

/*
 * In call_frame.implicit: the parent made the call, and forked inside it. The kernel copies the
 * pending returns to the child (uprobe_copy_process(), kernel/events/uprobes.c).
 */
#define FRAME_INHERITED 0x8000

/* A call that has not returned. */
struct call_frame {
	__u64 stack_pointer;  /* at entry */
	__u64 return_address; /* before the kernel replaces it; only with stacks */
	__u64 entry;          /* address of the entry; only with copies of stacks */
	__u16 implicit;       /* is not counted: its flags of UNCOUNTED, or FRAME_INHERITED */
	__u16 urgent;         /* a string is missing, which the reader may still read */
	__u16 counted;        /* calls up to this one that are not implicit … */
	__u16 hiding;         /* … and those of them that hide driver calls inside them */
	__u16 jumps;          /* functions that it jumped to, and that return before it */
	__u64 words;          /* used of record[], behind the head */
	union {
		struct gt_event_call call;
		__u64 record[HEAD_WORDS + ROOM_WORDS];
	};
};

struct thread_calls {
	__u32 process;
	__u32 thread;
	__u32 depth;    /* frames in use */
	__u32 too_deep; /* calls inside the innermost frame, counted as lost */
	__u16 sequence;
	__u8 known; /* the fields above and `traced` are filled in */
	__u8 traced;
	__u8 named;    /* its process event was written */
	__u8 inherits; /* it may return from calls that its parent made; only for count_session */
	__u32 parent;  /* process id; with Python frames only */
	struct current_state where;
	struct call_frame frames[MAX_CALL];
};

/* Events that are built at entry or return. */
struct thread_buffers {
	struct python_walk python;
	union {
		struct {
			__u64 stack[STACK_HEAD_WORDS + GT_MAX_CALLERS];
			struct caller_walk walk;
		};
		__u64 string[STRING_HEAD_WORDS + GT_MAX_STRING / sizeof(__u64) + 1];
		__u64 arguments[ARGUMENTS_HEAD_WORDS + GT_MAX_ARGUMENTS];
		__u64 device[DEVICE_WORDS];
	};
};

/*
 * Linux 7.2 allocates no larger values than two pages with its own fields, and says so only at
 * run time: the calls of every thread would be lost. (Linux 6.18 allocates them.)
 */
#define MAX_STORAGE (8192 - 256)
_Static_assert(sizeof(struct thread_calls) <= MAX_STORAGE, "too large for task storage");
_Static_assert(sizeof(struct thread_buffers) <= MAX_STORAGE, "too large for task storage");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_buffers);
} buffers SEC(".maps");

/* The buffers of the current thread; NULL, and an event is counted as lost: there is no memory. */
static __always_inline struct thread_buffers *current_buffers(void)
{
	struct thread_buffers *found = bpf_task_storage_get(&buffers, bpf_get_current_task_btf(), 0,
							    BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!found)
		COUNT(others_lost);
	return found;
}

static __always_inline struct call_frame *frame_at(struct thread_calls *thread, __u32 index)
{
	return &thread->frames[index & (MAX_CALL - 1)];
}

/* Emit the name of the thread's process, once; again if the ring was full. */
static __noinline void name_process(struct thread_calls *thread, struct task_struct *task)
{
	if (put_process(task, thread->process, thread->thread))
		COUNT(others_lost);
	else
		thread->named = 1;
}

/* The first call of a thread, or the first after exec. */
static __noinline void initialise_thread(struct thread_calls *thread, struct task_struct *task)
{
	thread->thread = id_in_our_namespace(task);
	thread->process = id_in_our_namespace(BPF_CORE_READ(task, group_leader));
	thread->traced = current_passes(task, thread->process);
	thread->named = 0;
	thread->parent =
		settings.python
			? id_in_our_namespace(BPF_CORE_READ(task, group_leader, real_parent))
			: 0;
	thread->where.device = settings.first_device;
	thread->where.depth = 0;
	thread->where.version = 0;
	thread->known = 1;
}

/* Calls that enclose a new one of the thread, without implicit ones. */
static __always_inline __u16 counted_calls(struct thread_calls *thread)
{
	return thread->depth ? frame_at(thread, thread->depth - 1)->counted : 0;
}

/* Whether a new call of the thread is made by one that it inherited, and not by one of its own. */
static __always_inline bool is_inside_inherited(struct thread_calls *thread)
{
	return thread->depth && frame_at(thread, thread->depth - 1)->implicit & FRAME_INHERITED;
}

static __always_inline __u16 hiding_calls(struct thread_calls *thread)
{
	return thread->depth ? frame_at(thread, thread->depth - 1)->hiding : 0;
}
