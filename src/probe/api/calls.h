/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the BPF programs on API functions and their user-space half share. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "api/plan.h"

/* The attach cookie: the row of the function in the API tables, the number of its file, flags. */
#define GT_COOKIE(function, library, flags)                                                        \
	((__u64)(flags) << 48 | (__u64)(library) << 32 | (function))
/*
 * Left out inside of another call that is traced: the runtime's own calls of the driver. What it
 * tells of contexts and devices is learnt nevertheless.
 */
#define GT_COOKIE_ONLY_OUTERMOST 1
/* An implicit call: becomes an `implicit` event and is not counted. */
#define GT_COOKIE_IMPLICIT 2
/* A twin (_ptsz, _ptds): the default stream that it uses is the thread's own. */
#define GT_COOKIE_PER_THREAD 8
/* The runtime API: it uses the thread's current device. */
#define GT_COOKIE_RUNTIME 4
/* Of a library above CUDA: the calls inside of it are no parts of it. */
#define GT_COOKIE_LIBRARY 16
/*
 * One probe for the functions of a group. At an entry, the cookie of each is in the map `sites`,
 * by the group, which stands in place of the row, and the address within its page; at a return,
 * the call that returns is the function, and the other flags hold for all.
 */
#define GT_COOKIE_GROUP 32
#define GT_SITE_PAGE 4096u /* the least there is */
#define GT_SITE_KEY(group, address)                                                                \
	((__u32)(group)*GT_SITE_PAGE + (__u32)((address) & (GT_SITE_PAGE - 1)))

#define GT_MAX_CALLERS 127 /* callers that are taken */
/*
 * Probes of entries and returns are put in place, and taken off, one after another: meanwhile a
 * call could be seen to return and not to begin.
 */
enum gt_call_phase {
	GT_PHASE_ATTACHING, /* nothing is looked at */
	GT_PHASE_TRACING,
	GT_PHASE_ENDING, /* no call begins; those that began may return */
};

#define GT_STACK_COPY 16384 /* bytes of the stack that are copied to be unwound */
#define GT_STACK_PIECE 256  /* it is copied in such pieces, up to the stack's end */
#define GT_MAX_ARGUMENTS 16 /* arguments of a kernel that are taken */
#define GT_MAX_STRING 2048  /* bytes of a string that are kept */

#define GT_MAX_CONDITIONS 4

enum gt_condition_field {
	GT_CONDITION_DURATION, /* ns */
	GT_CONDITION_RESULT,
	GT_CONDITION_DEPTH,
};

enum gt_condition_operator {
	GT_LESS,
	GT_LESS_OR_EQUAL,
	GT_EQUAL,
	GT_NOT_EQUAL,
	GT_GREATER_OR_EQUAL,
	GT_GREATER,
};

struct gt_condition {
	__u64 value;
	__u8 field;   /* enum gt_condition_field */
	__u8 compare; /* enum gt_condition_operator */
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

struct gt_call_settings {
	struct gt_condition conditions[GT_MAX_CONDITIONS]; /* all must hold */
	__u32 condition_count;
	__u8 failed_only;   /* keep calls whose plan says error_result and that failed */
	__u8 entries;       /* write entry events */
	__u8 stack_depth;   /* callers to take of an outermost call, at most GT_MAX_CALLERS; 0: none
			     */
	__s16 first_device; /* that a thread uses until it says another */
	__u8 stack_copy;    /* copy stacks, in place of following frame pointers */
	__u8 kernel_arguments; /* take what kernels are launched with */
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
