/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the wall time of processes went, from their timelines. Each instant is attributed once, on
 * the critical path (path.h). Beside it: how long each resource was busy, the longest operations,
 * kernels, copies and waits, and the longest times in which the GPUs were idle.
 *
 * Intervals are collected up to a bound, then the part of the session in which all is known is
 * attributed and dropped.
 */
#pragma once

#include "analysis/timeline/explain_request.h"
#include "analysis/timeline/path.h"
#include "base/histogram.h"
#include "elf/demangle.h"

/* A segment of the path to an operation, with what is known about it. */
struct gt_cause {
	enum gt_spending spending;
	uint64_t start, end;
	uint32_t thread;  /* of the host; 0: of a GPU */
	const char *name; /* of the call or kernel; NULL: none, or several */
	uint64_t count;   /* segments */
	uint64_t longest; /* of them, ns */
	uint64_t number;  /* of the operation; 0: none */
	enum gt_gpu_operation operation;
	enum gt_gpu_release release; /* of the operation */
	uint32_t queue;
	struct gt_queue_evidence queued; /* of a call that submits; depth 0: nothing is known */
	struct gt_call_evidence inside;  /* of a call of 20 µs or more, or one that failed */
	bool woken;          /* a sleep that the path does not spend: it continues with the waker */
	const char *syscall; /* in which the thread slept; NULL: not known */
	uint32_t waker, state;
	uint64_t runnable; /* ns */
	char waker_name[16];
};

/*
 * A time in which no GPU worked for a process, between two operations; or the time to an operation,
 * or of a call, that is explained.
 */
struct gt_idle_gap {
	uint32_t process;
	uint64_t start, end;
	/* The function or system call that took so long, or "page fault"; NULL: it is none of
	 * these. */
	const char *call;
	enum gt_explained_kind kind;
	uint64_t address; /* of a page fault */
	/* Of a page fault or system call: what was seen in it. */
	struct gt_call_evidence inside;
	bool failed;   /* the call */
	uint64_t next; /* number of the operation that ended it; 0: of a call */
	enum gt_gpu_operation operation;
	const char *kernel;           /* of that operation; NULL: none or not known */
	uint32_t thread;              /* that submitted it, or called */
	uint64_t spent[GT_SPENDINGS]; /* on the path to that operation, ns */
	/*
	 * The cause with the largest share of the gap: the segments of one kind and thread together
	 * (sleeps by their system call, operations one by one, waits for a CPU apart from sleeps),
	 * also those in which the thread slept and the path continued with its waker. Its end less
	 * its start is this share. `count` is 0: there is none.
	 */
	struct gt_cause headline;
	/* The path, latest first: its segments, those of one kind and thread in one. */
	struct gt_cause *causes;
	size_t cause_count;
	uint64_t omitted; /* further segments */
};

/* Longest first. */
struct gt_idle_gaps {
	struct gt_idle_gap *items;
	size_t count, capacity;
};

#define GT_MAX_CAUSES 32

#define GT_MAX_WAITED_JOBS 8

/* A job of the DRM scheduler, and the jobs that it waited for. */
struct gt_explained_job {
	struct gt_job_chain chain;
	/* The job of the fence that it waited for longest, the job that this one waited for … */
	struct gt_job_chain waited[GT_MAX_WAITED_JOBS];
	size_t waited_count;
	bool is_followed; /* these are found */
};

/* An error that the driver of a GPU reported, with what the process did before and after. */
struct gt_explained_xid {
	uint64_t time;
	uint32_t code;
	char text[GT_XID_TEXT_SIZE];
	/* Operations that were submitted and had not ended; the last one of them. */
	uint64_t running, number, submitted; /* number 0: none */
	enum gt_gpu_operation operation;
	const char *kernel; /* NULL: none, or not known */
	/* The last call that began before it; NULL: none. Its end may be after it. */
	const char *call;
	uint32_t thread;
	uint64_t call_start, call_end;
	/* Calls that failed after it, the first of them. */
	uint64_t failed;
	const char *first_failed;
	uint32_t failed_thread;
	uint64_t failed_end;
};

/* How long a resource was busy; operations that overlap are counted once. */
struct gt_busy {
	int16_t device;
	bool all; /* of all operations, else of one kind: */
	enum gt_gpu_operation operation;
	enum gt_times_basis basis; /* the least exact one */
	uint64_t count, bytes, ns;
	uint64_t sum;     /* of the operations' times: more than ns where they overlap */
	uint64_t covered; /* up to this time */
};

