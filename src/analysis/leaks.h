/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is allocated and not freed, by whom and where, and how a process's memory went. Memory that
 * stood when its process ended is a leak; what is still there at the end of the session may become
 * one; what a reset of the device or the end of a context took was not freed by the program either.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/operation.h"
#include "base/clean.h"
#include "base/histogram.h"

/* What became of what was not freed. */
enum gt_leak_state {
	GT_LEAK_LIVE,    /* still allocated */
	GT_LEAK_EXIT,    /* it was there when its process ended */
	GT_LEAK_RESET,   /* it was there when the device was reset */
	GT_LEAK_CONTEXT, /* it was there when its context was destroyed */
	GT_LEAK_STATES,
};
/* "live", "exit", "reset", "context" */
const char *gt_leak_state_name(enum gt_leak_state state);

/* A row: allocations of one group that were not freed. */
struct gt_leak {
	enum gt_leak_state state;
	enum gt_memory_space space;
	struct gt_group group; /* by the analysis's gt_by */
	const char *function;  /* that allocated them; NULL: several, if not by stack */
	const char *process_name;
	uint64_t count, bytes;
	uint64_t unknown;        /* of the count: those whose bytes are not known */
	uint64_t oldest, newest; /* ages, ns: up to now, or to when they went */
};

/* Bytes and numbers of one process and kind of memory. */
struct gt_memory_use {
	uint64_t current, peak; /* bytes */
	uint64_t live;          /* allocations */
	uint64_t allocations, frees;
	uint64_t allocated_bytes;
};

struct gt_memory_process {
	uint32_t process;
	const char *name;
	bool ended;
	uint64_t first, last; /* its first and last event of memory, ns */
	uint64_t peak;        /* bytes of device, managed, array and physical memory together */
	struct gt_memory_use use[GT_SPACES];
	uint64_t failed;      /* allocations that failed */
	uint64_t free_failed; /* releases that failed, and whose memory still stands */
	uint64_t freed_twice, freed_foreign;
	uint64_t freed_unseen; /* frees of memory whose allocation was not seen */
	uint64_t replaced;     /* given out anew, and no release was seen */
	uint64_t in_graphs;    /* allocations that are nodes of graphs: not counted else */
	uint64_t untracked;    /* allocations whose address is not known */
	uint64_t left[GT_LEAK_STATES], left_bytes[GT_LEAK_STATES];
	struct gt_histogram latency; /* of allocating calls that succeeded, ns */
};

struct gt_leaks_totals {
	uint64_t count[GT_LEAK_STATES], bytes[GT_LEAK_STATES];
};

struct gt_leaks;

/* By GT_BY_STACK, _SIZE, _AGE, _PROCESS, _DEVICE or _CONTEXT. */
struct gt_leaks *gt_leaks_new(enum gt_by by);
void gt_leaks_free(struct gt_leaks *leaks);
GT_DEFINE_AUTO(leaks, struct gt_leaks, gt_leaks_free)

/* 0 or -ENOMEM. */
int gt_leaks_take(struct gt_leaks *leaks, const struct gt_names *names,
		  const struct gt_event *event);

/* The rows as of a time, most bytes first; valid until the next call. 0 or -ENOMEM. */
int gt_leaks_rows(struct gt_leaks *leaks, const struct gt_names *names, uint64_t now,
		  const struct gt_leak **ret_rows, size_t *ret_count,
		  struct gt_leaks_totals *ret_totals);
/* The processes that have used memory, in the order of their first use. 0 or -ENOMEM. */
int gt_leaks_processes(struct gt_leaks *leaks, const struct gt_names *names,
		       const struct gt_memory_process *const **ret_processes, size_t *ret_count);
