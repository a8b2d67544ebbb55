/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Exact times of kernels. A program in the kernels records the first and the last instruction of
 * each grid, on the GPU's timer (%globaltimer); events in the streams measure the operations, on a
 * clock of the context, as intervals that contain them. Here the grids of a process are matched to
 * its operations.
 *
 * Nothing names both. But both clocks are the GPU's: they differ by a constant, the offset, and an
 * operation begins before the first instruction of its grid and ends after the last one, so that
 * each match bounds the offset:
 *
 *	operation.start - grid.first <= offset <= operation.end - grid.last
 *
 * At first the offset is known by when the records arrived. The operations, in the order in which
 * they were submitted, are matched to the grids in the order of their launch ids ("the temporal
 * grid launch number", PTX ISA, %gridid). A function is matched to grids of its kernel once a
 * match has shown which kernel that is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A grid that has ended. */
struct gt_exact_grid {
	uint64_t launch;      /* %gridid */
	uint64_t first, last; /* ns on the GPU's timer, modulo 2^64 */
	/* CLOCK_MONOTONIC: the record arrived between these. */
	uint64_t not_before, not_after;
	uint32_t kernel;
};

/* A launch that was measured, and its exact times. */
struct gt_exact_launch {
	uint64_t start, end; /* ns on the clock of its context; start <= end */
	uint64_t submitted;  /* CLOCK_MONOTONIC: when the call of the driver began */
	uint64_t returned;   /* and ended */
	uint64_t function;   /* a handle */
	size_t number;       /* the caller's */
	bool is_settled;     /* what overlapped it is known */
	/* Results. */
	bool is_exact;
	uint64_t first, last; /* on the clock of the context, between start and end */
	uint64_t error;       /* of both, ns, relative to this clock */
};

/* The clock of a context: zeroed at first. */
struct gt_exact_clock {
	/* Set by the caller: CLOCK_MONOTONIC - this clock, now, and the bound of its error, ns. */
	int64_t host_offset;
	uint64_t host_error;
	/* Clock - GPU's timer, ns; internal. */
	bool is_bounded;
	int64_t lowest, highest;
	uint64_t latest;  /* end of a launch */
	uint64_t matches; /* ever */
};

/* The grids of a process that are not matched yet. */
struct gt_exact_times;

struct gt_exact_times *gt_exact_times_new(void); /* NULL: no memory */
void gt_exact_times_free(struct gt_exact_times *times);

/*
 * Add a grid. If there are too many that nothing was matched to, the one that was launched first is
 * forgotten. 0; -EINVAL: last is before first; -ENOMEM.
 */
int gt_exact_times_add(struct gt_exact_times *times, const struct gt_exact_grid *grid);

/*
 * Match launches of one context, in the order in which they were submitted, to the grids that were
 * added. A launch is settled when the grids and launches that overlapped it were added, too. Its
 * result is final, and its grid is removed; launches that are not settled are matched again, with
 * those that follow. A launch without a grid is not exact: its kernel was not patched, or its
 * record was lost. Nor is one that could have another grid instead: launches of one kernel by
 * several threads at a time, which also ran at a time.
 */
void gt_exact_times_match(struct gt_exact_times *times, struct gt_exact_clock *clock,
			  struct gt_exact_launch *launches, size_t count);
