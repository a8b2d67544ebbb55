/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/causes.h"

#include <errno.h>
#include <string.h>

#define LONG_CALL 20000 /* ns, from which on the cause of a call's duration is looked for */

struct causes_walk {
	const struct gt_path *path;
	struct gt_idle_gap *gap;
	struct gt_cause *causes;
	size_t count;
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

static void merge_cause(struct gt_cause *cause, const struct gt_path *path,
			const struct gt_path_segment *segment)
{
	const char *name = segment->call        ? segment->call->name
			   : segment->operation ? segment->operation->kernel
						: NULL;

	if (segment->call && segment->call->activity != GT_HOST_WAIT &&
	    segment->end - segment->start >= LONG_CALL && !cause->queued)
		cause->queued = gt_path_queued_at(path, segment->thread, segment->call);
	cause->start = segment->start;
	cause->count++;
	if (!name || !cause->name || strcmp(name, cause->name))
		cause->name = NULL;
}

static void take_segment(void *opaque, const struct gt_path_segment *segment)
{
	struct causes_walk *walk = opaque;
	struct gt_cause *last = walk->count ? &walk->causes[walk->count - 1] : NULL;
	struct gt_cause cause = {
		.spending = segment->spending,
		.start = segment->start,
		.end = segment->end,
		.thread = segment->thread,
		.name = segment->call ? segment->call->name : NULL,
		.count = 1,
		.woken = segment->woken,
	};

	if (!segment->woken)
		walk->gap->spent[segment->spending] += segment->end - segment->start;
	if (last && !walk->gap->omitted && continues(last, segment)) {
		merge_cause(last, walk->path, segment);
		return;
	}
	if (walk->count == GT_MAX_CAUSES) {
		walk->gap->omitted++;
		return;
	}
	if (segment->call && segment->call->activity != GT_HOST_WAIT &&
	    segment->end - segment->start >= LONG_CALL)
		cause.queued = gt_path_queued_at(walk->path, segment->thread, segment->call);
	if (segment->operation)
		describe_operation(&cause, segment->operation);
	if (segment->pause)
		describe_sleep(&cause, walk->path, segment);
	walk->causes[walk->count++] = cause;
}

int gt_causes_find(const struct gt_path *path, const struct gt_path_operation *operation,
		   uint64_t begin, bool from_end, struct gt_idle_gap *ret_gap)
{
	struct gt_cause causes[GT_MAX_CAUSES];
	struct gt_idle_gap gap = {
		.start = begin,
		.end = from_end ? operation->end : operation->start,
		.next = operation->number,
		.operation = (enum gt_gpu_operation)operation->operation,
		.kernel = operation->kernel,
		.thread = operation->thread,
	};
	struct causes_walk walk = {path, &gap, causes, 0};

	gt_path_walk_operation(path, begin, operation, from_end, take_segment, &walk);
	gap.causes = malloc((walk.count + 1) * sizeof(*causes));
	if (!gap.causes)
		return -ENOMEM;
	memcpy(gap.causes, causes, walk.count * sizeof(*causes));
	gap.cause_count = walk.count;
	*ret_gap = gap;
	return 0;
}
