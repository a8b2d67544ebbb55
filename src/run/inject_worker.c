/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_worker.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

struct gt_inject_worker {
	void (*work)(void *job);
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	void *job;
	bool is_done, stopped;
	int event;
};

static void report_done(struct gt_inject_worker *worker)
{
	const uint64_t one = 1;
	ssize_t written;

	worker->is_done = true;
	pthread_cond_broadcast(&worker->changed);
	do
		written = write(worker->event, &one, sizeof(one));
	while (written < 0 && errno == EINTR);
}

static void *work_until_stopped(void *context)
{
	struct gt_inject_worker *worker = context;

	prctl(PR_SET_NAME, "gputap-patcher");
	pthread_mutex_lock(&worker->mutex);
	while (!worker->stopped) {
		if (!worker->job || worker->is_done) {
			pthread_cond_wait(&worker->changed, &worker->mutex);
			continue;
		}
		pthread_mutex_unlock(&worker->mutex);
		worker->work(worker->job);
		pthread_mutex_lock(&worker->mutex);
		report_done(worker);
	}
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

int gt_inject_worker_start(void (*work)(void *job), struct gt_inject_worker **ret_worker,
			   struct gt_diag *diag)
{
	struct gt_inject_worker *worker = calloc(1, sizeof(*worker));
	int error = worker ? 0 : -ENOMEM;

	if (!error) {
		worker->work = work;
		pthread_mutex_init(&worker->mutex, NULL);
		pthread_cond_init(&worker->changed, NULL);
		worker->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		error = worker->event < 0
				? -errno
				: -gt_thread_start(&worker->thread, work_until_stopped, worker);
	}
	if (error) {
		if (worker)
			gt_cleanup_close(&worker->event);
		free(worker);
		return gt_diag(diag, error, "run", NULL,
			       "cannot start the thread that patches modules: %s",
			       strerror(-error));
	}
	*ret_worker = worker;
	return 0;
}

void gt_inject_worker_stop(struct gt_inject_worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&worker->mutex);
	worker->stopped = true;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	pthread_join(worker->thread, NULL);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->mutex);
	close(worker->event);
	free(worker);
}

int gt_inject_worker_fd(const struct gt_inject_worker *worker)
{
	return worker->event;
}

void gt_inject_worker_give(struct gt_inject_worker *worker, void *job)
{
	pthread_mutex_lock(&worker->mutex);
	worker->job = job;
	worker->is_done = false;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

void *gt_inject_worker_take(struct gt_inject_worker *worker, bool wait)
{
	void *job = NULL;
	uint64_t count;

	pthread_mutex_lock(&worker->mutex);
	while (wait && worker->job && !worker->is_done)
		pthread_cond_wait(&worker->changed, &worker->mutex);
	if (worker->job && worker->is_done) {
		job = worker->job;
		worker->job = NULL;
		/* No longer readable. */
		(void)!read(worker->event, &count, sizeof(count));
	}
	pthread_mutex_unlock(&worker->mutex);
	return job;
}