struct gt_kernel_times {
	const char *kernel; /* mangled; NULL: not known */
	struct gt_histogram runs, queued;
	uint64_t estimated; /* of them: bounds */
	uint64_t exact;     /* of them: by instructions of the kernel */
};

/*
 * Kernels with fewer blocks than most GPUs have multiprocessors, of which each runs whole blocks.
 * Estimated times are not among them.
 */
#define GT_FEW_BLOCKS 16
struct gt_small_grids {
	uint64_t count, ns, most; /* launches, their time, the largest number of blocks */
};

struct gt_copy_times {
	enum gt_gpu_operation operation;
	enum gt_host_memory memory;
	uint64_t bytes;
	uint64_t overlapped_ns; /* while a kernel or graph ran */
	struct gt_histogram runs;
	uint64_t estimated;
};

/* Calls that wait, by function. */
struct gt_wait_times {
	const char *function;
	struct gt_histogram durations;
	uint64_t behind_ns; /* of them: while an operation that they waited for ran or was queued */
};

struct gt_process_breakdown {
	uint32_t process;
	uint64_t start, end;                                    /* of what was seen of it */
	uint64_t spent[GT_SPENDINGS], spent_idle[GT_SPENDINGS]; /* on the path; GPUs idle in it */
	uint64_t wall;                                          /* the sum of what was spent */
	bool host_only; /* the times of operations contradict those of calls: path of calls */
	uint64_t gpu_first, gpu_last;   /* start of the first operation, end of the last one */
	uint64_t gpu_busy, gpu_overlap; /* at least one operation, at least two */
	uint64_t gpu_idle;              /* between operations */
	uint64_t idle_gaps;
	uint64_t launches, waits, host_threads;
	uint64_t contradicted, operations;
	GT_VEC(struct gt_busy) busy;
	GT_VEC(struct gt_path_operation) longest; /* longest first */
	struct gt_idle_gaps gaps;                 /* of the GPUs */
	struct gt_idle_gaps calls;                /* those that are explained … */
	uint64_t explained_calls;                 /* … and how many there were */
	struct gt_idle_gaps syscalls;             /* the longest ones, if asked for */
	uint64_t explained_syscalls;              /* all of them */
	struct gt_idle_gaps faults;               /* page faults, likewise */
	uint64_t explained_faults;
	GT_VEC(struct gt_explained_job) jobs; /* the longest ones, likewise */
	uint64_t explained_jobs;
	GT_VEC(struct gt_explained_xid) xids; /* the first ones, likewise */
	uint64_t explained_xids;
	GT_VEC(struct gt_kernel_times) kernels; /* most time first */
	struct gt_short_names *shown;           /* their names; NULL: there are none */
	struct gt_small_grids small_grids;
	GT_VEC(struct gt_copy_times) copies;
	GT_VEC(struct gt_wait_times) waits_by_function;
};

struct gt_breakdown;

/* `top`: so many of the longest operations and gaps are kept. NULL: out of memory. */
struct gt_breakdown *gt_breakdown_new(size_t top);
void gt_breakdown_free(struct gt_breakdown *breakdown);
GT_DEFINE_AUTO(breakdown, struct gt_breakdown, gt_breakdown_free)

/* The operation whose causes are kept, by its number. */
void gt_breakdown_explain(struct gt_breakdown *breakdown, uint64_t number);

/* Which events are kept with their causes; the names must live on. */
void gt_breakdown_explain_events(struct gt_breakdown *breakdown,
				 const struct gt_explain_request *request);

/* 0 or -ENOMEM. */
int gt_breakdown_take(struct gt_breakdown *breakdown, const struct gt_names *names,
		      const struct gt_event *event);
/*
 * The processes up to now, those with GPU operations first, the longest first. Before the end of
 * the session (`final`) without what is not settled: operations in flight and the time after them.
 * Valid until the next event. 0 or -ENOMEM.
 */
int gt_breakdown_rows(struct gt_breakdown *breakdown, const struct gt_names *names, bool final,
		      const struct gt_process_breakdown *const **ret_rows, size_t *ret_count);
/* What gt_breakdown_explain asked for; NULL: there was no such operation. */
const struct gt_idle_gap *gt_breakdown_explained(const struct gt_breakdown *breakdown);
const struct gt_timeline_totals *gt_breakdown_totals(const struct gt_breakdown *breakdown);
