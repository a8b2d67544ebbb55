/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The processes whose agents have connected: each is followed once, up to its end. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct gt_inject_processes;
struct gt_inject_process;

/* NULL: errno says why. */
struct gt_inject_processes *gt_inject_processes_new(void);
/* After all references were dropped. */
void gt_inject_processes_free(struct gt_inject_processes *processes);

/*
 * A process has connected. The caller drops the reference. NULL: it is not followed, as none is
 * beyond 1024 at a time.
 */
struct gt_inject_process *gt_inject_processes_add(struct gt_inject_processes *processes, pid_t pid);
/* Those that were added and have not ended. */
unsigned gt_inject_processes_count(struct gt_inject_processes *processes);
/* See which processes have ended. */
void gt_inject_processes_update(struct gt_inject_processes *processes);

/* One more reference, and one less; NULL is permitted. */
struct gt_inject_process *gt_inject_process_get(struct gt_inject_process *process);
void gt_inject_process_put(struct gt_inject_process *process);
/* Whether it had ended at the last update; NULL: false. */
bool gt_inject_process_has_ended(const struct gt_inject_process *process);
