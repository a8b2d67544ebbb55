/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which grid on the GPU belongs to which call on the host: the records of
 * programs/launchlate.bpf.c.
 *
 * The grids of a kernel, in the order of their launch ids, are those of the calls that launch a
 * kernel of this name, in the order in which they began, within a process. If there are more of the
 * one than of the other, nothing is concluded: both remain unmatched, and are counted. So are
 * grids of graphs unless each launch of a graph has as many of them.
 */
#pragma once

#include "analysis/clock_fit.h"
#include "base/hash.h"
#include "launchlate.h"

/* A call that launches kernels, or a grid. Names are hashes (gt_launch_name); 0: unknown. */
struct gt_launch_call {
	uint64_t begin, end, name, handle;
	uint32_t pid, tid;
	bool graph;
};

struct gt_launch_grid {
	uint64_t launch, time, name;
	uint64_t call_name; /* of the calls that it is matched with: `name`, or 0 for all */
	uint32_t pid, kernel;
};

struct gt_launch_match {
	const struct gt_launch_call *call;
	const struct gt_launch_grid *grid;
	int64_t latency; /* ns from the call's begin to the first instruction, by the fit */
};

struct gt_launch_matches {
	struct gt_clock_fit fit;
	bool fitted; /* latencies are known */
	GT_VEC(struct gt_launch_match) items;

	/* Calls that are not matched, and why. */
	uint64_t failed;        /* they returned an error */
	uint64_t captured;      /* into a graph */
	uint64_t not_patched;   /* of kernels without programs */
	uint64_t several;       /* launch several kernels */
	uint64_t calls_unknown; /* there are more or fewer grids of the kernel than calls */
	uint64_t grids_unknown; /* grids: the same, or the number of a graph's grids varies */
	uint64_t ambiguous;     /* matched, but threads made the calls at the same time */
	uint64_t violations;    /* matched, but the grid begins before its call */
	uint64_t events_lost;   /* of the log */
	uint64_t not_counted;   /* calls and grids that there is no room for */
	uint64_t malformed;

	/* Internal. */
	GT_VEC(struct gt_launch_call) calls;
	GT_VEC(struct gt_launch_grid) grids;
	struct gt_hash *grids_by_key;
	struct gt_hash *names;                  /* hashes by process and handle */
	GT_VEC(struct gt_launch_call) captures; /* streams (handle) in capture */
	uint64_t read;                          /* events of the log so far */
	uint64_t step;                          /* greatest common divisor of the GPU's times */
	uint64_t first_time;
};

enum {
	GT_LAUNCH_MATCHES_MAX = 1 << 20, /* calls, and grids */
};

/* The hash of a kernel's mangled name, as the host programs compute it. */
uint64_t gt_launch_name(const char *name);

/* NULL: out of memory. */
struct gt_launch_matches *gt_launch_matches_new(void);
void gt_launch_matches_free(struct gt_launch_matches *matches);

/*
 * Read what is new in the shared array; `now`: CLOCK_MONOTONIC after its clocks were read. count:
 * values of the array. The memory is hostile.
 */
void gt_launch_matches_read(struct gt_launch_matches *matches, const void *shared, uint32_t count,
			    uint64_t gpu, uint64_t now);
/* Add a record of a grid, of any size and content; name: of its kernel. */
void gt_launch_matches_add_grid(struct gt_launch_matches *matches, const void *record,
				uint32_t size, uint64_t name);
/*
 * Match all calls and grids, once, at the end. `is_patched` says whether a kernel of this name has
 * programs. 0 or -ENOMEM.
 */
int gt_launch_matches_solve(struct gt_launch_matches *matches,
			    bool (*is_patched)(void *context, uint64_t name), void *context);
