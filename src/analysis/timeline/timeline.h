/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One timeline of host and GPU, made from a stream of events. Reports and exports read it.
 *
 * Host intervals: the outermost calls of each thread by their purpose, its system calls, page
 * faults and the times in which it did not run. They are passed on when they end.
 *
 * GPU intervals: operations of a GPU. A call submits an operation; `gpu_work` events have its
 * times. Without such an event the times are estimated from calls: the operation began after its
 * submission and after the operation before it in its stream, and ended before a call returned that
 * waited for it (analysis/order.h). An operation is passed on when it is complete: its times are
 * known, and the call that waited for it. Those of a stream are passed on in their order; different
 * streams interleave, and a GPU interval comes after the host intervals that it refers to.
 *
 * Memory is bounded: GT_TIMELINE_MAX_PENDING operations are kept, then the oldest is passed on as
 * it is. All times are ns of CLOCK_MONOTONIC.
 */
#pragma once

#include "analysis/copy_traits.h"
#include "analysis/memory.h"
#include "analysis/operation.h"
#include "base/clean.h"
#include "event/event.h"
#include "names/names.h"

#define GT_TIMELINE_MAX_PENDING 65536
#define GT_TIMELINE_MAX_DEPENDENCIES 8
/* How long after its end is known an operation waits for its `gpu_work` event, by events' times. */
#define GT_TIMELINE_HORIZON 1000000000ULL

/* What a thread did. */
enum gt_host_activity {
	GT_HOST_API,     /* a call of an API that none of the next describes */
	GT_HOST_LAUNCH,  /* a call that launches a kernel or a graph */
	GT_HOST_COPY,    /* a call that copies or sets memory … */
	GT_HOST_BLOCKED, /* … and waits for the copy */
	GT_HOST_WAIT,    /* a call that waits for work of a GPU */
	GT_HOST_SYSCALL,
	GT_HOST_FAULT,   /* a page fault with a known duration */
	GT_HOST_OFF_CPU, /* the thread was not running */
	GT_HOST_ACTIVITIES,
};
/* "api", "launch", "copy", "blocked", "wait", "syscall", "fault", "off_cpu" */
const char *gt_host_activity_name(enum gt_host_activity activity);
/* Whether it is a call: calls of a thread do not overlap, the others lie inside or outside them. */
static inline bool gt_host_is_call(enum gt_host_activity activity)
{
	return activity <= GT_HOST_WAIT;
}

/* The last operation of each stream whose end a call waited for, of at most so many streams. */
#define GT_TIMELINE_MAX_WAITED 8
struct gt_timeline_waited {
	unsigned count;
	uint64_t operations[GT_TIMELINE_MAX_WAITED]; /* their numbers */
};

struct gt_host_interval {
	uint64_t number; /* of a call: joins refer to it; from 1; else 0 */
	enum gt_host_activity activity;
	uint32_t process, thread;
	uint64_t start, end;
	/* Of the function or system call; lives as the names. "" for others. */
	const char *name;
	bool failed;
	/* Of a call: so many operations that it submitted, numbered from `first_operation` on. */
	uint64_t first_operation, operations;
	/* Of a call: what it was the first to wait for; these are passed on later. */
	struct gt_timeline_waited waited;
	/* `call`, `syscall`, `page_fault` or `off_cpu`; valid while it is passed on. */
	const struct gt_event *event;
};

/* How the times of an operation are known. */
enum gt_times_basis {
	GT_TIMES_EXACT,     /* first and last instruction of the kernel */
	GT_TIMES_MEASURED,  /* by events of the stream around it: may include a gap before it */
	GT_TIMES_ESTIMATED, /* bounds: not before `start`, not after `end` */
	GT_TIMES_BASES,
};
/* "exact", "measured", "estimated" */
const char *gt_times_basis_name(enum gt_times_basis basis);

/* "kernel", "copy", "H2D", "D2H", "D2D", "P2P", "set", "graph" */
const char *gt_gpu_operation_name(enum gt_gpu_operation operation);

/* What an operation waited for before it could begin. */
enum gt_gpu_release {
	GT_RELEASE_SUBMISSION, /* it began when the host submitted it */
	GT_RELEASE_STREAM,     /* the operation before it in its stream ended last … */
	GT_RELEASE_DEPENDENCY, /* … or one of another stream: an event, or the default stream */
};

/* The outermost call that an operation is joined to. */
struct gt_timeline_join {
	uint64_t number; /* of the host interval; 0: not known, then the rest is 0 */
	uint32_t thread;
	uint64_t start, end;
};

