/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/host_call_service.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"

enum {
	ALONE_NS = 5000,    /* after the last call: poll without a pause */
	SHARED_NS = 20000,  /* after the last call: let other threads run between polls */
	AWAKE_NS = 1000000, /* after the last call: sleep as shortly as possible */
	SLEEP_NS = 50000,
	IDLE_NS = 100000000, /* after the last call: sleep longer */
	LONG_SLEEP_NS = 1000000,
	NS_PER_MS = 1000000,
};

struct gt_host_call_service {
	struct gt_host_calls *calls;
	pthread_t thread;
	bool stopped;
	pthread_mutex_t mutex; /* the maps */
	uint32_t readers;      /* that wait for it; a mutex is not fair */
};

/* Let the other thread of the processor's core run. */
static void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

/* Wait until the next poll, `idle` ns after the last call. */
static void wait_for_calls(uint64_t idle)
{
	static const struct timespec shortest = {.tv_nsec = 1};
	const struct timespec pause = {.tv_nsec = idle < IDLE_NS ? SLEEP_NS : LONG_SLEEP_NS};

	if (idle < ALONE_NS)
		relax();
	else if (idle < SHARED_NS)
		sched_yield(); /* the thread that calls may be on this CPU */
	else if (idle < AWAKE_NS)
		nanosleep(&shortest, NULL); /* the kernel wakes it on a CPU that is idle */
	else
		nanosleep(&pause, NULL);
}

/* Serve a round of calls. How many there were. */
static uint32_t serve_round(struct gt_host_call_service *service)
{
	uint32_t count;

	while (__atomic_load_n(&service->readers, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_mutex_lock(&service->mutex);
	count = gt_host_calls_serve(service->calls);
	pthread_mutex_unlock(&service->mutex);
	return count;
}

void gt_host_call_service_copy(struct gt_host_call_service *service, const void *map, size_t size,
			       void *copy)
{
	if (!service) {
		memcpy(copy, map, size);
		return;
	}
	__atomic_fetch_add(&service->readers, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_lock(&service->mutex);
	memcpy(copy, map, size);
	pthread_mutex_unlock(&service->mutex);
	__atomic_fetch_sub(&service->readers, 1, __ATOMIC_ACQ_REL);
}

static void *serve_until_stopped(void *context)
{
	struct gt_host_call_service *service = context;
	uint64_t now = gt_clock_monotonic(), last = now, reclaimed = now;

	prctl(PR_SET_NAME, "gputap-calls");
	prctl(PR_SET_TIMERSLACK, 1000);
	while (!__atomic_load_n(&service->stopped, __ATOMIC_ACQUIRE)) {
		now = gt_clock_monotonic();
		if (serve_round(service))
			last = now;
		else
			wait_for_calls(now - last);
		if (now - reclaimed < (uint64_t)GT_HOST_CALL_RECLAIM_MS * NS_PER_MS)
			continue;
		gt_host_calls_reclaim(service->calls);
		reclaimed = now;
	}
	gt_host_calls_serve(service->calls);
	return NULL;
}

int gt_host_call_service_start(struct gt_host_calls *calls,
			       struct gt_host_call_service **ret_service, struct gt_diag *diag)
{
	struct gt_host_call_service *service = calloc(1, sizeof(*service));
	int error;

	if (!service)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	service->calls = calls;
	pthread_mutex_init(&service->mutex, NULL);
	/* Before the first kernel runs. */
	gt_host_calls_serve(calls);
	error = gt_thread_start(&service->thread, serve_until_stopped, service);
	if (error) {
		free(service);
		return gt_diag(diag, -error, "run", NULL,
			       "cannot start the thread that serves calls of the GPU: %s",
			       strerror(error));
	}
	*ret_service = service;
	return 0;
}

void gt_host_call_service_stop(struct gt_host_call_service *service)
{
	if (!service)
		return;
	__atomic_store_n(&service->stopped, true, __ATOMIC_RELEASE);
	pthread_join(service->thread, NULL);
	gt_host_calls_end(service->calls);
	pthread_mutex_destroy(&service->mutex);
	free(service);
}
