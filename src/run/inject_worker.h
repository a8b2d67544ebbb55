/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A thread that does one job at a time, for a caller that does not wait. */
#pragma once

#include <stdbool.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_inject_worker;

/* `work` is called in the thread, with each job. 0 or -Exxx. */
int gt_inject_worker_start(void (*work)(void *job), struct gt_inject_worker **ret_worker,
			   struct gt_diag *diag);
/* Wait for the job, and end the thread. NULL: do nothing. */
void gt_inject_worker_stop(struct gt_inject_worker *worker);
/* Readable when the job is done. */
int gt_inject_worker_fd(const struct gt_inject_worker *worker);
/* Do a job. The worker has none: its last one was taken. */
void gt_inject_worker_give(struct gt_inject_worker *worker, void *job);
/* Take the job if it is done, or `wait` for that. NULL: there is none, or it is not done. */
void *gt_inject_worker_take(struct gt_inject_worker *worker, bool wait);
