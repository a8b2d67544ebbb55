/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A command that is started in two steps: forked, so that its process id is known, then resumed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

struct gt_child {
	pid_t pid;
	int pidfd;
	int gate;   /* a byte written to it resumes the command */
	int report; /* the child's errno comes from here if it cannot be executed */
};

#define GT_CHILD_NONE ((struct gt_child){.pid = 0, .pidfd = -1, .gate = -1, .report = -1})

/* What the child does before it waits at the gate; `run` may be NULL. */
struct gt_child_setup {
	void (*run)(void *context);
	void *context;
};

/*
 * Fork a process that runs `setup` (NULL: nothing), waits at the gate, then executes `path` with
 * these arguments and this environment, with no signal blocked. 0 or -Exxx.
 */
int gt_child_make(const char *path, char *const arguments[], char *const environment[],
		  const struct gt_child_setup *setup, struct gt_child *ret_child,
		  struct gt_diag *diag);
/* Open the gate; returns once the command executes. -Exxx: it cannot be executed. */
int gt_child_resume(struct gt_child *child, const char *path, struct gt_diag *diag);
/* Close the descriptors. A child that still waits at the gate exits. */
void gt_child_release(struct gt_child *child);

/*
 * Append the sentence about processes that have not ended with the command. `one` and `several`:
 * what that means, of one process and of more.
 */
void gt_child_put_running(struct gt_strbuf *text, unsigned count, const char *one,
			  const char *several);
