/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The blocks of launches, from the records of programs/blocktime.bpf.c, and the schedule of the
 * multiprocessors (SMs) that follows from them. Times are in ns of the GPU's timer.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "gpubpf/context.h"
#include "report/gpu.h"

/* OpenCL and Level Zero do not say where work-groups run: all of a launch are on one SM of this
 * number. */
#define GT_BLOCK_NO_SM GT_MAX_SM

struct gt_block_time {
	uint64_t start, end;
	uint32_t index[3], sm;
};

struct gt_block_launch {
	uint64_t launch; /* %gridid */
	uint32_t pid, kernel;
	uint32_t threads, shared;            /* of a block */
	GT_VEC(struct gt_block_time) blocks; /* that have ended */
	struct gt_hash *open;                /* others, by their index */
};

struct gt_block_times {
	struct gt_hash *by_key;
	GT_VEC(struct gt_block_launch *) launches; /* in the order of their first records */
	uint64_t kept, open;                       /* blocks */
	uint64_t malformed;                        /* records that make no sense */
	uint64_t not_counted;                      /* records of blocks that there is no room for */
};

enum {
	GT_BLOCK_TIMES_MAX_LAUNCHES = 4096,
	GT_BLOCK_TIMES_MAX_BLOCKS = 1 << 21, /* of all launches */
};

/* NULL: out of memory. */
struct gt_block_times *gt_block_times_new(void);
void gt_block_times_free(struct gt_block_times *times);
/* Add a record of the ring, of any size and content. A block that is complete is in *ret_block. */
bool gt_block_times_add(struct gt_block_times *times, const void *record, uint32_t size,
			const struct gt_block_launch **ret_launch, struct gt_block_time *ret_block);
/* Sort the launches by process and number. */
void gt_block_times_sort(struct gt_block_times *times);

/* An SM that ran blocks of a launch. */
struct gt_block_sm {
	uint32_t sm;
	uint64_t blocks;
	uint64_t block_ns; /* sum of the durations of its blocks */
	uint64_t busy_ns;  /* with at least one block */
	uint64_t most;     /* blocks at once */
};

struct gt_block_schedule {
	uint64_t first, last; /* start of the first block, end of the last */
	GT_VEC(struct gt_block_sm) sms;
	bool has_sms;    /* else one of them stands for the whole device */
	double busy;     /* mean share of the time in which the SMs run blocks; NAN: no time */
	double balance;  /* mean block time of the SMs / that of the most loaded; NAN: not known */
	double resident; /* mean threads on an SM at once */
	uint64_t most;   /* blocks on one SM at once */
};

/* Sorts the blocks of the launch by SM and start. 0 or -ENOMEM; the caller clears the schedule. */
int gt_block_schedule_make(struct gt_block_launch *launch, struct gt_block_schedule *ret_schedule);
void gt_block_schedule_clear(struct gt_block_schedule *schedule);
