/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Definitions shared by the BPF programs on API functions and user space. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "api/plan.h"
#include "base/operators.h"
#include "event/durations.h"

/*
 * The attach cookie: the row of the function in the API tables, the number of its file, flags.
 * count_session has the key of the function's sums (gt_plan.sums) in place of the file's number.
 */
#define GT_COOKIE(function, library, flags)                                                        \
	((__u64)(flags) << 48 | (__u64)(library) << 32 | (function))
/*
 * Filtered inside another traced call: the runtime's own calls of the driver. Contexts and devices
 * are learnt from them nevertheless.
 */
#define GT_COOKIE_ONLY_OUTERMOST 1
/* An implicit call: becomes an `implicit` event and is not counted. */
#define GT_COOKIE_IMPLICIT 2
/* A per-thread-stream variant (_ptsz, _ptds): its default stream is the thread's own. */
#define GT_COOKIE_PER_THREAD 8
/* The runtime API: it uses the thread's current device. */
#define GT_COOKIE_RUNTIME 4
/* Of a library above CUDA: it does not hide the calls inside it. */
#define GT_COOKIE_LIBRARY 16
/*
 * One probe for all functions of a group. At an entry, the map `sites` has the cookie of the
 * function, by the group (in place of the row) and the offset of the address in its page. At a
 * return, the function is that of the returning call, and the other flags hold for all.
 */
#define GT_COOKIE_GROUP 32
/* Becomes a call only if it fails; else it is not counted, or an implicit call with that flag. */
#define GT_COOKIE_WATCHED 64
/*
 * A function of the runtime that is not traced: the driver calls inside it are filtered. Alone, it
 * is known while it runs, and nothing of it is recorded.
 */
#define GT_COOKIE_BOUNDARY 128
/* NULL is the result of a failed call (GT_RESULT_POINTER); only for count_session. */
#define GT_COOKIE_POINTER 256
#define GT_SITE_PAGE 4096u /* the smallest page size */
#define GT_SITE_KEY(group, address)                                                                \
	((__u32)(group)*GT_SITE_PAGE + (__u32)((address) & (GT_SITE_PAGE - 1)))

#define GT_MAX_CALLERS 127 /* callers that are recorded */
/*
 * Probes of entries and returns are attached and detached one after another: meanwhile a return
 * could be seen whose entry was missed.
 */
enum gt_call_phase {
	GT_PHASE_ATTACHING, /* events are ignored */
	GT_PHASE_TRACING,
	GT_PHASE_ENDING, /* no new calls; those that began may return */
};

#define GT_STACK_COPY 16384 /* bytes of the stack that are copied to be unwound */
#define GT_STACK_PIECE 256  /* the unit of copying, up to the end of the stack */
#define GT_MAX_ARGUMENTS 16 /* recorded arguments of a kernel */
#define GT_MAX_STRING 2048  /* recorded bytes of a string */

#define GT_MAX_CONDITIONS 4

enum gt_condition_field {
	GT_CONDITION_DURATION, /* ns */
	GT_CONDITION_RESULT,
	GT_CONDITION_DEPTH,
	GT_CONDITION_THREAD,
};

struct gt_condition {
	__u64 value;
	__u8 field;   /* enum gt_condition_field */
	__u8 compare; /* enum gt_comparison_operator */
	__u8 reserved[6];
};

/* Whether a condition holds for a value of its field. */
static inline int gt_condition_holds(__u8 compare, __u64 value, __u64 limit)
{
	switch (compare) {
	case GT_LESS:
		return value < limit;
	case GT_LESS_OR_EQUAL:
		return value <= limit;
	case GT_EQUAL:
		return value == limit;
	case GT_NOT_EQUAL:
		return value != limit;
	case GT_GREATER_OR_EQUAL:
		return value >= limit;
	default:
		return value > limit;
	}
}

/* Set in the key of words (gt_count_program_key), in a bit that no time has in the next 73 years of
 * uptime. */
#define GT_WORD_SET (1ull << 61)

/* In place of the number of a function of the kernel (count_program.c). */
#define GT_CALL_SESSION_COOKIE 0x6710001 /* bpf_session_cookie() */

struct gt_call_settings {
	struct gt_condition conditions[GT_MAX_CONDITIONS]; /* all must hold */
	__u32 condition_count;
	__u8 failed_only;   /* keep calls that failed, by the result of their plan */
	__u8 entries;       /* write entry events */
	__u8 sums;          /* count the calls of each function, write no records of them */
	__u8 stack_depth;   /* callers to take of an outermost call, at most GT_MAX_CALLERS; 0: none
			     */
	__s16 first_device; /* the device of a thread before it selects one */
	__u8 stack_copy;    /* copy stacks instead of following frame pointers */
	__u8 unwind;        /* follow unwinding rules, and frame pointers where there are none */
	__u8 kernel_arguments; /* record the arguments of kernels */
	__u8 python;           /* record Python frames with stacks */
	__u8 has_agent;        /* ignore the calls that the agent makes itself (base/own_call.h) */
	__u64 loaded;          /* when the programs are loaded; only for count_session */
};

/* Of one function, one per CPU: the fields of a `sums` event. */
struct gt_call_sums {
	__u64 errors;
	__u64 unfinished;
	__u64 total;
	__u64 longest;
	/* By count_session alone: the calls that began, for it does not see unfinished ones … */
	__u64 begun;
	__u64 last_registers; /* … and a traced thread, not forked inside a call: its registers and
				 … */
	__u64 last_generation; /* … when that was known */
	__u64 durations[GT_DURATION_BUCKETS];
};

/* One per CPU; added to atomically, since uprobe programs can be preempted. */
struct gt_call_counts {
	__u64 made;
	__u64 unfinished;
	__u64 lost;
	__u64 filtered;
	__u64 orphans;
	__u64 entries_lost;
	__u64 others_lost;
};
