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

#include "analysis/job_chains.h"
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
	bool failed;
};

/* A system call, or a time off the CPU. */
struct gt_path_pause {
	uint64_t start, end;
	const char *name;  /* of the system call */
	uint64_t runnable; /* off the CPU: the last part of it, in which it waited for a CPU */
	uint32_t waker;    /* thread; 0: none */
	uint32_t state;    /* as in `off_cpu` events */
	bool failed;       /* the system call */
	bool explained;    /* the user's */
	char waker_name[16];
};

/* What happened in the kernel for a thread: a page fault or a request of block I/O. */
struct gt_path_request {
	uint64_t start, end;
	uint64_t bytes;   /* of block I/O */
	uint64_t address; /* of a page fault */
	bool explained;   /* the user's */
};

/* A job of the DRM scheduler; what it depended on and when it was done. */
struct gt_path_job {
	struct gt_job_chain chain;
	uint64_t end;   /* of the chain */
	bool explained; /* the user's */
};

#define GT_XID_TEXT_SIZE 96

struct gt_path_xid {
	uint64_t end; /* its time */
	uint32_t code;
	bool explained;              /* the user's */
	char text[GT_XID_TEXT_SIZE]; /* as the driver's; it may be truncated */
};

struct gt_path_operation {
	uint64_t number, submitted, released, start, end, releaser, bytes, wait_start, wait_end;
	uint64_t blocks;
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
	GT_VEC(struct gt_path_request) faults, io;
	GT_VEC(struct gt_path_job) jobs;
};

struct gt_path {
	GT_VEC(struct gt_path_thread *) threads;
	struct gt_hash *by_id;
	GT_VEC(struct gt_path_operation) operations; /* by number, once prepared */
	GT_VEC(struct gt_path_xid) xids;
	size_t count; /* of all intervals */
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
/* Requests of block I/O and Xids; other events are ignored. */
int gt_path_take_event(struct gt_path *path, const struct gt_event *event);
/* A chain belongs to the thread that submitted its job. The name of its system call must live on.
 */
int gt_path_take_job(struct gt_path *path, const struct gt_job_chain *chain);

/* Sort the operations and join waits to them; before walks, after the last interval. */
void gt_path_prepare(struct gt_path *path);
/* Drop what ended before a time. */
void gt_path_drop(struct gt_path *path, uint64_t before);

/* NULL: it is not collected. Valid until the next interval. */
const struct gt_path_operation *gt_path_find(const struct gt_path *path, uint64_t number);

/* Whether a call that submits waited for space in the queue of its stream. */
struct gt_queue_evidence {
	uint64_t depth;    /* operations of the stream that were not done when the call began */
	uint64_t returned; /* ns from the last end of one of them, in the call, to its return */
	/*
	 * Median duration of the calls of this kind by the thread that found at most half as many
	 * operations; 0: there were none.
	 */
	uint64_t usual;
	/*
	 * It was full: an operation ended during the call, the call returned soon after it (in a
	 * quarter of its duration, or 100 µs), and it took at least 4 times the usual. Where the
	 * usual is not known, there were at least 8 operations.
	 */
	bool is_full;
};

/* `depth` is 0 where no operation ended during the call. Visits all operations. 0 or -ENOMEM. */
int gt_path_queue_at(const struct gt_path *path, uint32_t thread, const struct gt_path_call *call,
		     struct gt_queue_evidence *ret_evidence);

/* What was seen in the kernel while a thread was in a call, in the period of interest. */
struct gt_call_evidence {
	/* The system call with the largest part in it, its name; NULL: none. */
	const char *syscall;
	uint64_t syscall_ns; /* this part */
	uint64_t syscall_whole_ns;
	/* The job of the DRM scheduler that took longest, submitted in the call; queued is 0: none.
	 */
	struct gt_job_chain job;
	uint64_t jobs;
	uint64_t faults, fault_ns;    /* page faults */
	uint64_t io, io_ns, io_bytes; /* requests of block I/O */
	uint64_t off_cpu_ns;          /* the thread did not run … */
	uint64_t runnable_ns;         /* … of this: it waited for a CPU */
	uint32_t xid;                 /* the last one before the call failed; 0: none */
	uint64_t xid_before;          /* ns, to the call's return */
};
/* Times are the parts between `from` and `to`. */
void gt_path_find_evidence(const struct gt_path *path, uint32_t thread,
			   const struct gt_path_call *call, uint64_t from, uint64_t to,
			   struct gt_call_evidence *ret_evidence);

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
/* Walk back from the return of a call of a thread to its begin. */
void gt_path_walk_call(const struct gt_path *path, const struct gt_path_thread *thread,
		       const struct gt_path_call *call, gt_path_sink sink, void *context);
