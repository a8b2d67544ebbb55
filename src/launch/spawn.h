/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A command that is started in two steps: made, so that its process id is known, then let go. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_child {
	pid_t pid;
	int pidfd;
	int gate;   /* closing it lets the command go */
	int report; /* the child's errno comes from here if it cannot be executed */
};

#define GT_CHILD_NONE ((struct gt_child){.pid = 0, .pidfd = -1, .gate = -1, .report = -1})

/*
 * Forks a process that waits at the gate and then executes `path` with these arguments and this
 * environment, with no signal blocked. 0 or -Exxx.
 */
int gt_child_make(const char *path, char *const arguments[], char *const environment[],
		  struct gt_child *ret_child, struct gt_diag *diag);
/* Opens the gate; returns when the command is executing. -Exxx if it could not be executed. */
int gt_child_let_go(struct gt_child *child, const char *path, struct gt_diag *diag);
/* If it still waits at the gate, it ends there. Gives up its descriptors. */
void gt_child_release(struct gt_child *child);
