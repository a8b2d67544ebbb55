/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which calls of APIs the agent records, and what of each: a file of gputap that the traced process
 * maps (GT_AGENT_CALLS in protocol.h). It has a row for each function of the API tables, in their
 * order, so that both sides must be of one build.
 */
#pragma once

#include <linux/types.h>

#include "api/plan.h"

enum gt_agent_call_flags {
	GT_AGENT_CALL_HOOKED = 1,   /* calls are seen; else they pass */
	GT_AGENT_CALL_IMPLICIT = 2, /* recorded for names: an `implicit` event, not counted */
	GT_AGENT_CALL_WATCHED = 4,  /* recorded if it fails */
	/* Driver calls inside it are hidden; alone, nothing of it is recorded. */
	GT_AGENT_CALL_BOUNDARY = 8,
	GT_AGENT_CALL_OUTERMOST = 16, /* recorded only outside of other calls */
	GT_AGENT_CALL_LIBRARY = 32,   /* of a library above CUDA: hides no calls inside it */
	GT_AGENT_CALL_RUNTIME = 64,   /* of the runtime API */
	/* Its second argument points to a function of the driver that it returned. */
	GT_AGENT_CALL_FINDS_FUNCTION = 128,
	/* Calls with such a flag are not counted at their entries. */
	GT_AGENT_CALL_UNCOUNTED =
		GT_AGENT_CALL_IMPLICIT | GT_AGENT_CALL_WATCHED | GT_AGENT_CALL_BOUNDARY,
};

struct gt_agent_call_row {
	__u16 flags;       /* gt_agent_call_flags */
	__u16 library;     /* number of `library` events: 1 + that of the API table */
	__u32 stack_words; /* of arguments, which may be more than the plan keeps */
	struct gt_plan plan;
};

struct gt_agent_call_table {
	__u32 row_count;
	__s16 first_device; /* of a thread before it selects one */
	__u8 failed_only;   /* record only calls that fail */
	__u8 entries;       /* write entry events */
	__u8 stack_depth;   /* callers of an outermost call; 0: none */
	__u8 kernel_arguments;
	__u8 drops; /* records that a full ring has no room for; else their thread waits */
	__u8 reserved;
	__u32 reserved2;
	struct gt_agent_call_row rows[];
};
