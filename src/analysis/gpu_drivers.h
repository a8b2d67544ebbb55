/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers, requests and interrupts of a GPU driver (i915, xe, amdgpu): what was created, bound and
 * moved, and of that what still is; how long requests waited to run; signs of memory that is too
 * small.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"
#include "base/strbuf.h"

#define GT_LATE_SUBMISSION 100000 /* ns: requests that run later than this are reported */
#define GT_THRASH_REPEATS 8       /* a buffer that is bound or moved again so often is reported */

/* Buffers of a device or a process. "live" and "bound" are of what the session has seen made. */
struct gt_driver_ledger {
	uint64_t created, created_bytes;
	uint64_t destroyed, destroyed_bytes;
	uint64_t max_live;         /* bytes, at a time */
	uint64_t bound, max_bound; /* bytes with an address on the GPU: now, at a time */
	uint64_t moved, faults, evictions;
};

/* Bytes of buffers that were created and not destroyed. */
uint64_t gt_driver_live(const struct gt_driver_ledger *ledger);

struct gt_driver_device {
	char name[GT_DRM_NAME_SIZE]; /* may have no NUL; "": unknown */
	struct gt_driver_ledger ledger;
};

struct gt_driver_process {
	uint32_t process; /* 0: unknown */
	uint64_t requests, interrupts;
	struct gt_driver_ledger ledger;
};

/* An operation on buffers, by device; moves by the types of memory. */
struct gt_driver_operation {
	struct gt_driver_operation_key {
		char device[GT_DRM_NAME_SIZE];
		uint32_t operation; /* enum gt_driver_buffer_operation */
		uint32_t from, to;  /* of moves; else 0 */
		uint32_t kind;      /* of the event: for gt_put_driver_memory */
	} key;
	uint64_t count, bytes;
	uint64_t writes;  /* faults of write accesses */
	uint64_t no_copy; /* moves of buffers without contents */
	uint64_t visible; /* new buffers that the CPU accesses */
};

/* Requests of an engine or a ring. */
struct gt_driver_engine {
	struct gt_driver_engine_key {
		char device[GT_DRM_NAME_SIZE];
		char name[GT_DRM_NAME_SIZE];
	} key;
	uint64_t queued, submitted, run, done, timeouts, errors;
	uint64_t buffers;          /* command buffers that were submitted */
	uint64_t late;             /* ran more than GT_LATE_SUBMISSION after their submission */
	struct gt_histogram delay; /* ns from submission to run */
	struct gt_histogram ran;   /* ns on the hardware; without "run" events since submission */
	struct gt_histogram waits; /* ns of threads that waited for requests */
};

struct gt_driver_interrupt {
	struct gt_driver_interrupt_key {
		uint32_t handler, client, source, ring;
	} key;
	uint64_t count;
	uint64_t first, last; /* times of events, ns */
};

enum gt_driver_finding_kind {
	GT_DRIVER_FINDING_REBOUND,   /* the same buffers were bound again and again */
	GT_DRIVER_FINDING_MOVED,     /* or moved between types of memory */
	GT_DRIVER_FINDING_SHRUNK,    /* the kernel wanted memory of the driver back */
	GT_DRIVER_FINDING_MISPLACED, /* VRAM was asked for, and other memory given */
	GT_DRIVER_FINDING_LATE,      /* requests ran late */
	GT_DRIVER_FINDINGS
};

/* The evidence of a finding: of a process on a device, and of LATE on an engine. */
struct gt_driver_finding {
	struct gt_driver_finding_key {
		uint32_t kind;
		uint32_t process;
		char device[GT_DRM_NAME_SIZE];
		char engine[GT_DRM_NAME_SIZE];
	} key;
	uint64_t count;   /* repeated operations, buffers that are misplaced, late requests */
	uint64_t of;      /* LATE: requests that ran */
	uint64_t bytes;   /* of these operations */
	uint64_t buffers; /* that were bound or moved again GT_THRASH_REPEATS times */
	uint64_t buffer;  /* the one with the most repeats; MISPLACED: the first */
	uint64_t repeats; /* of that buffer */
	uint64_t context, seqno; /* LATE: the request with the longest delay */
	uint64_t max;            /* LATE: that delay, ns */
	uint64_t first, last;    /* times of the first and the last one, ns */
};

/* Whether the evidence suffices: operations that are not repeated often are no finding. */
bool gt_driver_finding_holds(const struct gt_driver_finding *finding);
/* "rebound" */
const char *gt_driver_finding_name(unsigned kind);
/* What to do about it: a sentence. */
const char *gt_driver_finding_advice(unsigned kind);
/* Add the evidence as a sentence without its process and period. */
void gt_driver_finding_put(struct gt_strbuf *text, const struct gt_driver_finding *finding);

/* Rows are in the order of their first event. */
struct gt_gpu_drivers {
	struct gt_keyed_rows devices;    /* of struct gt_driver_device */
	struct gt_keyed_rows processes;  /* of struct gt_driver_process */
	struct gt_keyed_rows operations; /* of struct gt_driver_operation */
	struct gt_keyed_rows engines;    /* of struct gt_driver_engine */
	struct gt_keyed_rows interrupts; /* of struct gt_driver_interrupt */
	struct gt_keyed_rows findings;   /* of struct gt_driver_finding */
	struct gt_hash *buffers;         /* by address, those that exist -> struct driver_state */
	uint64_t unfollowed; /* buffers or bindings over the limits: not in `bound`, nor findings */
	struct gt_hash *bindings; /* that exist, by buffer and address -> struct driver_binding */
};

struct gt_gpu_drivers *gt_gpu_drivers_new(void);
void gt_gpu_drivers_free(struct gt_gpu_drivers *drivers);
GT_DEFINE_AUTO(gpu_drivers, struct gt_gpu_drivers, gt_gpu_drivers_free)

/* Take an event of one of the sources; others are ignored. 0 or -ENOMEM. */
int gt_gpu_drivers_take(struct gt_gpu_drivers *drivers, const struct gt_event *event);
/* Sort the processes by the bytes that they created, the most first. */
void gt_gpu_drivers_sort(struct gt_gpu_drivers *drivers);
