/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The processes that are traced by name of their ids: the kernel's map of them, and /proc. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"

/* Puts a process into the map. 0 or -Exxx. */
int gt_processes_add(int map_fd, pid_t pid);

/*
 * Puts processes and all their descendants into the map. The fork program must be attached
 * already: what is forked meanwhile is added by it, or found here. -ESRCH: a process is gone.
 */
int gt_processes_add_trees(int map_fd, const pid_t *pids, size_t count, struct gt_diag *diag);

/* A pidfd of a process, which the caller closes. -ESRCH: it is gone; -EINVAL: it is a thread; … */
int gt_process_open(pid_t pid, int *ret_fd, struct gt_diag *diag);
