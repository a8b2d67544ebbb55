/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known about a call that took long: its stream's queue, and the kernel's work for it. */
#include <errno.h>
#include <string.h>

#include "analysis/timeline/path.h"
#include "base/hash.h"

#define MANY_OPERATIONS 8 /* in a queue that is taken to be full without a comparison */
#define USUAL_TIMES 4     /* a call that waited takes so many times the usual */
#define SOON_AFTER 100000 /* ns */
#define SOON_AFTER_PART 4 /* of the call's duration */

static const struct gt_path_operation *submitted_by(const struct gt_path *path, uint32_t thread,
						    const struct gt_path_call *call)
{
	gt_vec_each (operation, &path->operations)
		if (operation->thread == thread && operation->submitted >= call->start &&
		    operation->submitted <= call->end)
			return operation;
	return NULL;
}

/* The call of a thread that encloses a submission; NULL: it is not collected. */
static const struct gt_path_call *call_at(const struct gt_path_thread *thread, uint64_t time)
{
	size_t low = 0, high = thread->calls.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->calls.items[middle].start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && thread->calls.items[low - 1].end >= time ? &thread->calls.items[low - 1]
							       : NULL;
}

static int compare_durations(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The median duration of calls like this one whose stream had at most `depth` operations. */
static int find_usual(const struct gt_path *path, const struct gt_path_thread *thread,
		      const struct gt_path_call *like, const struct gt_path_operation *submitted,
		      uint64_t depth, uint64_t *ret_usual)
{
	const struct gt_path_operation *items = path->operations.items;
	GT_VEC(uint64_t) durations = {0};
	uint64_t queued = 0;
	size_t done = 0;
	int error = 0;

	/* Operations of a stream end in their order: `done` is the first that is queued. */
	for (size_t i = 0; i < path->operations.count && !error; i++) {
		const struct gt_path_call *call;

		if (items[i].queue != submitted->queue)
			continue;
		for (; done < i && (items[done].queue != submitted->queue ||
				    items[done].end <= items[i].submitted);
		     done++)
			queued -= items[done].queue == submitted->queue;
		call = items[i].thread == thread->thread && queued <= depth
			       ? call_at(thread, items[i].submitted)
			       : NULL;
		queued++;
		if (call && call != like && call->activity == like->activity)
			error = gt_vec_push(&durations, call->end - call->start);
	}
	*ret_usual = 0;
	if (!error && durations.count) {
		qsort(durations.items, durations.count, sizeof(uint64_t), compare_durations);
		*ret_usual = durations.items[durations.count / 2];
	}
	gt_vec_free(&durations);
	return error;
}

int gt_path_queue_at(const struct gt_path *path, uint32_t id, const struct gt_path_call *call,
		     struct gt_queue_evidence *ret_evidence)
{
	const struct gt_path_operation *submitted = submitted_by(path, id, call);
	const struct gt_path_thread *thread = gt_hash_get_u64(path->by_id, id);
	uint64_t duration = call->end - call->start, ended = 0, soon;
	struct gt_queue_evidence evidence = {0};
	int error;

	for (const struct gt_path_operation *operation = path->operations.items;
	     submitted && operation < submitted; operation++) {
		if (operation->queue != submitted->queue || operation->end <= call->start)
			continue;
		evidence.depth++;
		if (operation->end <= call->end && operation->end > ended)
			ended = operation->end;
	}
	if (!ended || !thread) {
		*ret_evidence = (struct gt_queue_evidence){0};
		return 0;
	}
	error = find_usual(path, thread, call, submitted, evidence.depth / 2, &evidence.usual);
	if (error)
		return error;
	soon = duration / SOON_AFTER_PART > SOON_AFTER ? duration / SOON_AFTER_PART : SOON_AFTER;
	evidence.returned = call->end - ended;
	evidence.is_full = evidence.returned <= soon &&
			   (evidence.usual ? duration / USUAL_TIMES >= evidence.usual
					   : evidence.depth >= MANY_OPERATIONS);
	*ret_evidence = evidence;
	return 0;
}

/* The part of a call that is of interest. */
struct evidence_period {
	uint64_t start, end;
};

/* The part of an interval that lies in a period. */
static uint64_t part_of(uint64_t start, uint64_t end, const struct evidence_period *period)
{
	uint64_t from = start > period->start ? start : period->start;
	uint64_t to = end < period->end ? end : period->end;

	return to > from ? to - from : 0;
}

/*
 * The first of the items that end after a time. Those of a thread are in the order of their ends.
 */
#define first_ending_after(vec, time)                                                              \
	({                                                                                         \
		size_t low = 0, high = (vec)->count;                                               \
                                                                                                   \
		while (low < high) {                                                               \
			size_t middle = low + (high - low) / 2;                                    \
                                                                                                   \
			if ((vec)->items[middle].end <= (time))                                    \
				low = middle + 1;                                                  \
			else                                                                       \
				high = middle;                                                     \
		}                                                                                  \
		low;                                                                               \
	})

/* The items that lie in a period, also in part. */
#define each_inside(item, vec, period)                                                             \
	for (__typeof__((vec)->items + 0) item =                                                   \
		     (vec)->count ? (vec)->items + first_ending_after(vec, (period)->start)        \
				  : NULL;                                                          \
	     item && item < (vec)->items + (vec)->count && item->start < (period)->end; item++)

static void find_requests(const struct gt_path_thread *thread, const struct evidence_period *period,
			  struct gt_call_evidence *evidence)
{
	each_inside(fault, &thread->faults, period)
	{
		evidence->faults++;
		evidence->fault_ns += part_of(fault->start, fault->end, period);
	}
	each_inside(request, &thread->io, period)
	{
		evidence->io++;
		evidence->io_ns += part_of(request->start, request->end, period);
		evidence->io_bytes += request->bytes;
	}
}

static void find_kernel_work(const struct gt_path_thread *thread,
			     const struct evidence_period *period,
			     struct gt_call_evidence *evidence)
{
	each_inside(syscall, &thread->syscalls, period)
	{
		uint64_t ns = part_of(syscall->start, syscall->end, period);

		if (ns <= evidence->syscall_ns)
			continue;
		evidence->syscall_ns = ns;
		evidence->syscall_whole_ns = syscall->end - syscall->start;
		evidence->syscall = syscall->name;
	}
	each_inside(pause, &thread->pauses, period)
	{
		evidence->off_cpu_ns += part_of(pause->start, pause->end, period);
		evidence->runnable_ns += part_of(pause->end - pause->runnable, pause->end, period);
	}
}

/* Jobs that were submitted in the call before the end of the period, and had not ended before it.
 */
static void find_jobs(const struct gt_path_thread *thread, const struct gt_path_call *call,
		      const struct evidence_period *period, struct gt_call_evidence *evidence)
{
	uint64_t longest = 0;

	gt_vec_each (job, &thread->jobs) {
		uint64_t queued = job->chain.queued;

		if (queued < call->start || queued > period->end || job->end < period->start)
			continue;
		if (!evidence->jobs++ || job->end - queued > longest) {
			longest = job->end - queued;
			evidence->job = job->chain;
		}
	}
}

/* The job names the command of the ioctl that submitted it. */
static void name_ioctl(const struct evidence_period *period, struct gt_call_evidence *evidence)
{
	uint64_t start = evidence->job.syscall.start, end = evidence->job.syscall.end;
	uint64_t ns = part_of(start, end, period);

	if (!ns || ns < evidence->syscall_ns)
		return;
	evidence->syscall = evidence->job.syscall.name;
	evidence->syscall_ns = ns;
	evidence->syscall_whole_ns = end - start;
}

void gt_path_find_evidence(const struct gt_path *path, uint32_t id, const struct gt_path_call *call,
			   uint64_t from, uint64_t to, struct gt_call_evidence *ret_evidence)
{
	const struct gt_path_thread *thread = gt_hash_get_u64(path->by_id, id);
	const struct evidence_period period = {
		.start = from > call->start ? from : call->start,
		.end = to < call->end ? to : call->end,
	};
	struct gt_call_evidence evidence = {0};

	if (thread) {
		find_requests(thread, &period, &evidence);
		find_kernel_work(thread, &period, &evidence);
		find_jobs(thread, call, &period, &evidence);
	}
	if (evidence.jobs)
		name_ioctl(&period, &evidence);
	if (call->failed)
		gt_vec_each (xid, &path->xids) {
			if (xid->end > call->end)
				continue;
			evidence.xid = xid->code;
			evidence.xid_before = call->end - xid->end;
		}
	*ret_evidence = evidence;
}
