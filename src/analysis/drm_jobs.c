/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/drm_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gt_drm_jobs *gt_drm_jobs_new(void)
{
	gt_auto(drm_jobs) struct gt_drm_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs || gt_keyed_rows_init(&jobs->rings) || gt_keyed_rows_init(&jobs->processes) ||
	    gt_keyed_rows_init(&jobs->queues) || gt_keyed_rows_init(&jobs->blockings))
		return NULL;
	return gt_take(jobs);
}

static void release_sums(struct gt_drm_jobs_sums *sums)
{
	gt_histogram_free(&sums->blocked);
	gt_histogram_free(&sums->queued);
	gt_histogram_free(&sums->ran);
}

static void release_ring(void *opaque)
{
	release_sums(&((struct gt_drm_ring *)opaque)->sums);
}

static void release_process(void *opaque)
{
	release_sums(&((struct gt_drm_process *)opaque)->sums);
}

static void release_blocking(void *opaque)
{
	gt_histogram_free(&((struct gt_drm_blocking *)opaque)->times);
}

void gt_drm_jobs_free(struct gt_drm_jobs *jobs)
{
	if (!jobs)
		return;
	gt_keyed_rows_free(&jobs->rings, release_ring);
	gt_keyed_rows_free(&jobs->processes, release_process);
	gt_keyed_rows_free(&jobs->queues, NULL);
	gt_keyed_rows_free(&jobs->blockings, release_blocking);
	free(jobs);
}

static struct gt_drm_jobs_sums *sums_of_ring(struct gt_drm_jobs *jobs, const struct gt_event *event)
{
	char names[GT_TAIL_NAMES];
	struct gt_drm_ring *ring;

	gt_tail_names(event, names);
	ring = gt_keyed_rows_get(&jobs->rings, names, sizeof(names), sizeof(*ring));
	return ring ? &ring->sums : NULL;
}

static struct gt_drm_jobs_sums *sums_of_process(struct gt_drm_jobs *jobs,
						const struct gt_event *event)
{
	struct gt_drm_process *process = gt_keyed_rows_get(
		&jobs->processes, &event->process, sizeof(event->process), sizeof(*process));

	return process ? &process->sums : NULL;
}

static int add_run(struct gt_drm_jobs_sums *sums, const struct gt_event_drm_job *job)
{
	sums->running++;
	if (sums->running > sums->max_running)
		sums->max_running = sums->running;
	if (!job->queued)
		return 0;
	return gt_histogram_add(&sums->queued,
				job->queued > job->blocked ? job->queued - job->blocked : 0);
}

/* The job leaves the hardware, if it was there; one that ran before the session was not counted. */
static int add_end(struct gt_drm_jobs_sums *sums, const struct gt_event_drm_job *job)
{
	if (!job->ran)
		return 0;
	if (sums->running)
		sums->running--;
	return job->operation == GT_DRM_DONE ? gt_histogram_add(&sums->ran, job->ran) : 0;
}

static int add_job(struct gt_drm_jobs_sums *sums, const struct gt_event_drm_job *job)
{
	if (job->depth > sums->max_depth)
		sums->max_depth = job->depth;
	switch (job->operation) {
	case GT_DRM_QUEUE:
		sums->jobs++;
		return 0;
	case GT_DRM_RUN:
		return add_run(sums, job);
	case GT_DRM_DONE:
		sums->done++;
		sums->errors += job->error != 0;
		return add_end(sums, job);
	case GT_DRM_TIMEOUT:
		sums->timeouts++;
		return 0;
	case GT_DRM_CANCELED:
		sums->canceled++;
		return add_end(sums, job);
	}
	return 0;
}

static int remember_queue(struct gt_drm_jobs *jobs, const struct gt_event_drm_job *job)
{
	char names[GT_TAIL_NAMES];
	struct gt_drm_queue *queue;

	if (job->operation != GT_DRM_QUEUE)
		return 0;
	queue = gt_keyed_rows_get(&jobs->queues, &job->context, sizeof(job->context),
				  sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	gt_tail_names(&job->head, names);
	queue->process = job->head.process;
	memcpy(queue->ring, names, sizeof(queue->ring));
	return 0;
}

static int take_job(struct gt_drm_jobs *jobs, const struct gt_event_drm_job *job)
{
	struct gt_drm_jobs_sums *ring = sums_of_ring(jobs, &job->head);
	struct gt_drm_jobs_sums *process = sums_of_process(jobs, &job->head);

	if (!ring || !process || add_job(ring, job) || add_job(process, job))
		return -ENOMEM;
	return remember_queue(jobs, job);
}

static int take_dependency(struct gt_drm_jobs *jobs, const struct gt_event_drm_dependency *event)
{
	const uint64_t key[] = {event->context, event->on_context};
	struct gt_drm_jobs_sums *sums[] = {sums_of_ring(jobs, &event->head),
					   sums_of_process(jobs, &event->head)};
	struct gt_drm_blocking *blocking;
	int error = 0;

	if (!sums[0] || !sums[1])
		return -ENOMEM;
	for (size_t i = 0; i < gt_countof(sums); i++) {
		sums[i]->waits += event->operation == GT_DRM_BLOCKED;
		if (event->operation == GT_DRM_UNBLOCKED && !error)
			error = gt_histogram_add(&sums[i]->blocked, event->blocked);
	}
	if (error || event->operation != GT_DRM_UNBLOCKED)
		return error;
	blocking = gt_keyed_rows_get(&jobs->blockings, key, sizeof(key), sizeof(*blocking));
	return blocking ? gt_histogram_add(&blocking->times, event->blocked) : -ENOMEM;
}

int gt_drm_jobs_take(struct gt_drm_jobs *jobs, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_drm_job)
		return take_job(jobs, (const void *)event);
	return event->kind == GT_EVENT_drm_dependency ? take_dependency(jobs, (const void *)event)
						      : 0;
}

const struct gt_drm_queue *gt_drm_jobs_queue(const struct gt_drm_jobs *jobs, uint64_t context)
{
	const uint64_t finished = context + 1;
	const struct gt_drm_queue *queue =
		gt_hash_get(jobs->queues.by_key, &context, sizeof(context));

	/* The fence `scheduled` of a job has the context before that of `finished`. */
	return queue ? queue : gt_hash_get(jobs->queues.by_key, &finished, sizeof(finished));
}
