/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by call-parts.c and its BPF programs. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define PART_RECORD_BYTES 96 /* of a call with two arguments */
#define PART_RING_BYTES (1u << 21)
#define PART_ROUNDS 4096 /* whose records fit into the ring, as those of all CALL_WINDOWs do */

/* Steps of calls, as bits. */
enum {
	PART_TIME_STAMP,
	PART_THREAD_STATE,
	PART_PLAN,
	PART_COUNT,
	PART_USER_WORD,
	PART_RING_QUERY,
	PART_RING_RECORD,
};

struct part_request {
	__u32 rounds;
	__u32 at_entry, at_return; /* steps of trap_entry and trap_return */
	__u32 reserved;
	__u64 memory; /* address in the process that runs the program */
};

struct part_state {
	__u64 words[8];
};

struct part_plan {
	__u64 words[8];
};
