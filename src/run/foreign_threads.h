/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The threads of a process in another PID namespace: which ids they have in gputap's own. From
 * /proc/PID/task/TID/status, whose NSpid has the ids of a thread in the reader's namespace first
 * and in its own last (proc(5)).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"

struct gt_foreign_threads;

/* The threads of a process; those that exist now are read. NULL: out of memory. */
struct gt_foreign_threads *gt_foreign_threads_new(pid_t process);
void gt_foreign_threads_free(struct gt_foreign_threads *threads);
GT_DEFINE_AUTO(foreign_threads, struct gt_foreign_threads, gt_foreign_threads_free)

/*
 * The id in gputap's namespace of a thread with the id `inner` in its own. 0: not known, since it
 * ended before it was looked for. Ids that are used again are not noticed.
 */
uint32_t gt_foreign_thread(struct gt_foreign_threads *threads, uint32_t inner);

/* The process's parent, as gputap's namespace has it. 0: none there, or the process is no more. */
uint32_t gt_foreign_parent(const struct gt_foreign_threads *threads);
