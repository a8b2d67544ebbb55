/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that empties the ring into memory as fast as it fills, so that a slow output (a pipe, a
 * disk) loses no events in a burst. When the memory is full, records stay in the ring.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_event_reader;

/* Prepare to read the ring; `limit` bytes of records wait in memory at most. */
int gt_event_reader_open(int ring_fd, uint64_t limit, struct gt_event_reader **ret_reader,
			 struct gt_diag *diag);
/* End the thread and free everything. */
void gt_event_reader_close(struct gt_event_reader *reader);
GT_DEFINE_AUTO(event_reader, struct gt_event_reader, gt_event_reader_close)

/* Start the thread; it handles no signals. 0 or -Exxx. */
int gt_event_reader_start(struct gt_event_reader *reader, struct gt_diag *diag);

/* Return a descriptor for epoll that is readable when records wait. */
int gt_event_reader_fd(const struct gt_event_reader *reader);

/* Pass some records that wait to `take`, in the order of the ring. Returns whether more wait. */
bool gt_event_reader_take(struct gt_event_reader *reader,
			  void (*take)(void *context, void *record, size_t size), void *context);
/*
 * Return a time, on CLOCK_MONOTONIC: the records that were written before it wait, or were taken.
 */
uint64_t gt_event_reader_complete(const struct gt_event_reader *reader);
/*
 * Pass all records to `take` that were written before this call, and not many more. The thread must
 * run.
 */
void gt_event_reader_catch_up(struct gt_event_reader *reader,
			      void (*take)(void *context, void *record, size_t size),
			      void *context);
/* Read the ring to its end, with the same `take`. No more is written to it, and the thread ends. */
void gt_event_reader_finish(struct gt_event_reader *reader,
			    void (*take)(void *context, void *record, size_t size), void *context);
