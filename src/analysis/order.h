/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order of work in streams: which work has surely ended when a call returns.
 *
 * Sources: CUDA C++ Programming Guide, "Default Stream"; CUDA Runtime API, "Stream synchronization
 * behavior". Work in the legacy default stream waits for all that was put into blocking streams
 * before, and they wait for it; a stream that waits for an event waits for what was in its stream
 * when it was recorded. The OpenCL Specification, 3.0, 5.12: commands wait for the events of their
 * list, and complete their own event; those of an out-of-order queue are in no other order, so that
 * the event of one says nothing of the commands before it. Streams of which the creation was not
 * seen are taken for non-blocking ones, so that too little rather than too much is said to have
 * ended.
 */
#pragma once

#include "analysis/operation.h"

struct gt_order;

struct gt_order *gt_order_new(void);
void gt_order_free(struct gt_order *order);
GT_DEFINE_AUTO(order, struct gt_order, gt_order_free)

/* A stream of a process; its number is valid until the process ends. */
struct gt_order_stream {
	uint32_t process;
	uint32_t number;
	bool unordered; /* an out-of-order queue */
};

/*
 * Takes an operation. If it puts work into a stream, *ret_stream is that stream and the result 1;
 * else 0; or -ENOMEM.
 */
int gt_order_take(struct gt_order *order, const struct gt_operation *operation,
		  struct gt_order_stream *ret_stream);

/*
 * What an operation that returned proves: work that was put into `stream` by a call that returned
 * at `time` or before has ended. Returns that time; 0: nothing.
 */
uint64_t gt_order_ended(const struct gt_order *order, const struct gt_operation *operation,
			uint32_t stream);
/*
 * The work of `other` that precedes what is put into a stream from now on: that of calls that
 * returned at this time or before; 0: none is known.
 */
uint64_t gt_order_before(const struct gt_order *order, const struct gt_order_stream *stream,
			 uint32_t other);
/* Whether an operation can prove anything at all. */
bool gt_order_proves(const struct gt_operation *operation);
/* How many streams of a process have a number: 0 … n - 1. */
uint32_t gt_order_streams(const struct gt_order *order, uint32_t process);
void gt_order_end_process(struct gt_order *order, uint32_t process);
