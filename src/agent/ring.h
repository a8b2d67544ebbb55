/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring of events of a traced process, for both sides: a file of gputap that the process maps
 * (GT_AGENT_EVENTS in protocol.h). Threads of the process write records without a lock; gputap
 * reads them. Where the reader is late, records are dropped and counted.
 *
 * The file is a page with struct gt_agent_ring_head, then `capacity` bytes of data, which both
 * sides map twice, one after the other, so that no record is split. A record is a word, its tag,
 * and a struct gt_event with what follows it. To write one, a thread advances `reserved`, fills in
 * the event, and stores the tag, which is different at each position. The reader clears what it has
 * read before it advances `released`: a record is there if its tag is.
 *
 * A thread that never completes a record (its signal handler leaves it by longjmp) blocks the
 * records after it until the process ends; then the reader skips it.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"

/* What is counted in a ring, for the whole process. */
enum gt_agent_count {
	GT_AGENT_LOST,       /* records that the ring had no room for */
	GT_AGENT_TIMED,      /* operations with events before and after; each becomes a record */
	GT_AGENT_UNSAMPLED,  /* operations that were not timed: of --gpu-times sampled */
	GT_AGENT_CAPTURED,   /* …: their stream was in stream capture */
	GT_AGENT_EXHAUSTED,  /* …: too many wait for their end */
	GT_AGENT_UNTIMED,    /* …: the driver rejected an event */
	GT_AGENT_CROWDED,    /* …: their process has too many contexts, or devices of OpenCL */
	GT_AGENT_UNPROFILED, /* …: their queue of OpenCL was created without profiling */
	GT_AGENT_LEVEL_ZERO, /* …: they were appended to a command list of Level Zero */
	/* Of calls (call_table.h); the records of calls are not among GT_AGENT_LOST. */
	GT_AGENT_CALLS_MADE,
	GT_AGENT_CALLS_LOST, /* no room, no memory, or in a signal handler */
	GT_AGENT_CALLS_FILTERED,
	GT_AGENT_CALL_ENTRIES_LOST,
	GT_AGENT_CALL_OTHERS_LOST, /* events of other kinds; calls that were abandoned */
	GT_AGENT_CALL_UNHOOKED,    /* functions that programs looked up and that are not hooked */
	/* What the hooks of calls cost: of each thread every GT_AGENT_COST_PERIOD-th entry or
	 * return is measured, how many, and their time in ns. */
	GT_AGENT_CALL_RUNS,
	GT_AGENT_CALL_RUN_NS,
	GT_AGENT_CALL_WAIT_NS, /* all that threads waited for room in the ring; not in RUN_NS */
	GT_AGENT_COUNTS,
};

/* Odd: entries and returns alternate. */
#define GT_AGENT_COST_PERIOD 61

/* What happens to calls of APIs: gputap sets it while the process runs (--max-overhead). */
enum gt_agent_calls_mode {
	GT_AGENT_CALLS_RECORDED,
	GT_AGENT_CALLS_PAUSED, /* none is recorded; what later records depend on is kept */
	GT_AGENT_CALLS_OFF,    /* for good: the hooks let them pass */
};

enum {
	GT_AGENT_RING_PAGE = 4096, /* of the head */
	GT_AGENT_RING_MIN = 1 << 12,
	GT_AGENT_RING_MAX = 1 << 28, /* bytes of data */
	/* Events of the rings alone, beside those of event.def. */
	GT_AGENT_EVENT_CLOCK = 0xff00,  /* struct gt_agent_clock */
	GT_AGENT_EVENT_CALLER = 0xff01, /* struct gt_event_library: a file that uses the driver */
	/* A flag of gpu_work in the rings alone: the work was done when the driver returned. */
	GT_AGENT_SYNCHRONOUS = 1 << 16,
	/* …: start and end are those of the operation alone, so that its duration is known. */
	GT_AGENT_PROFILED = 1 << 17,
};

