/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a live view shows: tables of rows with counters, as of now and as of the refresh before.
 * Calls, kernels, copies, memory and DRM jobs are counted by the analyses of these names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"
#include "names/names.h"

enum gt_top_table {
	GT_TOP_PROCESSES,
	GT_TOP_FUNCTIONS,
	GT_TOP_KERNELS,
	GT_TOP_MEMORY,  /* a row per process */
	GT_TOP_COPIES,  /* … per process and direction */
	GT_TOP_RINGS,   /* of the DRM scheduler */
	GT_TOP_SOURCES, /* with what was lost */
	GT_TOP_TABLES,
};

/* Counters of the rows of each table. Times are ns, sizes bytes. */
enum gt_top_process_counter {
	GT_TOP_PROCESS_CALLS,
	GT_TOP_PROCESS_ERRORS,
	GT_TOP_PROCESS_LAUNCHES,
	GT_TOP_PROCESS_COPIED,
	GT_TOP_PROCESS_API,    /* time in outermost calls, of all threads */
	GT_TOP_PROCESS_GPU,    /* time of its operations on GPUs, where they are timed */
	GT_TOP_PROCESS_MEMORY, /* that it has on GPUs now */
};
enum gt_top_function_counter {
	GT_TOP_FUNCTION_CALLS,
	GT_TOP_FUNCTION_ERRORS,
	GT_TOP_FUNCTION_TIME,
};
enum gt_top_kernel_counter {
	GT_TOP_KERNEL_LAUNCHES,
	GT_TOP_KERNEL_FAILED,
	GT_TOP_KERNEL_CALL, /* time of the launching calls */
	GT_TOP_KERNEL_RUNS, /* that were timed on the GPU */
	GT_TOP_KERNEL_GPU,
};
enum gt_top_memory_counter {
	GT_TOP_MEMORY_DEVICE, /* with arrays and physical memory */
	GT_TOP_MEMORY_HOST,   /* pinned */
	GT_TOP_MEMORY_MANAGED,
	GT_TOP_MEMORY_PEAK, /* on GPUs */
	GT_TOP_MEMORY_ALLOCATIONS,
	GT_TOP_MEMORY_FREES,
	GT_TOP_MEMORY_FAILED,
};
enum gt_top_copy_counter {
	GT_TOP_COPY_COUNT,
	GT_TOP_COPY_BYTES,
};
enum gt_top_ring_counter {
	GT_TOP_RING_JOBS,
	GT_TOP_RING_DONE,
	GT_TOP_RING_RUNNING, /* on the hardware now */
	GT_TOP_RING_RUN,     /* time on the hardware, of the jobs that are done */
	GT_TOP_RING_WAITS,   /* for dependencies */
	GT_TOP_RING_TIMEOUTS,
};
enum gt_top_source_counter {
	GT_TOP_SOURCE_EVENTS,
	GT_TOP_SOURCE_LOST,
	GT_TOP_SOURCE_EVICTED,
};

#define GT_TOP_COUNTERS 8    /* at most, of a row */
#define GT_TOP_ROWS 16384    /* at most, of a table; further ones are counted */
#define GT_TOP_MAX_SAMPLES 8 /* GPUs whose state is kept */

struct gt_top_row {
	uint32_t process; /* 0: it is no process's. Rows of one that ended are shown once more. */
	char *name;       /* of a kernel with its parameters */
	char *kernel;     /* its mangled name; NULL: unknown, or not of a kernel */
	uint64_t now[GT_TOP_COUNTERS], before[GT_TOP_COUNTERS]; /* as of the last two refreshes */
	uint64_t counted[GT_TOP_COUNTERS];                      /* since; internal */
};

/* The latest `gpu_sample` of a GPU. */
struct gt_top_sample {
	uint32_t gpu;
	char model[48];
	struct gt_event_gpu_sample sample;
};

struct gt_top;

struct gt_top *gt_top_new(void);
void gt_top_free(struct gt_top *top);
GT_DEFINE_AUTO(top, struct gt_top, gt_top_free)

/* Take an event. 0 or -ENOMEM. */
int gt_top_take(struct gt_top *top, const struct gt_names *names, const struct gt_event *event);
/*
 * Refresh the rows at a time (ns): what was `now` is `before`. The interval of the first refresh
 * begins with the first event. 0 or -ENOMEM.
 */
int gt_top_refresh(struct gt_top *top, const struct gt_names *names, uint64_t now);
/* The rows of a table, in no order; valid until the next refresh. */
const struct gt_top_row *const *gt_top_rows(const struct gt_top *top, enum gt_top_table table,
					    size_t *ret_count);
/* The names of the kernels that have rows. */
const struct gt_short_names *gt_top_kernels(const struct gt_top *top);
/* Whether there were two refreshes, and rates since the first. */
bool gt_top_has_interval(const struct gt_top *top);
/* Length of the interval between the last two refreshes, ns; at least 1. */
uint64_t gt_top_interval(const struct gt_top *top);
/* Events in this interval, and rows that are not kept since their table is full. */
uint64_t gt_top_events(const struct gt_top *top);
uint64_t gt_top_omitted(const struct gt_top *top);
const struct gt_top_sample *gt_top_samples(const struct gt_top *top, size_t *ret_count);
