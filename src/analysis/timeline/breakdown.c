/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/breakdown.h"

#include <errno.h>
#include <string.h>

#include "analysis/timeline/causes.h"
#include "analysis/timeline/explained.h"
#include "analysis/timeline/overlap.h"
#include "analysis/timeline/usage.h"
#include "base/hash.h"

#define MAX_COLLECTED (1u << 20) /* intervals, then a part of the session is attributed */

struct busy_span {
	uint64_t start, end;
};

struct breakdown_process {
	struct gt_process_breakdown row;
	struct gt_path path;
	uint64_t begun; /* what is before it is attributed */
	bool exited;
	uint64_t covered; /* by operations, up to this time */
	struct gt_overlap overlap;
	GT_VEC(struct busy_span) spans; /* in which a GPU worked: of the part being attributed */
	struct gt_lane_spans kernels;   /* … with a kernel or graph */
	GT_VEC(struct gt_path_operation *) by_start;
	size_t span; /* of the walk */
};

struct gt_breakdown {
	struct gt_timeline *timeline;
	struct gt_job_chains *chains;
	struct gt_hash *processes;
	struct gt_explained asked;
	size_t collected;
	uint64_t explain;
	bool explained;
	struct gt_idle_gap explanation;
	GT_VEC(const struct gt_process_breakdown *) rows;
};

static void free_process(void *opaque)
{
	struct breakdown_process *process = opaque;

	gt_path_release(&process->path);
	gt_usage_free(&process->row);
	gt_explained_free(&process->row);
	gt_vec_free(&process->spans);
	gt_vec_free(&process->kernels);
	gt_vec_free(&process->by_start);
	free(process);
}

static struct breakdown_process *process_of(struct gt_breakdown *breakdown, uint32_t id,
					    uint64_t time)
{
	struct breakdown_process *process = gt_hash_get_u64(breakdown->processes, id);

	if (process) {
		if (time < process->row.start && process->begun == process->row.start)
			process->row.start = process->begun = time;
		return process;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->row.process = id;
	process->row.start = process->row.end = process->begun = time;
	if (!gt_path_init(&process->path) && !gt_hash_set_u64(breakdown->processes, id, process))
		return process;
	free_process(process);
	return NULL;
}

static void extend_process(struct breakdown_process *process, uint64_t time)
{
	if (process->row.end < time && !process->exited)
		process->row.end = time;
}

static int take_host(void *opaque, const struct gt_names *names,
		     const struct gt_host_interval *interval)
{
	struct gt_breakdown *breakdown = opaque;
	struct breakdown_process *process =
		process_of(breakdown, interval->process, interval->start);

	if (!process)
		return -ENOMEM;
	extend_process(process, interval->end);
	/* The kernel's part of a uprobe of gputap. */
	if (interval->activity == GT_HOST_SYSCALL && !strcmp(interval->name, "uretprobe"))
		return 0;
	breakdown->collected++;
	process->row.launches += interval->activity == GT_HOST_LAUNCH;
	process->row.waits += interval->activity == GT_HOST_WAIT;
	return gt_path_take_host(&process->path, interval);
}

static int take_gpu(void *opaque, const struct gt_names *names,
		    const struct gt_gpu_interval *interval)
{
	struct gt_breakdown *breakdown = opaque;
	struct breakdown_process *process =
		process_of(breakdown, interval->process, interval->submitted);

	if (!process)
		return -ENOMEM;
	breakdown->collected++;
	process->row.operations++;
	process->row.contradicted += gt_gpu_interval_contradicts(interval);
	return gt_path_take_gpu(&process->path, interval);
}

/* Whether processes without any call or interval are kept, too, for one of their events. */
static bool is_asked_for(const struct gt_breakdown *breakdown, enum gt_explained_kind kind)
{
	return breakdown->asked.events.kinds & kind;
}

static int take_chain(void *opaque, const struct gt_job_chain *chain)
{
	struct gt_breakdown *breakdown = opaque;
	struct breakdown_process *process =
		is_asked_for(breakdown, GT_EXPLAIN_JOBS)
			? process_of(breakdown, chain->process, gt_job_chain_start(chain))
			: gt_hash_get_u64(breakdown->processes, chain->process);

	if (!process)
		return is_asked_for(breakdown, GT_EXPLAIN_JOBS) ? -ENOMEM : 0;
	breakdown->collected++;
	return gt_path_take_job(&process->path, chain);
}

/* An Xid without a process concerns all of them. */
static int take_xid(struct gt_breakdown *breakdown, const struct gt_event *event)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

	if (is_asked_for(breakdown, GT_EXPLAIN_XIDS) &&
	    (event->process || !gt_hash_count(breakdown->processes)) &&
	    !process_of(breakdown, event->process, event->time))
		return -ENOMEM;
	while (!error && gt_hash_next(breakdown->processes, &cursor, NULL, NULL, &value)) {
		struct breakdown_process *process = value;

		if (!event->process || event->process == process->row.process)
			error = gt_path_take_event(&process->path, event);
	}
	return error;
}

