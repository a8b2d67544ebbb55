/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work that was put into streams and of which no call has proved yet that it ended: copies, and
 * launches. So many are kept; beyond that the oldest is given up and counted.
 */
#pragma once

#include "analysis/order.h"

#define GT_FLIGHT_DEFAULT 10240

struct gt_flight;

/* One piece of work. */
struct gt_work {
	uint64_t issued;   /* start of the call that put it there, ns */
	uint64_t returned; /* its return */
	uint64_t tag;      /* identifies it for the analysis; 0: gt_flight_last ignores it */
};

/* NULL: no memory. */
struct gt_flight *gt_flight_new(size_t most);
void gt_flight_free(struct gt_flight *flight);

/* Called for work that has ended: `end` is when that was known, so that it ended before. */
typedef void (*gt_flight_sink)(void *context, const struct gt_work *work, uint64_t end);

/*
 * Takes an operation: reports the work that it proves complete, then, if `tag` is not NULL and the
 * operation puts work into a stream, keeps that. `blocks` says that a copy without a stream waits
 * for itself. 0 or -ENOMEM.
 */
int gt_flight_take(struct gt_flight *flight, const struct gt_operation *operation,
		   const uint64_t *tag, bool blocks, gt_flight_sink sink, void *context);
/* The last work of a process that is in flight and has a tag, or NULL; *ret_count is how much there
 * is.
 */
const struct gt_work *gt_flight_last(const struct gt_flight *flight, uint32_t process,
				     size_t *ret_count);
/* How much work of a process is in flight, with and without a tag. */
size_t gt_flight_count_in(const struct gt_flight *flight, uint32_t process);
/* Forgets a process; its work ended with it, nobody knows when. Returns how much there was. */
size_t gt_flight_end_process(struct gt_flight *flight, uint32_t process);

size_t gt_flight_count(const struct gt_flight *flight);
/* How much was given up. */
uint64_t gt_flight_evicted(const struct gt_flight *flight);
