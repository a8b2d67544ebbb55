/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The analysis of copies over a stream of events, for its tests. */
#pragma once

#include "analysis/copies.h"

#include "analysis.h"

#define H2H 0
#define H2D 1
#define D2H 2
#define D2D 3
#define DEFAULT 4

#define DEVICE 0x7f0000000000 /* device memory of a MiB */
#define PINNED 0x200000000    /* pinned memory of a MiB */
#define HOST 0x55550000       /* memory that CUDA knows nothing of */

static struct gt_copies *copies;
static const struct gt_copies_row *const *rows;
static size_t count;
static struct gt_copies_totals totals;

static inline int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_copies_take(analysis, names, event);
}

static inline void start_with(enum gt_by by, size_t most)
{
	gt_copies_free(copies);
	copies = gt_copies_new(by, most);
	STREAM_INTO(copies, take);
	cuda_malloc(DEVICE, 1 << 20);
	allocate("cudaMallocHost", "size", PINNED, 1 << 20, 0);
}

static inline void start(void)
{
	start_with(GT_BY_NOTHING, 10240);
}

static inline void look(void)
{
	CHECK_INT(gt_copies_rows(copies, stream.names, &rows, &count, &totals), 0);
}

/* The one row. */
static inline const struct gt_copies_row *only(enum gt_direction direction)
{
	look();
	if (count != 1)
		TAP_FAIL("there are %zu rows, not 1", count);
	CHECK_STR(gt_direction_name(rows[0]->direction), gt_direction_name(direction));
	return rows[0];
}

/* How many copies are known to be done, of one direction. */
static inline void expect_done(uint64_t done)
{
	look();
	CHECK_INT(rows[0]->bound.count, done);
	CHECK_INT(totals.in_flight, rows[0]->asynchronous.count - done);
}