/* What the kernel did for a process, as evidence. */
static int take_evidence(struct gt_breakdown *breakdown, const struct gt_event *event)
{
	struct breakdown_process *process;

	if (event->kind == GT_EVENT_nvidia_xid)
		return take_xid(breakdown, event);
	if (event->kind != GT_EVENT_block_io)
		return gt_job_chains_take(breakdown->chains, event);
	process = gt_hash_get_u64(breakdown->processes, event->process);
	if (!process)
		return 0;
	breakdown->collected++;
	return gt_path_take_event(&process->path, event);
}

struct gt_breakdown *gt_breakdown_new(size_t top)
{
	gt_auto(breakdown) struct gt_breakdown *breakdown = calloc(1, sizeof(*breakdown));

	if (!breakdown)
		return NULL;
	breakdown->asked.top = top;
	breakdown->timeline = gt_timeline_new(&(struct gt_timeline_sink){
		.host = take_host, .gpu = take_gpu, .context = breakdown});
	breakdown->chains = gt_job_chains_new(take_chain, breakdown);
	breakdown->processes = gt_hash_new();
	if (!breakdown->timeline || !breakdown->chains || !breakdown->processes)
		return NULL;
	return gt_take(breakdown);
}

void gt_breakdown_free(struct gt_breakdown *breakdown)
{
	if (!breakdown)
		return;
	gt_timeline_free(breakdown->timeline);
	gt_job_chains_free(breakdown->chains);
	if (breakdown->processes)
		gt_hash_free_with(breakdown->processes, free_process);
	gt_vec_free(&breakdown->rows);
	free(breakdown->explanation.causes);
	free(breakdown);
}

void gt_breakdown_explain(struct gt_breakdown *breakdown, uint64_t number)
{
	breakdown->explain = number;
}

void gt_breakdown_explain_events(struct gt_breakdown *breakdown,
				 const struct gt_explain_request *request)
{
	breakdown->asked.events = *request;
}

const struct gt_idle_gap *gt_breakdown_explained(const struct gt_breakdown *breakdown)
{
	return breakdown->explained ? &breakdown->explanation : NULL;
}

const struct gt_timeline_totals *gt_breakdown_totals(const struct gt_breakdown *breakdown)
{
	return gt_timeline_totals(breakdown->timeline);
}

static int compare_starts(const void *left, const void *right)
{
	const struct gt_path_operation *a = *(void *const *)left, *b = *(void *const *)right;

	return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
				    : (a->number > b->number) - (a->number < b->number);
}

static int sort_by_start(struct breakdown_process *process)
{
	process->by_start.count = 0;
	gt_vec_each (operation, &process->path.operations)
		if (gt_vec_push(&process->by_start, operation))
			return -ENOMEM;
	if (process->by_start.count)
		qsort(process->by_start.items, process->by_start.count, sizeof(void *),
		      compare_starts);
	return 0;
}

/* Spans are sorted by their starts. */
#define extend_spans(spans, from, to)                                                              \
	({                                                                                         \
		size_t spans_count = (spans)->count;                                               \
		struct busy_span *spans_last =                                                     \
			spans_count ? &(spans)->items[spans_count - 1] : NULL;                     \
		int spans_error = 0;                                                               \
                                                                                                   \
		if (!spans_last || spans_last->end < (from))                                       \
			spans_error = gt_vec_push(spans, (struct busy_span){from, to});            \
		else if (spans_last->end < (to))                                                   \
			spans_last->end = (to);                                                    \
		spans_error;                                                                       \
	})

static bool is_kernel(const struct gt_path_operation *operation)
{
	return operation->operation == GT_GPU_KERNEL || operation->operation == GT_GPU_GRAPH;
}

static int find_spans(struct breakdown_process *process)
{
	int error = 0;

	process->spans.count = process->kernels.count = process->kernels.first = 0;
	gt_vec_each (item, &process->by_start) {
		const struct gt_path_operation *operation = *item;

		error = extend_spans(&process->spans, operation->start, operation->end);
		if (!error && is_kernel(operation))
			error = gt_lane_spans_add(&process->kernels, operation);
		if (error)
			return error;
	}
	return 0;
}

