/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations of GPUs that are not complete yet: submitted, and perhaps measured or known to have
 * ended. Only the timeline uses it.
 */
#pragma once

#include <sys/queue.h>

#include "analysis/order.h"
#include "analysis/timeline/timeline.h"
#include "base/vec.h"

struct pending_stream;

struct pending_operation {
	struct gt_gpu_interval interval;
	uint64_t call_start, call_end; /* of the innermost call that submitted it */
	uint64_t proven;               /* when it was known that it had ended; 0: it is not */
	bool measured;
	struct pending_stream *stream;
	TAILQ_ENTRY(pending_operation) age, in_stream, unmeasured, overdue;
};
TAILQ_HEAD(pending_list, pending_operation);

/* The operations of a stream in their order; those that are proven come first. */
struct pending_stream {
	struct pending_list operations;
	struct pending_operation *unproven; /* the first one; NULL: none */
	uint64_t last;                      /* number of the last operation */
	uint64_t measured;                  /* number of the last one that was measured */
	uint64_t ended;                     /* the last that was passed on ended then, or later */
	uint64_t ended_number;
	bool unordered; /* its operations are in the order of events alone */
	uint64_t *seen; /* by stream: gt_order_before at the last operation */
	uint32_t seen_count;
	bool dirty, detached; /* detached: its process ended */
	TAILQ_ENTRY(pending_stream) changed;
};

/* A thread that submits work, and its `gpu_work` events that came before its call returned. */
struct pending_thread {
	uint32_t process;
	/* Its last outermost call; while that is open, the last nested one with its number. */
	struct gt_timeline_join outer;
	bool open; /* a nested call returned, the outermost one has not */
	struct pending_list unmeasured;
	struct pending_operation *hint; /* where the last match was */
	GT_VEC(struct gt_event_gpu_work) early;
};

struct pending;

/* NULL: out of memory. */
struct pending *pending_new(const struct gt_timeline_sink *sink, struct gt_timeline_totals *totals);
void pending_free(struct pending *pending);

/* NULL: out of memory. */
struct pending_thread *pending_thread(struct pending *pending, uint32_t process, uint32_t thread);

/*
 * Add an operation that is being put into a stream. Its dependencies are found in `order`, which
 * has taken it. 0 or -ENOMEM.
 */
int pending_add(struct pending *pending, struct pending_thread *thread,
		const struct gt_order *order, const struct gt_order_stream *stream,
		const struct pending_operation *operation);
/*
 * Note what a call proves to have ended. The last operation of each stream is added to `waited`,
 * unless that is NULL or full.
 */
void pending_prove(struct pending *pending, const struct gt_order *order,
		   const struct gt_operation *operation, const struct gt_timeline_join *join,
		   struct gt_timeline_waited *waited);
/* Find the operation of a `gpu_work` event, or keep the event until its call is seen. 0 or -ENOMEM.
 */
int pending_measure(struct pending *pending, const struct gt_names *names,
		    const struct gt_event_gpu_work *work);
/* A process ended. */
void pending_end_process(struct pending *pending, uint32_t process, uint64_t time);
/* Pass on what is complete at a time of the events, or all. 0 or the sink's result. */
int pending_flush(struct pending *pending, const struct gt_names *names, uint64_t now, bool all);
/* The start of the oldest call with a pending operation; UINT64_MAX: there is none. */
uint64_t pending_oldest(const struct pending *pending);
