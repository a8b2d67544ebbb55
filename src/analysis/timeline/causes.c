/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/causes.h"

#include <errno.h>
#include <string.h>

#define LONG_CALL 20000 /* ns, from which on the cause of a call's duration is looked for */
#define QUEUE_PART 8    /* of a gap: its longer calls are compared with other calls */

/* A cause of the path, and its longest call; NULL: none. */
struct walked_cause {
	struct gt_cause cause;
	const struct gt_path_call *call;
};

/* Segments that count as one cause for the headline. */
struct cause_share {
	struct walked_cause longest; /* of them */
	bool waits_for_cpu;
	uint64_t ns, count;
};

struct causes_walk {
	const struct gt_path *path;
	struct gt_idle_gap *gap;
	struct walked_cause causes[GT_MAX_CAUSES];
	size_t count;
	struct cause_share shares[GT_MAX_CAUSES];
	size_t share_count;
};

static void describe_operation(struct gt_cause *cause, const struct gt_path_operation *operation)
{
	cause->number = operation->number;
	cause->operation = (enum gt_gpu_operation)operation->operation;
	cause->release = (enum gt_gpu_release)operation->release;
	cause->queue = operation->queue;
	if (!cause->name)
		cause->name = operation->kernel;
}

static void describe_sleep(struct gt_cause *cause, const struct gt_path *path,
			   const struct gt_path_segment *segment)
{
	const struct gt_path_pause *pause = segment->pause;
	const struct gt_path_pause *syscall =
		gt_path_syscall_at(path, segment->thread, pause->start);

	if (segment->spending == GT_SPENT_SYSCALL) {
		cause->name = pause->name;
		return;
	}
	cause->syscall = syscall ? syscall->name : NULL;
	cause->waker = pause->waker;
	cause->state = pause->state;
	cause->runnable = pause->runnable;
	memcpy(cause->waker_name, pause->waker_name, sizeof(cause->waker_name));
}

static bool continues(const struct gt_cause *cause, const struct gt_path_segment *segment)
{
	return !cause->woken && !segment->woken && cause->spending == segment->spending &&
	       cause->thread == segment->thread && segment->spending != GT_SPENT_OFF_CPU &&
	       segment->spending != GT_SPENT_WAIT;
}

static bool equal_names(const char *left, const char *right)
{
	return left == right || (left && right && !strcmp(left, right));
}

/* Look for what a call that took long waited for. */
static int explain_cause(const struct causes_walk *walk, uint64_t min_queued,
			 struct walked_cause *walked)
{
	const struct gt_path *path = walk->path;
	const struct gt_path_call *call = walked->call;
	struct gt_cause *cause = &walked->cause;

	if (!call || (call->end - call->start < LONG_CALL && !call->failed))
		return 0;
	gt_path_find_evidence(path, cause->thread, call, walk->gap->start, walk->gap->end,
			      &cause->inside);
	return call->activity == GT_HOST_WAIT || cause->number || cause->longest < min_queued
		       ? 0
		       : gt_path_queue_at(path, cause->thread, call, &cause->queued);
}

static void merge_cause(struct walked_cause *walked, const struct gt_path_segment *segment,
			const struct walked_cause *next)
{
	struct gt_cause *cause = &walked->cause;

	cause->start = segment->start;
	cause->count++;
	if (!equal_names(cause->name, next->cause.name))
		cause->name = NULL;
	if (next->cause.longest <= cause->longest)
		return;
	cause->longest = next->cause.longest;
	walked->call = next->call;
}

static bool waits_for_cpu(const struct gt_path_segment *segment)
{
	const struct gt_path_pause *pause = segment->pause;

	return segment->spending == GT_SPENT_OFF_CPU && pause &&
	       (!pause->state || segment->start >= pause->end - pause->runnable);
}

static bool shares_cause(const struct cause_share *share, const struct gt_cause *cause,
			 bool for_cpu)
{
	const struct gt_cause *longest = &share->longest.cause;

	return longest->spending == cause->spending && longest->thread == cause->thread &&
	       longest->number == cause->number && share->waits_for_cpu == for_cpu &&
	       (cause->spending != GT_SPENT_OFF_CPU ||
		equal_names(longest->syscall, cause->syscall));
}