/* The times of all GPUs together; operations are sorted by their starts. */
static int count_coverage(struct gt_breakdown *breakdown, struct breakdown_process *process,
			  const struct gt_path_operation *operation)
{
	struct gt_process_breakdown *row = &process->row;
	uint64_t fresh;
	int error = 0;

	if (!row->gpu_first)
		row->gpu_first = process->covered = operation->start;
	if (operation->start > process->covered)
		error = gt_explain_gap(&breakdown->asked, row, &process->path, operation,
				       process->covered);
	row->gpu_overlap += gt_overlap_add(&process->overlap, operation);
	fresh = operation->start > process->covered ? operation->start : process->covered;
	if (operation->end > fresh) {
		row->gpu_busy += operation->end - fresh;
		process->covered = row->gpu_last = operation->end;
	}
	return error;
}

static int count_operations(struct gt_breakdown *breakdown, struct breakdown_process *process,
			    uint64_t until)
{
	int error = 0;

	for (size_t i = 0; i < process->by_start.count && !error; i++) {
		struct gt_path_operation *operation = process->by_start.items[i];
		uint64_t overlapped = gt_lane_spans_overlap(&process->kernels, operation);

		if (operation->counted || operation->start > until)
			continue;
		operation->counted = true;
		error = count_coverage(breakdown, process, operation);
		if (!error)
			error = gt_usage_add(&process->row, operation, overlapped,
					     breakdown->asked.top);
	}
	return error;
}
/* How long a GPU worked in a segment; segments come latest first. */
static uint64_t busy_in(struct breakdown_process *process, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	while (process->span && process->spans.items[process->span - 1].start >= end)
		process->span--;
	for (size_t i = process->span; i && process->spans.items[i - 1].end > start; i--) {
		const struct busy_span *span = &process->spans.items[i - 1];
		uint64_t from = span->start > start ? span->start : start;
		uint64_t to = span->end < end ? span->end : end;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

static void count_segment(void *opaque, const struct gt_path_segment *segment)
{
	struct breakdown_process *process = opaque;
	uint64_t length = segment->end - segment->start;

	if (segment->woken)
		return;
	process->row.wall += length;
	process->row.spent[segment->spending] += length;
	process->row.spent_idle[segment->spending] +=
		length - busy_in(process, segment->start, segment->end);
}

static int explain_operation(struct gt_breakdown *breakdown, struct breakdown_process *process)
{
	const struct gt_path_operation *operation =
		breakdown->explain && !breakdown->explained
			? gt_path_find(&process->path, breakdown->explain)
			: NULL;
	int error;

	if (!operation)
		return 0;
	error = gt_causes_find(&process->path, operation, process->begun, true,
			       &breakdown->explanation);
	breakdown->explained = !error;
	breakdown->explanation.process = process->row.process;
	return error;
}

static int count_all(struct gt_breakdown *breakdown, struct breakdown_process *process,
		     uint64_t settled, uint64_t until)
{
	int error = sort_by_start(process);

	if (!error)
		error = find_spans(process);
	if (!error)
		error = explain_operation(breakdown, process);
	if (!error)
		error = count_operations(breakdown, process, settled);
	if (!error)
		error = gt_explain_calls(&breakdown->asked, &process->row, &process->path,
					 process->begun, until);
	if (!error)
		error = gt_explain_syscalls(&breakdown->asked, &process->row, &process->path,
					    settled);
	if (!error)
		error = gt_explain_faults(&breakdown->asked, &process->row, &process->path,
					  settled);
	if (!error)
		error = gt_explain_xids(&breakdown->asked, &process->row, &process->path,
					process->begun, settled);
	return error ? error
		     : gt_usage_add_waits(&process->row, &process->path, process->begun, until);
}

/* An operation does not begin before its submission: what is measured before it is a gap. */
static void trim_gaps(struct gt_path *path)
{
	gt_vec_each (operation, &path->operations)
		if (operation->start < operation->submitted &&
		    operation->submitted <= operation->end)
			operation->start = operation->submitted;
}

/* Attribute the time up to `settled`. */
static int attribute_process(struct gt_breakdown *breakdown, struct breakdown_process *process,
			     uint64_t settled)
{
	uint64_t until = process->row.end < settled ? process->row.end : settled;
	int error;

	gt_path_prepare(&process->path);
	process->row.host_only = process->row.contradicted * 2 > process->row.operations;
	if (!process->row.host_only)
		trim_gaps(&process->path);
	error = count_all(breakdown, process, settled, until);
	if (error || until <= process->begun)
		return error;
	process->span = process->spans.count;
	gt_path_walk(&process->path, process->begun, until, process->row.host_only, count_segment,
		     process);
	process->row.host_threads = 0;
	gt_vec_each (thread, &process->path.threads)
		process->row.host_threads += (*thread)->has_called;
	process->begun = until;
	gt_path_drop(&process->path, until);
	return 0;
}

static const struct gt_job_chain *find_job(void *opaque, uint64_t context, uint64_t seqno)
{
	const struct gt_breakdown *breakdown = opaque;
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(breakdown->processes, &cursor, NULL, NULL, &value)) {
		const struct breakdown_process *process = value;

		gt_vec_each (thread, &process->path.threads)
			gt_vec_each (job, &(*thread)->jobs)
				if (job->chain.context == context && job->chain.seqno == seqno)
					return &job->chain;
	}
	return NULL;
}

/* Jobs wait for those of other processes: all of them are still there. */
static int explain_all_jobs(struct gt_breakdown *breakdown, uint64_t settled)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && gt_hash_next(breakdown->processes, &cursor, NULL, NULL, &value)) {
		struct breakdown_process *process = value;

		error = gt_explain_jobs(&breakdown->asked, &process->row, &process->path, settled,
					find_job, breakdown);
	}
	return error;
}

