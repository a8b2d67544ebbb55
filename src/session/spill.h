/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of records between two threads, in memory that is bounded: one thread appends records
 * (the reader of the ring), the other takes them (the one that writes them out). While it is full
 * the first one waits, so that records stay in the ring, where losses are counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

#define GT_SPILL_MAX_RECORD 65536 /* bytes */

struct gt_spill;

/* Create a queue of about `limit` bytes at most, but of at least two pieces. NULL: no memory. */
struct gt_spill *gt_spill_new(uint64_t limit);
void gt_spill_free(struct gt_spill *spill);
GT_DEFINE_AUTO(spill, struct gt_spill, gt_spill_free)

/*
 * Append a copy of a record of up to GT_SPILL_MAX_RECORD bytes; a longer one is truncated. Waits
 * while the queue is full or memory is short. For one thread.
 */
void gt_spill_put(struct gt_spill *spill, const void *record, size_t size);

/*
 * Pass waiting records to `take`, in their order, at most about 1 MiB of them; they are aligned to
 * 8 bytes and are gone afterwards. Returns whether more wait. For one thread.
 */
bool gt_spill_take(struct gt_spill *spill, void (*take)(void *context, void *record, size_t size),
		   void *context);

/* Return how many calls of gt_spill_take, at most, pass all records that wait now. */
size_t gt_spill_pieces(struct gt_spill *spill);

/* Return the largest memory that the queue used so far, in bytes. */
uint64_t gt_spill_peak(const struct gt_spill *spill);