/* Add a cause of one segment to its share. Beyond GT_MAX_CAUSES it cannot be the headline. */
static void add_share(struct causes_walk *walk, const struct walked_cause *next, bool for_cpu)
{
	const struct gt_cause *cause = &next->cause;
	uint64_t begin = walk->gap->start;
	struct cause_share *share = walk->shares;
	const struct cause_share *end = share + walk->share_count;
	const char *name;

	while (share < end && !shares_cause(share, cause, for_cpu))
		share++;
	if (share == &walk->shares[GT_MAX_CAUSES])
		return;
	if (share == end) {
		*share = (struct cause_share){*next, for_cpu, 0, 0};
		walk->share_count++;
	}
	name = equal_names(share->longest.cause.name, cause->name) ? cause->name : NULL;
	if (cause->longest > share->longest.cause.longest)
		share->longest = *next;
	share->longest.cause.name = name;
	share->ns += cause->end - (cause->start > begin ? cause->start : begin);
	share->count++;
}

static int find_headline(struct causes_walk *walk)
{
	struct cause_share *most = NULL;
	struct gt_cause *headline = &walk->gap->headline;
	int error;

	for (size_t i = 0; i < walk->share_count; i++)
		if (!most || walk->shares[i].ns > most->ns)
			most = &walk->shares[i];
	if (!most)
		return 0;
	error = explain_cause(walk, LONG_CALL, &most->longest);
	*headline = most->longest.cause;
	headline->end = headline->start + most->ns;
	headline->count = most->count;
	return error;
}

static struct walked_cause describe_segment(const struct causes_walk *walk,
					    const struct gt_path_segment *segment)
{
	struct gt_cause cause = {
		.spending = segment->spending,
		.start = segment->start,
		.end = segment->end,
		.thread = segment->thread,
		.name = segment->call ? segment->call->name : NULL,
		.count = 1,
		.longest = segment->end - segment->start,
		.woken = segment->woken,
	};

	if (segment->operation)
		describe_operation(&cause, segment->operation);
	if (segment->pause)
		describe_sleep(&cause, walk->path, segment);
	return (struct walked_cause){cause, segment->call};
}

static void take_segment(void *opaque, const struct gt_path_segment *segment)
{
	struct causes_walk *walk = opaque;
	struct walked_cause *last = walk->count ? &walk->causes[walk->count - 1] : NULL;
	struct walked_cause next = describe_segment(walk, segment);

	if (!segment->woken)
		walk->gap->spent[segment->spending] += segment->end - segment->start;
	add_share(walk, &next, waits_for_cpu(segment));
	if (last && !walk->gap->omitted && continues(&last->cause, segment))
		merge_cause(last, segment, &next);
	else if (walk->count == GT_MAX_CAUSES)
		walk->gap->omitted++;
	else
		walk->causes[walk->count++] = next;
}

static int explain_gap(struct causes_walk *walk, bool from_end)
{
	struct gt_idle_gap *gap = walk->gap;
	uint64_t min_queued = from_end ? LONG_CALL : (gap->end - gap->start) / QUEUE_PART;
	int error = find_headline(walk);

	for (size_t i = 0; i < walk->count && !error; i++)
		error = explain_cause(walk, min_queued, &walk->causes[i]);
	if (error)
		return error;
	gap->causes = malloc((walk->count + 1) * sizeof(*gap->causes));
	if (!gap->causes)
		return -ENOMEM;
	for (size_t i = 0; i < walk->count; i++)
		gap->causes[i] = walk->causes[i].cause;
	gap->cause_count = walk->count;
	return 0;
}

int gt_causes_find(const struct gt_path *path, const struct gt_path_operation *operation,
		   uint64_t begin, bool from_end, struct gt_idle_gap *ret_gap)
{
	struct gt_idle_gap gap = {
		.start = begin,
		.end = from_end ? operation->end : operation->start,
		.next = operation->number,
		.operation = (enum gt_gpu_operation)operation->operation,
		.kernel = operation->kernel,
		.thread = operation->thread,
	};
	struct causes_walk walk = {.path = path, .gap = &gap};
	int error;

	gt_path_walk_operation(path, begin, operation, from_end, take_segment, &walk);
	error = explain_gap(&walk, from_end);
	if (!error)
		*ret_gap = gap;
	return error;
}

int gt_causes_find_of_call(const struct gt_path *path, const struct gt_path_thread *thread,
			   const struct gt_path_call *call, struct gt_idle_gap *ret_gap)
{
	struct gt_idle_gap gap = {
		.start = call->start,
		.end = call->end,
		.call = call->name,
		.failed = call->failed,
		.thread = thread->thread,
	};
	struct causes_walk walk = {.path = path, .gap = &gap};
	int error;

	gt_path_walk_call(path, thread, call, take_segment, &walk);
	error = explain_gap(&walk, false);
	if (!error)
		*ret_gap = gap;
	return error;
}