static int attribute_all(struct gt_breakdown *breakdown, uint64_t settled)
{
	size_t cursor = 0;
	void *value;
	int error = explain_all_jobs(breakdown, settled);

	breakdown->collected = 0;
	while (!error && gt_hash_next(breakdown->processes, &cursor, NULL, NULL, &value)) {
		struct breakdown_process *process = value;

		error = attribute_process(breakdown, process, settled);
		breakdown->collected += process->path.count;
	}
	return error;
}

int gt_breakdown_take(struct gt_breakdown *breakdown, const struct gt_names *names,
		      const struct gt_event *event)
{
	struct breakdown_process *process;
	int error = gt_timeline_take(breakdown->timeline, names, event);

	if (!error)
		error = take_evidence(breakdown, event);
	if (error)
		return error;
	if (event->kind == GT_EVENT_process && event->time && event->clock == GT_CLOCK_MONOTONIC &&
	    !process_of(breakdown, event->process, event->time))
		return -ENOMEM;
	if (event->kind == GT_EVENT_exit) {
		process = gt_hash_get_u64(breakdown->processes, event->process);
		if (process && !process->exited) {
			extend_process(process, event->time);
			process->exited = true;
		}
	}
	/* What remains after a part is attributed may be much, where operations are pending. */
	if (breakdown->collected < MAX_COLLECTED)
		return 0;
	error = attribute_all(breakdown, gt_timeline_settled(breakdown->timeline));
	breakdown->collected /= 2;
	return error;
}

static int compare_rows(const void *left, const void *right)
{
	const struct gt_process_breakdown *a = *(void *const *)left, *b = *(void *const *)right;

	if (!a->operations != !b->operations)
		return !a->operations - !b->operations;
	if (a->wall != b->wall)
		return (a->wall < b->wall) - (a->wall > b->wall);
	return (a->process > b->process) - (a->process < b->process);
}
int gt_breakdown_rows(struct gt_breakdown *breakdown, const struct gt_names *names, bool final,
		      const struct gt_process_breakdown *const **ret_rows, size_t *ret_count)
{
	int error = final && names ? gt_timeline_finish(breakdown->timeline, names) : 0;
	size_t cursor = 0;
	void *value;

	if (!error && final)
		error = gt_job_chains_finish(breakdown->chains);
	if (!error)
		error = attribute_all(breakdown, final ? UINT64_MAX
						       : gt_timeline_settled(breakdown->timeline));
	breakdown->rows.count = 0;
	while (!error && gt_hash_next(breakdown->processes, &cursor, NULL, NULL, &value)) {
		struct gt_process_breakdown *row = &((struct breakdown_process *)value)->row;

		if (!row->operations && !row->launches && !row->waits &&
		    !row->spent[GT_SPENT_API] && !row->spent[GT_SPENT_COPY] &&
		    !row->explained_faults && !row->explained_jobs && !row->explained_xids)
			continue;
		gt_usage_sort(row);
		error = gt_vec_push(&breakdown->rows, row);
	}
	if (breakdown->rows.count)
		qsort(breakdown->rows.items, breakdown->rows.count, sizeof(void *), compare_rows);
	*ret_rows = breakdown->rows.items;
	*ret_count = breakdown->rows.count;
	return error;
}
