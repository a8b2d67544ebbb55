/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of summaries of layer sources, found by a key: what the analyses of fences, DRM jobs and
 * vblanks have in common.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"

#define GT_TAIL_NAMES 64 /* bytes of the names in the tail of an event, with their NULs */

struct gt_keyed_rows {
	struct gt_hash *by_key; /* -> the row */
	GT_VEC(void *) rows;    /* in the order of their first event */
};

/* 0 or -ENOMEM. */
int gt_keyed_rows_init(struct gt_keyed_rows *rows);
/* Free the rows, after `release` of each (NULL: nothing). */
void gt_keyed_rows_free(struct gt_keyed_rows *rows, void (*release)(void *row));
/*
 * The row of a key; a new one has `size` zero bytes and begins with the key. NULL: out of memory.
 */
void *gt_keyed_rows_get(struct gt_keyed_rows *rows, const void *key, size_t key_size, size_t size);

/* Sort the rows by a value of each, the largest first; rows of the same value keep their order. */
void gt_keyed_rows_sort(struct gt_keyed_rows *rows, uint64_t (*value)(const void *row));

/* Copy the names in the tail of an event; NULs where it has none. */
void gt_tail_names(const struct gt_event *event, char names[GT_TAIL_NAMES]);
