/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the program would notice of the agent's system calls and of its calls of the driver. */
#pragma once

#include <errno.h>
#include <pthread.h>

#include "agent/functions.h"
#include "agent/own_call.h"

struct gt_agent_caller {
	int error, cancel;
	int capture; /* the mode of the thread; -1: unknown */
};

enum {
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

/*
 * Save errno, and postpone the cancellation of the thread. Calls that a stream capture of the
 * program forbids, such as the registration of memory, are allowed meanwhile.
 */
static inline struct gt_agent_caller gt_agent_save_caller(void)
{
	struct gt_agent_caller caller = {.error = errno, .capture = CU_STREAM_CAPTURE_MODE_RELAXED};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel);
	if (!gt_driver.cuThreadExchangeStreamCaptureMode ||
	    OWN1(cuThreadExchangeStreamCaptureMode, &caller.capture))
		caller.capture = -1;
	return caller;
}

static inline void gt_agent_restore_caller(const struct gt_agent_caller *caller)
{
	int capture = caller->capture;

	if (capture >= 0)
		OWN1(cuThreadExchangeStreamCaptureMode, &capture);
	pthread_setcancelstate(caller->cancel, NULL);
	errno = caller->error;
}
