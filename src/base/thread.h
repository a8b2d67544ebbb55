/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starting threads. */
#pragma once

#include <pthread.h>
#include <signal.h>

/*
 * Start a thread that gets no signals: those of the process are for the thread that handles them.
 * 0, or an error number as of pthread_create(3).
 */
static inline int gt_thread_start(pthread_t *ret_thread, void *(*function)(void *), void *argument)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret_thread, NULL, function, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