struct gt_agent_ring_head {
	__u64 capacity; /* bytes of data, a power of 2 */
	__u64 counts[GT_AGENT_COUNTS];
	__u64 calls_mode;                            /* gt_agent_calls_mode; of the reader */
	__u64 reserved __attribute__((aligned(64))); /* bytes, ever */
	__u64 released __attribute__((aligned(64))); /* bytes, ever; of the reader */
};

/*
 * A moment on the clock of a context of the process: head.time, in ns on head.clock, was between
 * two times of CLOCK_MONOTONIC. It precedes the records of that clock, which begin at
 * GT_AGENT_FIRST_CLOCK.
 */
struct gt_agent_clock {
	struct gt_event head;
	__u64 before, after;
};
#define GT_AGENT_FIRST_CLOCK 256 /* after those of GPUs, and GT_CLOCK_MONOTONIC */
#define GT_AGENT_CL_CLOCKS 8     /* the last ones, of devices of OpenCL */
#define GT_AGENT_FIRST_CL_CLOCK (0x10000 - GT_AGENT_CL_CLOCKS)

/* A ring as it is mapped; head NULL: there is none. */
struct gt_agent_ring {
	struct gt_agent_ring_head *head;
	__u8 *data;
	__u64 capacity; /* checked */
};

static inline __u64 *gt_agent_ring_word(const struct gt_agent_ring *ring, __u64 position)
{
	return (__u64 *)(void *)(ring->data + (position & (ring->capacity - 1)));
}

static inline __u64 gt_agent_ring_tag(__u64 position)
{
	return ~position;
}

static inline void gt_agent_add(const struct gt_agent_ring *ring, enum gt_agent_count count,
				__u64 number)
{
	__atomic_fetch_add(&ring->head->counts[count], number, __ATOMIC_RELAXED);
}

static inline void gt_agent_count(const struct gt_agent_ring *ring, enum gt_agent_count count)
{
	gt_agent_add(ring, count, 1);
}

/*
 * Reserve a record for an event of `size` bytes, a multiple of 8. The event is to be filled in and
 * committed soon. NULL: no room.
 */
static inline struct gt_event *gt_agent_ring_try(const struct gt_agent_ring *ring, size_t size,
						 __u64 *ret_position)
{
	__u64 total = size + sizeof(__u64);
	__u64 position = __atomic_load_n(&ring->head->reserved, __ATOMIC_RELAXED);

	do {
		__u64 released = __atomic_load_n(&ring->head->released, __ATOMIC_ACQUIRE);

		if (position + total - released > ring->capacity)
			return NULL;
	} while (!__atomic_compare_exchange_n(&ring->head->reserved, &position, position + total,
					      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_position = position;
	return (struct gt_event *)(gt_agent_ring_word(ring, position) + 1);
}

/* As gt_agent_ring_try; that there is no room is counted. */
static inline struct gt_event *gt_agent_ring_reserve(const struct gt_agent_ring *ring, size_t size,
						     __u64 *ret_position)
{
	struct gt_event *record = gt_agent_ring_try(ring, size, ret_position);

	if (!record)
		gt_agent_count(ring, GT_AGENT_LOST);
	return record;
}

static inline void gt_agent_ring_commit(const struct gt_agent_ring *ring, __u64 position)
{
	__atomic_store_n(gt_agent_ring_word(ring, position), gt_agent_ring_tag(position),
			 __ATOMIC_RELEASE);
}

/* Write a whole event. False: no room, which is counted. */
static inline bool gt_agent_ring_put(const struct gt_agent_ring *ring, const struct gt_event *event)
{
	__u64 position;
	struct gt_event *record = gt_agent_ring_reserve(ring, event->size, &position);

	if (!record)
		return false;
	__builtin_memcpy(record, event, event->size);
	gt_agent_ring_commit(ring, position);
	return true;
}