struct gt_gpu_interval {
	uint64_t number; /* from 1, in the order of submission as it was seen */
	enum gt_gpu_operation operation;
	enum gt_times_basis basis;
	uint32_t process, thread; /* that submitted it */
	int16_t device;           /* ordinal, or GT_DEVICE_UNKNOWN */
	uint64_t context;         /* CUcontext; 0: not known */
	uint64_t stream;          /* handle; GT_STREAM_LEGACY: the default stream */
	/*
	 * Number of the stream in the process: from 0, also for default streams of threads and
	 * devices. GT_STREAM_UNNUMBERED: the submission was not seen.
	 */
	uint32_t queue;
	const char *kernel; /* mangled, lives as the names; NULL: not known, or no kernel */
	uint64_t object;    /* kernel or executable graph; 0: neither, or not known */
	uint64_t blocks;    /* of the kernel's grid; 0: no kernel, or not known */
	bool has_bytes;
	uint64_t bytes;
	enum gt_host_memory memory; /* of copies between host and device */

	/*
	 * queued = start - submitted. `released` is when it could begin: the latest of its
	 * submission and the ends that it had to wait for, as far as they are known; start -
	 * released is the latency of the start.
	 */
	uint64_t submitted, released, start, end;
	enum gt_gpu_release release;
	uint64_t releaser; /* the operation that released it; 0: none */
	/*
	 * Bound of the error of measured times. An end after the return of `wait` by no more than
	 * this is set to it.
	 */
	uint64_t error;
	/*
	 * Estimated times: so many operations of the stream share the time from `start` to `end`,
	 * and which part is whose is not known. Else 1.
	 */
	uint32_t shares;

	struct gt_timeline_join call; /* that submitted it */
	struct gt_timeline_join wait; /* the first that returned after a wait for it */
	bool ends_wait;               /* it is in the `waited` of that call */
	uint64_t previous; /* operation of the same stream; 0: none, or the stream has no order */
	uint64_t dependencies[GT_TIMELINE_MAX_DEPENDENCIES]; /* operations of other streams */
	unsigned dependency_count;
};

#define GT_STREAM_UNNUMBERED UINT32_MAX

/*
 * Whether the measured times of an operation contradict its calls: it ended before its submission,
 * or after the wait for it. The GPU's clock is then not the host's. That `start` is before
 * `submitted` is no contradiction: it may include a gap.
 */
bool gt_gpu_interval_contradicts(const struct gt_gpu_interval *interval);

/* Take an interval; a result other than 0 stops and is returned. NULL: not wanted. */
struct gt_timeline_sink {
	int (*host)(void *context, const struct gt_names *names,
		    const struct gt_host_interval *interval);
	int (*gpu)(void *context, const struct gt_names *names,
		   const struct gt_gpu_interval *interval);
	/* A change of what is allocated (analysis/memory.h). */
	int (*memory)(void *context, const struct gt_names *names,
		      const struct gt_memory_change *change);
	void *context;
};

struct gt_timeline_totals {
	uint64_t calls;                /* outermost ones */
	uint64_t operations;           /* numbers given to GPU intervals */
	uint64_t gpu[GT_TIMES_BASES];  /* GPU intervals by their basis */
	uint64_t unmatched;            /* of them: `gpu_work` events whose call was not seen */
	uint64_t evicted;              /* of them: passed on before they were complete */
	uint64_t contradicted;         /* of them: gt_gpu_interval_contradicts */
	uint64_t omitted_dependencies; /* beyond GT_TIMELINE_MAX_DEPENDENCIES */
	uint64_t sampled;              /* `gpu_work` events of sampled streams */
};

struct gt_timeline;

/* The sink is copied. NULL: out of memory. */
struct gt_timeline *gt_timeline_new(const struct gt_timeline_sink *sink);
void gt_timeline_free(struct gt_timeline *timeline);
GT_DEFINE_AUTO(timeline, struct gt_timeline, gt_timeline_free)

/* Take an event. 0, -ENOMEM, or the sink's result. */
int gt_timeline_take(struct gt_timeline *timeline, const struct gt_names *names,
		     const struct gt_event *event);
/* The stream of events ended: pass on all that is pending. 0, -ENOMEM, or the sink's result. */
int gt_timeline_finish(struct gt_timeline *timeline, const struct gt_names *names);

/*
 * GPU intervals that are passed on later begin at this time or after it; the end of the latest
 * event where none is pending.
 */
uint64_t gt_timeline_settled(const struct gt_timeline *timeline);

const struct gt_timeline_totals *gt_timeline_totals(const struct gt_timeline *timeline);
