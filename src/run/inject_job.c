/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_job.h"

#include <stdlib.h>
#include <unistd.h>

#include "run/inject_worker.h"

enum {
	MAX_WAITING = 128,  /* their images are open files */
	MAX_OVERTAKEN = 16, /* smaller images that a waiting one lets pass */
};

static void free_job(struct gt_inject_job *job)
{
	gt_inject_image_clear(job);
	gt_cleanup_close(&job->file);
	free(job);
}

static void answer_job(struct gt_inject_job *job)
{
	struct gt_inject *inject = job->inject;
	struct gt_inject_connection *connection = job->connection;

	connection->job = NULL;
	connection->answered = gt_inject_image_answer(job);
	free_job(job);
	gt_inject_answered(inject, connection);
}

static void patch_job(void *job)
{
	gt_inject_image_patch(job);
}

/* ---- the queue ------------------------------------------------------------------------- */

/* The worker has nothing to do. */
static void start_job(struct gt_inject_job *job)
{
	struct gt_inject *inject = job->inject;

	inject->jobs.patching = job;
	inject->patching = job->bytes.size;
	if (inject->options.progress)
		inject->options.progress(inject->options.context);
	gt_inject_worker_give(inject->jobs.worker, job);
}

/* Whether a waiting image of the same process is earlier: they are answered in their order. */
static bool waits_for_earlier(const struct gt_inject_jobs *jobs, const struct gt_inject_job *job)
{
	for (const struct gt_inject_job *earlier = jobs->first; earlier != job;
	     earlier = earlier->next)
		if (earlier->connection->module.pid == job->connection->module.pid)
			return true;
	return false;
}

/* The smallest image, the earliest of equal ones; the first one if enough others overtook it. */
static struct gt_inject_job *choose_next(const struct gt_inject_jobs *jobs)
{
	struct gt_inject_job *chosen = jobs->first;

	if (chosen->overtaken >= MAX_OVERTAKEN)
		return chosen;
	for (struct gt_inject_job *job = chosen->next; job; job = job->next)
		if (job->request.size < chosen->request.size && !waits_for_earlier(jobs, job))
			chosen = job;
	return chosen;
}

static void unlink_job(struct gt_inject_jobs *jobs, struct gt_inject_job *job)
{
	struct gt_inject_job *earlier = NULL;

	for (struct gt_inject_job *other = jobs->first; other != job; other = other->next) {
		other->overtaken++;
		earlier = other;
	}
	if (earlier)
		earlier->next = job->next;
	else
		jobs->first = job->next;
	if (jobs->last == job)
		jobs->last = earlier;
	job->next = NULL;
	jobs->count--;
}

/* Start the next job that needs the worker; answer those before it. */
static void start_next(struct gt_inject *inject)
{
	struct gt_inject_jobs *jobs = &inject->jobs;

	while (!jobs->patching && jobs->first) {
		struct gt_inject_job *job = choose_next(jobs);

		unlink_job(jobs, job);
		if (gt_inject_image_select(job))
			start_job(job);
		else
			answer_job(job);
	}
}

/* Answer the job that the worker has done, or wait for that. False: there is none. */
static bool finish_job(struct gt_inject *inject, bool wait)
{
	struct gt_inject_job *job = gt_inject_worker_take(inject->jobs.worker, wait);

	if (!job)
		return false;
	inject->jobs.patching = NULL;
	inject->patching = 0;
	answer_job(job);
	start_next(inject);
	return true;
}

/* Whether an image of the same process is not answered yet: they are answered in their order. */
static bool has_earlier(const struct gt_inject *inject, pid_t pid)
{
	const struct gt_inject_jobs *jobs = &inject->jobs;

	if (jobs->patching && jobs->patching->connection->module.pid == pid)
		return true;
	for (const struct gt_inject_job *job = jobs->first; job; job = job->next)
		if (job->connection->module.pid == pid)
			return true;
	return false;
}

static void queue_job(struct gt_inject_job *job)
{
	struct gt_inject_jobs *jobs = &job->inject->jobs;

	gt_inject_image_deselect(job);
	if (jobs->last)
		jobs->last->next = job;
	else
		jobs->first = job;
	jobs->last = job;
	jobs->count++;
}

/* Whether the result has new kernels and sites. The numbers of the next ones are in use. */
static bool takes_numbers(const struct gt_inject_job *job)
{
	return job->inject->jobs.patching && job->is_known && !job->query.known;
}

static void select_job(struct gt_inject_job *job)
{
	bool needs_worker = gt_inject_image_select(job);

	if (needs_worker && !job->inject->jobs.patching)
		start_job(job);
	else if (needs_worker || takes_numbers(job))
		queue_job(job);
	else
		answer_job(job);
}

bool gt_inject_jobs_add(struct gt_inject *inject, struct gt_inject_connection *connection,
			const struct gt_agent_request *request, int file)
{
	struct gt_inject_job *job = calloc(1, sizeof(*job));

	if (!job) {
		gt_cleanup_close(&file);
		return false;
	}
	*job = (struct gt_inject_job){
		.inject = inject,
		.connection = connection,
		.request = *request,
		.file = file,
		.patched = -1,
	};
	connection->job = job;
	if (has_earlier(inject, connection->module.pid))
		queue_job(job);
	else
		select_job(job);
	while (inject->jobs.count > MAX_WAITING)
		finish_job(inject, true);
	return true;
}

/* ---- the whole ------------------------------------------------------------------------- */

int gt_inject_jobs_open(struct gt_inject *inject, struct gt_diag *diag)
{
	return gt_inject_worker_start(patch_job, &inject->jobs.worker, diag);
}

int gt_inject_jobs_fd(const struct gt_inject *inject)
{
	return gt_inject_worker_fd(inject->jobs.worker);
}

void gt_inject_jobs_poll(struct gt_inject *inject)
{
	finish_job(inject, false);
}

void gt_inject_jobs_finish(struct gt_inject *inject)
{
	while (finish_job(inject, true))
		continue;
}

void gt_inject_jobs_close(struct gt_inject *inject)
{
	struct gt_inject_jobs *jobs = &inject->jobs;

	gt_inject_worker_stop(jobs->worker);
	if (jobs->patching)
		free_job(jobs->patching);
	while (jobs->first) {
		struct gt_inject_job *job = jobs->first;

		jobs->first = job->next;
		free_job(job);
	}
}
