/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Holds a command, and everything that it starts, where a file is about to be mapped for execution,
 * so that probes can be attached before any of the file's code runs: seccomp user notification
 * (seccomp_unotify(2)) of mmap(2) with PROT_EXEC, private, of a file.
 *
 * The notifications are received by a *keeper*, a small process of its own. It passes them on to
 * gputap, except where gputap has answered for both the file and the program before, and lets the
 * command continue once gputap has answered, has ended (in whatever manner), or has not answered
 * for GT_HOLD_LIMIT_NS. It ends with the last process of the command: when the last listener
 * closes, such mappings fail with ENOSYS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"

/* A mapping waits for an answer for at most this long. */
#define GT_HOLD_LIMIT_NS UINT64_C(5000000000)

struct gt_hold;

/* A thread that waits in mmap(2). The mapping does not exist yet. */
struct gt_held {
	uint64_t id;
	uint64_t since; /* CLOCK_MONOTONIC, ns */
	pid_t thread;   /* as seen in gputap's pid namespace; 0: not visible there */
	int file;       /* its file descriptor */
};

/* Before the command is forked. -EMFILE, -ENOMEM. */
int gt_hold_new(struct gt_hold **ret_hold, struct gt_diag *diag);

/*
 * In the forked child, before it executes the command: install the filter, and pass the result to
 * gt_hold_start(). The child runs on whatever happens. No privilege of set-user-id programs
 * changes: no_new_privs is not set. `hold` is a struct gt_hold; only system calls are made.
 */
void gt_hold_install(void *hold);

/*
 * After the fork, while the child does not execute the command yet: start the keeper. Before BPF
 * and perf objects are created, which the keeper would keep alive otherwise. Fails with the reason
 * why nothing is held: -EACCES (no CAP_SYS_ADMIN), -EBUSY (an outer process listens already), …
 */
int gt_hold_start(struct gt_hold *hold, struct gt_diag *diag);

/* A descriptor for epoll: readable if gt_hold_next() has something. */
int gt_hold_fd(const struct gt_hold *hold);

/* The next thread that waits. False: none at present. */
bool gt_hold_next(struct gt_hold *hold, struct gt_held *ret_held);

/* Let it continue. */
void gt_hold_resume(struct gt_hold *hold, const struct gt_held *held);

/*
 * The last time (CLOCK_MONOTONIC, ns) at which the keeper let a mapping pass that gputap had not
 * answered; 0: never.
 */
uint64_t gt_hold_missed_at(const struct gt_hold *hold);

/* Hold nothing from now on; what waits continues. The keeper stays as long as the command. */
void gt_hold_stop(struct gt_hold *hold);
void gt_hold_close(struct gt_hold *hold);
GT_DEFINE_AUTO(hold, struct gt_hold, gt_hold_close)

/* Check whether a command could be held here: 0, or -Exxx with the reason. */
int gt_hold_check(struct gt_diag *diag);
