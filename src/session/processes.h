/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes that are traced by their ids: the map of the BPF programs, and /proc. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"

/* Add a process to the map. 0 or -Exxx. */
int gt_processes_add(int map_fd, pid_t pid);

/*
 * Add processes and all their descendants to the map. The fork program must be attached already: it
 * adds the processes that are forked meanwhile. -ESRCH: a process does not exist.
 */
int gt_processes_add_trees(int map_fd, const pid_t *pids, size_t count, struct gt_diag *diag);

/* Open a pidfd of a process. -ESRCH: it does not exist; -EINVAL: it is a thread; … */
int gt_process_open(pid_t pid, int *ret_fd, struct gt_diag *diag);
