/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/explained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/causes.h"
#include "base/text.h"

static void free_gaps(struct gt_idle_gaps *gaps)
{
	gt_vec_each (gap, gaps)
		free(gap->causes);
	gt_vec_free(gaps);
}

/* Where one of this length would be. */
static size_t rank_of(const struct gt_idle_gaps *gaps, uint64_t length)
{
	size_t rank = gaps->count;

	while (rank && gaps->items[rank - 1].end - gaps->items[rank - 1].start < length)
		rank--;
	return rank;
}

/* Insert one at its rank; of `top` the shortest is dropped. Takes the causes. 0 or -ENOMEM. */
static int insert_gap(struct gt_idle_gaps *gaps, size_t rank, const struct gt_idle_gap *gap,
		      size_t top)
{
	if (gaps->count == top)
		free(gaps->items[--gaps->count].causes);
	if (gt_vec_push(gaps, *gap)) {
		free(gap->causes);
		return -ENOMEM;
	}
	memmove(&gaps->items[rank + 1], &gaps->items[rank],
		(gaps->count - 1 - rank) * sizeof(*gap));
	gaps->items[rank] = *gap;
	return 0;
}

int gt_explain_gap(const struct gt_explained *explained, struct gt_process_breakdown *row,
		   const struct gt_path *path, const struct gt_path_operation *next, uint64_t begin)
{
	uint64_t length = next->start - begin;
	size_t rank = rank_of(&row->gaps, length);
	struct gt_idle_gap gap;
	int error;

	row->idle_gaps++;
	row->gpu_idle += length;
	if (rank >= explained->top)
		return 0;
	error = gt_causes_find(path, next, begin, false, &gap);
	if (error)
		return error;
	gap.process = row->process;
	gap.kind = GT_EXPLAIN_GAPS;
	return insert_gap(&row->gaps, rank, &gap, explained->top);
}

/* ---- calls, system calls and page faults ------------------------------------------------ */

/* Whether a name is meant. */
static bool is_named(const struct gt_strings *globs, const char *name)
{
	return !globs || gt_globs_select(globs->words.items, globs->words.count, name, true);
}

/* Of a page fault or system call: what was seen in it, but for itself. */
static void find_inside(const struct gt_path *path, const struct gt_path_call *call,
			struct gt_idle_gap *gap)
{
	gt_path_find_evidence(path, gap->thread, call, call->start, call->end, &gap->inside);
	if (gap->kind == GT_EXPLAIN_FAULTS) {
		gap->inside.faults = 0;
		return;
	}
	/* The job knows the command of the ioctl that submitted it. */
	if (gap->inside.job.syscall.start == call->start)
		gap->call = gap->inside.job.syscall.name;
	gap->inside.syscall = NULL;
	gap->inside.syscall_ns = 0;
}

/* Keep it among those of its kind, with its causes, if it is one of the longest. 0 or -ENOMEM. */
static int keep_call(const struct gt_explained *explained, struct gt_idle_gaps *kept,
		     const struct gt_path *path, const struct gt_path_thread *thread,
		     const struct gt_path_call *call, const struct gt_idle_gap *known)
{
	size_t rank = rank_of(kept, call->end - call->start);
	struct gt_idle_gap gap;
	int error;

	if (rank >= explained->top)
		return 0;
	error = gt_causes_find_of_call(path, thread, call, &gap);
	if (error)
		return error;
	gap.process = known->process;
	gap.kind = known->kind;
	gap.address = known->address;
	gap.failed = known->failed;
	if (gap.kind != GT_EXPLAIN_CALLS)
		find_inside(path, call, &gap);
	return insert_gap(kept, rank, &gap, explained->top);
}

int gt_explain_calls(const struct gt_explained *explained, struct gt_process_breakdown *row,
		     const struct gt_path *path, uint64_t begun, uint64_t until)
{
	struct gt_idle_gap known = {.process = row->process, .kind = GT_EXPLAIN_CALLS};
	int error = 0;

	if (!(explained->events.kinds & GT_EXPLAIN_CALLS))
		return 0;
	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls) {
			if (error || call->end <= begun || call->end > until ||
			    !is_named(explained->events.calls, call->name))
				continue;
			row->explained_calls++;
			known.failed = call->failed;
			error = keep_call(explained, &row->calls, path, *thread, call, &known);
		}
	return error;
}

int gt_explain_syscalls(const struct gt_explained *explained, struct gt_process_breakdown *row,
			const struct gt_path *path, uint64_t until)
{
	struct gt_idle_gap known = {.process = row->process, .kind = GT_EXPLAIN_SYSCALLS};
	int error = 0;

	if (!(explained->events.kinds & GT_EXPLAIN_SYSCALLS))
		return 0;
	gt_vec_each (thread, &path->threads)
		gt_vec_each (syscall, &(*thread)->syscalls) {
			const struct gt_path_call as_call = {.start = syscall->start,
							     .end = syscall->end,
							     .name = syscall->name};

			if (error || syscall->explained || syscall->end > until)
				continue;
			syscall->explained = true;
			if (!is_named(explained->events.syscalls, syscall->name))
				continue;
			row->explained_syscalls++;
			known.failed = syscall->failed;
			error = keep_call(explained, &row->syscalls, path, *thread, &as_call,
					  &known);
		}
	return error;
}

int gt_explain_faults(const struct gt_explained *explained, struct gt_process_breakdown *row,
		      const struct gt_path *path, uint64_t until)
{
	struct gt_idle_gap known = {.process = row->process, .kind = GT_EXPLAIN_FAULTS};
	int error = 0;

	if (!(explained->events.kinds & GT_EXPLAIN_FAULTS))
		return 0;
	gt_vec_each (thread, &path->threads)
		gt_vec_each (fault, &(*thread)->faults) {
			const struct gt_path_call as_call = {
				.start = fault->start, .end = fault->end, .name = "page fault"};

			if (error || fault->explained || fault->end > until)
				continue;
			fault->explained = true;
			row->explained_faults++;
			known.address = fault->address;
			error = keep_call(explained, &row->faults, path, *thread, &as_call, &known);
		}
	return error;
}

