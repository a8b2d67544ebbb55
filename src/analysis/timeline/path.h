/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The critical path of a process through host threads, streams and events: at each instant, what
 * the rest of the run waited for. It is walked backward. From a wait it continues with the
 * operation that ended last of those waited for, from an operation with what released it (the
 * operation before it in its stream, a dependency, the thread that submitted it), from a thread
 * that slept with the thread that woke it.
 *
 * The intervals of a part of the session are collected; memory is proportional to their number.
 */
#pragma once

#include "analysis/timeline/timeline.h"
#include "base/vec.h"

/* What time is spent on. */
enum gt_spending {
	GT_SPENT_CPU,     /* outside the API: the program's own code … */
	GT_SPENT_SYSCALL, /* … and system calls, where they were recorded … */
	GT_SPENT_OFF_CPU, /* … and times in which the thread did not run, likewise */
	GT_SPENT_API,
	GT_SPENT_LAUNCH,
	GT_SPENT_COPY, /* calls that copy or set: their own time */
	GT_SPENT_WAIT, /* waits, after what they waited for had ended, or where that is not known */
	GT_SPENT_QUEUE, /* operations that could begin and had not */
	GT_SPENT_H2D,
	GT_SPENT_KERNEL,
	GT_SPENT_D2H,
	GT_SPENT_D2D, /* and between devices, and of a direction that is not known */
	GT_SPENT_SET,
	GT_SPENT_GRAPH,
	GT_SPENT_WORK, /* operations of different kinds whose times are not distinguished */
	GT_SPENDINGS,
};
/* "cpu", "syscall", … as in JSON; and for people. */
const char *gt_spending_name(enum gt_spending spending);
const char *gt_spending_title(enum gt_spending spending);

/* A call of a thread. */
struct gt_path_call {
	uint64_t start, end;
	const char *name;
	uint32_t operation; /* index + 1 of the last to end of those that it waited for; 0: none */
	uint8_t activity;
};

/* A system call, or a time off the CPU. */
struct gt_path_pause {
	uint64_t start, end;
	const char *name;  /* of the system call */
	uint64_t runnable; /* off the CPU: the last part of it, in which it waited for a CPU */
	uint32_t waker;    /* thread; 0: none */
	uint32_t state;    /* as in `off_cpu` events */
	char waker_name[16];
};

struct gt_path_operation {
	uint64_t number, submitted, released, start, end, releaser, bytes, wait_start, wait_end;
	const char *kernel;
	uint32_t thread, wait_thread, queue, shares;
	int16_t device;
	uint8_t operation, basis, release, memory;
	bool has_bytes;
	bool counted; /* the user's */
};

struct gt_path_thread {
	uint32_t thread;
	bool has_called; /* ever: calls are dropped */
	GT_VEC(struct gt_path_call) calls;
	GT_VEC(struct gt_path_pause) syscalls;
	GT_VEC(struct gt_path_pause) pauses; /* off the CPU */
};

struct gt_path {
	GT_VEC(struct gt_path_thread *) threads;
	struct gt_hash *by_id;
	GT_VEC(struct gt_path_operation) operations; /* by number, once prepared */
	size_t count;                                /* of all intervals */
};

/* A part of the path. */
struct gt_path_segment {
	enum gt_spending spending;
	uint64_t start, end;
	uint32_t thread;                           /* of the host; 0: of a GPU */
	const struct gt_path_call *call;           /* NULL: none */
	const struct gt_path_operation *operation; /* NULL: none */
	const struct gt_path_pause *pause;         /* system call or time off the CPU; NULL: none */
	bool woken; /* not spent: the thread slept, and the path continues with its waker */
};
typedef void (*gt_path_sink)(void *context, const struct gt_path_segment *segment);

/* 0 or -ENOMEM. */
int gt_path_init(struct gt_path *path);
void gt_path_release(struct gt_path *path);
/* Collect an interval. 0 or -ENOMEM. */
int gt_path_take_host(struct gt_path *path, const struct gt_host_interval *interval);
int gt_path_take_gpu(struct gt_path *path, const struct gt_gpu_interval *interval);

/* Sort the operations and join waits to them; before walks, after the last interval. */
void gt_path_prepare(struct gt_path *path);
/* Drop what ended before a time. */
void gt_path_drop(struct gt_path *path, uint64_t before);

/* NULL: it is not collected. Valid until the next interval. */
const struct gt_path_operation *gt_path_find(const struct gt_path *path, uint64_t number);
/*
 * How many operations were in the stream that a call submits to when it began, if one of them ended
 * during the call; else 0. Visits all operations.
 */
uint64_t gt_path_queued_at(const struct gt_path *path, uint32_t thread,
			   const struct gt_path_call *call);
/* The system call of a thread that encloses a time; NULL: none was recorded. */
const struct gt_path_pause *gt_path_syscall_at(const struct gt_path *path, uint32_t thread,
					       uint64_t time);

/*
 * Walk back from the host at `end`, or from the end or start of an operation, to `begin`. Segments
 * come latest first; each ends where the one before it began.
 */
void gt_path_walk(const struct gt_path *path, uint64_t begin, uint64_t end, bool host_only,
		  gt_path_sink sink, void *context);
void gt_path_walk_operation(const struct gt_path *path, uint64_t begin,
			    const struct gt_path_operation *operation, bool from_end,
			    gt_path_sink sink, void *context);
