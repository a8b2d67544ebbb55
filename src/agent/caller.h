/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the program would notice of the agent's system calls. */
#pragma once

#include <errno.h>
#include <pthread.h>

struct gt_agent_caller {
	int error, cancel;
};

/* Save errno, and postpone the cancellation of the thread. */
static inline struct gt_agent_caller gt_agent_save_caller(void)
{
	struct gt_agent_caller caller = {.error = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel);
	return caller;
}

static inline void gt_agent_restore_caller(const struct gt_agent_caller *caller)
{
	pthread_setcancelstate(caller->cancel, NULL);
	errno = caller->error;
}