/* ---- jobs ------------------------------------------------------------------------------- */

static uint64_t length_of(const struct gt_job_chain *chain)
{
	return gt_job_chain_end(chain) - gt_job_chain_start(chain);
}

static bool is_meant(const struct gt_explain_request *request, const struct gt_job_chain *chain)
{
	return (!request->fence_context && !request->fence_seqno) ||
	       (chain->context == request->fence_context && chain->seqno == request->fence_seqno);
}

/* Follow the fences that jobs waited for. A chain of fences may be malformed, and so a loop. */
static void follow_fences(struct gt_explained_job *job, gt_explain_find_job *find_job,
			  void *context)
{
	const struct gt_job_chain *last = &job->chain;

	while (job->waited_count < GT_MAX_WAITED_JOBS && last->dependency.blocked) {
		const struct gt_job_chain *next =
			find_job(context, last->dependency.context, last->dependency.seqno);

		if (!next)
			break;
		job->waited[job->waited_count] = *next;
		last = &job->waited[job->waited_count++];
	}
}

static int keep_job(const struct gt_explained *explained, struct gt_process_breakdown *row,
		    const struct gt_job_chain *chain)
{
	struct gt_explained_job job = {.chain = *chain};
	size_t rank = row->jobs.count;

	row->explained_jobs++;
	while (rank && length_of(&row->jobs.items[rank - 1].chain) < length_of(chain))
		rank--;
	if (rank >= explained->top)
		return 0;
	if (row->jobs.count == explained->top)
		row->jobs.count--;
	if (gt_vec_push(&row->jobs, job))
		return -ENOMEM;
	memmove(&row->jobs.items[rank + 1], &row->jobs.items[rank],
		(row->jobs.count - 1 - rank) * sizeof(job));
	row->jobs.items[rank] = job;
	return 0;
}

int gt_explain_jobs(const struct gt_explained *explained, struct gt_process_breakdown *row,
		    const struct gt_path *path, uint64_t until, gt_explain_find_job *find_job,
		    void *context)
{
	int error = 0;

	if (!(explained->events.kinds & GT_EXPLAIN_JOBS))
		return 0;
	gt_vec_each (thread, &path->threads)
		gt_vec_each (job, &(*thread)->jobs) {
			if (error || job->explained || job->end > until)
				continue;
			job->explained = true;
			if (is_meant(&explained->events, &job->chain))
				error = keep_job(explained, row, &job->chain);
		}
	/* Now that it is known which ones are kept. */
	gt_vec_each (job, &row->jobs) {
		if (!job->is_followed)
			follow_fences(job, find_job, context);
		job->is_followed = true;
	}
	return error;
}

/* ---- Xids ------------------------------------------------------------------------------- */

static void find_running(const struct gt_path *path, struct gt_explained_xid *xid)
{
	gt_vec_each (operation, &path->operations) {
		if (operation->submitted > xid->time || operation->end <= xid->time)
			continue;
		xid->running++;
		if (operation->submitted < xid->submitted)
			continue;
		xid->number = operation->number;
		xid->submitted = operation->submitted;
		xid->operation = (enum gt_gpu_operation)operation->operation;
		xid->kernel = operation->kernel;
	}
}

static void find_last_call(const struct gt_path *path, struct gt_explained_xid *xid)
{
	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls) {
			if (call->start > xid->time || (xid->call && call->start < xid->call_start))
				continue;
			xid->call = call->name;
			xid->thread = (*thread)->thread;
			xid->call_start = call->start;
			xid->call_end = call->end;
		}
}

/* In a part of the session that had not been examined. */
static void count_failed(const struct gt_path *path, uint64_t begun, uint64_t until,
			 struct gt_explained_xid *xid)
{
	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls) {
			if (!call->failed || call->end <= begun || call->end > until ||
			    call->end < xid->time)
				continue;
			xid->failed++;
			if (xid->first_failed && call->end >= xid->failed_end)
				continue;
			xid->first_failed = call->name;
			xid->failed_thread = (*thread)->thread;
			xid->failed_end = call->end;
		}
}

static int keep_xid(struct gt_process_breakdown *row, const struct gt_path *path,
		    const struct gt_path_xid *seen)
{
	struct gt_explained_xid xid = {.time = seen->end, .code = seen->code};

	memcpy(xid.text, seen->text, sizeof(xid.text));
	find_running(path, &xid);
	find_last_call(path, &xid);
	return gt_vec_push(&row->xids, xid);
}

int gt_explain_xids(const struct gt_explained *explained, struct gt_process_breakdown *row,
		    const struct gt_path *path, uint64_t begun, uint64_t until)
{
	int error = 0;

	if (!(explained->events.kinds & GT_EXPLAIN_XIDS))
		return 0;
	gt_vec_each (xid, &path->xids) {
		if (error || xid->explained || xid->end > until)
			continue;
		xid->explained = true;
		row->explained_xids++;
		if (row->xids.count < explained->top)
			error = keep_xid(row, path, xid);
	}
	gt_vec_each (xid, &row->xids)
		count_failed(path, begun, until, xid);
	return error;
}

void gt_explained_free(struct gt_process_breakdown *row)
{
	free_gaps(&row->gaps);
	free_gaps(&row->calls);
	free_gaps(&row->syscalls);
	free_gaps(&row->faults);
	gt_vec_free(&row->jobs);
	gt_vec_free(&row->xids);
}
