/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/breakdown.h"

#include <errno.h>
#include <string.h>

#include "analysis/timeline/causes.h"
#include "analysis/timeline/overlap.h"
#include "base/hash.h"
#include "base/text.h"

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
	size_t top, collected;
	uint64_t explain;
	bool explained;
	struct gt_idle_gap explanation;
	const struct gt_strings *calls; /* globs; NULL: none are explained */
	GT_VEC(const struct gt_process_breakdown *) rows;
};

static void free_gaps(struct gt_idle_gaps *gaps)
{
	gt_vec_each (gap, gaps)
		free(gap->causes);
	gt_vec_free(gaps);
}

static void free_process(void *opaque)
{
	struct breakdown_process *process = opaque;
	struct gt_process_breakdown *row = &process->row;

	gt_path_release(&process->path);
	gt_vec_each (kernel, &row->kernels) {
		gt_histogram_free(&kernel->runs);
		gt_histogram_free(&kernel->queued);
	}
	gt_vec_each (copy, &row->copies)
		gt_histogram_free(&copy->runs);
	gt_vec_each (wait, &row->waits_by_function)
		gt_histogram_free(&wait->durations);
	free_gaps(&row->gaps);
	free_gaps(&row->calls);
	gt_vec_free(&row->busy);
	gt_vec_free(&row->longest);
	gt_vec_free(&row->kernels);
	gt_vec_free(&row->copies);
	gt_vec_free(&row->waits_by_function);
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

static int take_chain(void *opaque, const struct gt_job_chain *chain)
{
	struct gt_breakdown *breakdown = opaque;
	struct breakdown_process *process = gt_hash_get_u64(breakdown->processes, chain->process);

	if (!process)
		return 0;
	breakdown->collected++;
	return gt_path_take_job(&process->path, chain);
}

/* An Xid without a process concerns all of them. */
static int take_xid(struct gt_breakdown *breakdown, const struct gt_event *event)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

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
	breakdown->top = top;
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

void gt_breakdown_explain_calls(struct gt_breakdown *breakdown, const struct gt_strings *globs)
{
	breakdown->calls = globs;
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

static struct gt_busy *busy_of(struct gt_process_breakdown *row,
			       const struct gt_path_operation *operation, bool all)
{
	gt_vec_each (busy, &row->busy)
		if (busy->device == operation->device && busy->all == all &&
		    (all || busy->operation == (enum gt_gpu_operation)operation->operation))
			return busy;
	if (gt_vec_push(&row->busy,
			(struct gt_busy){.device = operation->device,
					 .all = all,
					 .operation = (enum gt_gpu_operation)operation->operation}))
		return NULL;
	return &row->busy.items[row->busy.count - 1];
}

static int count_busy(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		      bool all)
{
	struct gt_busy *busy = busy_of(row, operation, all);
	uint64_t start = operation->start;

	if (!busy)
		return -ENOMEM;
	busy->count++;
	busy->bytes += operation->bytes;
	busy->sum += operation->end - operation->start;
	if (busy->basis < (enum gt_times_basis)operation->basis)
		busy->basis = (enum gt_times_basis)operation->basis;
	start = start > busy->covered ? start : busy->covered;
	if (operation->end <= start)
		return 0;
	busy->ns += operation->end - start;
	busy->covered = operation->end;
	return 0;
}

/* Names are mostly the same pointers. */
static struct gt_kernel_times *kernel_of(struct gt_process_breakdown *row, const char *name)
{
	gt_vec_each (known, &row->kernels)
		if (known->kernel == name)
			return known;
	gt_vec_each (known, &row->kernels)
		if (known->kernel && name && !strcmp(known->kernel, name))
			return known;
	return NULL;
}

static int count_kernel(struct gt_process_breakdown *row, const struct gt_path_operation *operation)
{
	struct gt_kernel_times *kernel = kernel_of(row, operation->kernel);
	int error;

	if (!kernel) {
		if (gt_vec_push(&row->kernels,
				(struct gt_kernel_times){.kernel = operation->kernel}))
			return -ENOMEM;
		kernel = &row->kernels.items[row->kernels.count - 1];
	}
	kernel->estimated += operation->basis == GT_TIMES_ESTIMATED;
	kernel->exact += operation->basis == GT_TIMES_EXACT;
	error = gt_histogram_add(&kernel->runs, operation->end - operation->start);
	return error ? error
		     : gt_histogram_add(&kernel->queued,
					operation->start > operation->submitted
						? operation->start - operation->submitted
						: 0);
}

/* overlapped: the part in which a kernel ran. */
static int count_copy(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		      uint64_t overlapped)
{
	struct gt_copy_times *copy = NULL;

	gt_vec_each (known, &row->copies)
		if (known->operation == (enum gt_gpu_operation)operation->operation &&
		    known->memory == (enum gt_host_memory)operation->memory)
			copy = known;
	if (!copy) {
		if (gt_vec_push(&row->copies,
				(struct gt_copy_times){
					.operation = (enum gt_gpu_operation)operation->operation,
					.memory = (enum gt_host_memory)operation->memory,
				}))
			return -ENOMEM;
		copy = &row->copies.items[row->copies.count - 1];
	}
	copy->bytes += operation->bytes;
	copy->overlapped_ns += overlapped;
	copy->estimated += operation->basis == GT_TIMES_ESTIMATED;
	return gt_histogram_add(&copy->runs, operation->end - operation->start);
}

static int keep_longest(struct gt_breakdown *breakdown, struct gt_process_breakdown *row,
			const struct gt_path_operation *operation)
{
	size_t place = row->longest.count;

	while (place && row->longest.items[place - 1].end - row->longest.items[place - 1].start <
				operation->end - operation->start)
		place--;
	if (place >= breakdown->top)
		return 0;
	if (row->longest.count == breakdown->top)
		row->longest.count--;
	if (gt_vec_push(&row->longest, *operation))
		return -ENOMEM;
	memmove(&row->longest.items[place + 1], &row->longest.items[place],
		(row->longest.count - 1 - place) * sizeof(*operation));
	row->longest.items[place] = *operation;
	return 0;
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

static int keep_gap(struct gt_breakdown *breakdown, struct breakdown_process *process,
		    const struct gt_path_operation *next)
{
	struct gt_process_breakdown *row = &process->row;
	uint64_t length = next->start - process->covered;
	size_t rank = rank_of(&row->gaps, length);
	struct gt_idle_gap gap;
	int error;

	row->idle_gaps++;
	row->gpu_idle += length;
	if (rank >= breakdown->top)
		return 0;
	error = gt_causes_find(&process->path, next, process->covered, false, &gap);
	if (error)
		return error;
	gap.process = row->process;
	return insert_gap(&row->gaps, rank, &gap, breakdown->top);
}

static int keep_call(struct gt_breakdown *breakdown, struct breakdown_process *process,
		     const struct gt_path_thread *thread, const struct gt_path_call *call)
{
	struct gt_process_breakdown *row = &process->row;
	size_t rank = rank_of(&row->calls, call->end - call->start);
	struct gt_idle_gap gap;
	int error;

	if (!gt_globs_select(breakdown->calls->words.items, breakdown->calls->words.count,
			     call->name, false))
		return 0;
	row->explained_calls++;
	if (rank >= breakdown->top)
		return 0;
	error = gt_causes_find_of_call(&process->path, thread, call, &gap);
	if (error)
		return error;
	gap.process = row->process;
	return insert_gap(&row->calls, rank, &gap, breakdown->top);
}

/* The calls of the part that is attributed. */
static int keep_calls(struct gt_breakdown *breakdown, struct breakdown_process *process,
		      uint64_t until)
{
	int error = 0;

	if (!breakdown->calls)
		return 0;
	gt_vec_each (thread, &process->path.threads)
		gt_vec_each (call, &(*thread)->calls)
			if (!error && call->end > process->begun && call->end <= until)
				error = keep_call(breakdown, process, *thread, call);
	return error;
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
		error = keep_gap(breakdown, process, operation);
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
			error = count_busy(&process->row, operation, false);
		if (!error)
			error = count_busy(&process->row, operation, true);
		if (!error)
			error = keep_longest(breakdown, &process->row, operation);
		if (!error && operation->operation == GT_GPU_KERNEL)
			error = count_kernel(&process->row, operation);
		else if (!error && operation->operation >= GT_GPU_COPY &&
			 operation->operation <= GT_GPU_COPY_PEER)
			error = count_copy(&process->row, operation, overlapped);
	}
	return error;
}

static int count_wait(struct gt_process_breakdown *row, const struct gt_path *path,
		      const struct gt_path_call *call)
{
	const struct gt_path_operation *waited =
		call->operation ? &path->operations.items[call->operation - 1] : NULL;
	uint64_t behind = waited && waited->end > call->start ? waited->end : call->start;
	struct gt_wait_times *wait = NULL;

	gt_vec_each (known, &row->waits_by_function)
		if (!strcmp(known->function, call->name))
			wait = known;
	if (!wait) {
		if (gt_vec_push(&row->waits_by_function,
				(struct gt_wait_times){.function = call->name}))
			return -ENOMEM;
		wait = &row->waits_by_function.items[row->waits_by_function.count - 1];
	}
	wait->behind_ns += (behind < call->end ? behind : call->end) - call->start;
	return gt_histogram_add(&wait->durations, call->end - call->start);
}

static int count_waits(struct breakdown_process *process, uint64_t until)
{
	int error = 0;

	gt_vec_each (thread, &process->path.threads)
		gt_vec_each (call, &(*thread)->calls)
			if (!error && call->end > process->begun && call->end <= until &&
			    (call->activity == GT_HOST_WAIT || call->activity == GT_HOST_BLOCKED))
				error = count_wait(&process->row, &process->path, call);
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
		error = keep_calls(breakdown, process, until);
	return error ? error : count_waits(process, until);
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

static int attribute_all(struct gt_breakdown *breakdown, uint64_t settled)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

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
	return (a->wall < b->wall) - (a->wall > b->wall);
}

static int compare_kernels(const void *left, const void *right)
{
	const struct gt_kernel_times *a = left, *b = right;

	return (a->runs.sum < b->runs.sum) - (a->runs.sum > b->runs.sum);
}

static int compare_copies(const void *left, const void *right)
{
	const struct gt_copy_times *a = left, *b = right;

	return (a->runs.sum < b->runs.sum) - (a->runs.sum > b->runs.sum);
}

static int compare_waits(const void *left, const void *right)
{
	const struct gt_wait_times *a = left, *b = right;

	return (a->durations.sum < b->durations.sum) - (a->durations.sum > b->durations.sum);
}

static int compare_busy(const void *left, const void *right)
{
	const struct gt_busy *a = left, *b = right;

	if (a->device != b->device)
		return a->device - b->device;
	return a->all != b->all ? b->all - a->all : (int)a->operation - (int)b->operation;
}

#define sort_rows(vec, compare)                                                                    \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), compare);         \
	} while (0)

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
		    !row->spent[GT_SPENT_API] && !row->spent[GT_SPENT_COPY])
			continue;
		sort_rows(&row->kernels, compare_kernels);
		sort_rows(&row->copies, compare_copies);
		sort_rows(&row->waits_by_function, compare_waits);
		sort_rows(&row->busy, compare_busy);
		error = gt_vec_push(&breakdown->rows, row);
	}
	sort_rows(&breakdown->rows, compare_rows);
	*ret_rows = breakdown->rows.items;
	*ret_count = breakdown->rows.count;
	return error;
}
