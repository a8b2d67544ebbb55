/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sees files being mapped for execution, by any process on any CPU: the side-band records
 * (PERF_RECORD_MMAP2) of a perf event that counts nothing. No tracefs is needed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_watch;

struct gt_new_mapping {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	pid_t pid;     /* as seen in our pid namespace; 0: not visible there */
	uint64_t device, inode;
	uint64_t generation; /* of the inode: another one once its number is used again */
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* bytes, of `start` in the file */
	const char *path;    /* as the process sees it; valid during the callback */
};

/* -EACCES, -EPERM: needs CAP_PERFMON (or root). */
int gt_watch_open(struct gt_watch **ret_watch, struct gt_diag *diag);
void gt_watch_close(struct gt_watch *watch);
GT_DEFINE_AUTO(watch, struct gt_watch, gt_watch_close)

struct gt_watch_handlers {
	void (*mapped)(void *context, const struct gt_new_mapping *mapping);
	/* A process executes a program from this time on (CLOCK_MONOTONIC, ns). */
	void (*executed)(void *context, pid_t pid, uint64_t time);
	/* A process was created. */
	void (*forked)(void *context, pid_t parent, pid_t child);
	/* A process has ended, and all that it had mapped was passed on. */
	void (*ended)(void *context, pid_t pid);
	void *context;
};

/*
 * Call the handlers for each record since the last time: `forked` in the order of time, then
 * `executed`, then `mapped`. All forks and executions before a mapping come before it.
 */
void gt_watch_poll(struct gt_watch *watch, const struct gt_watch_handlers *handlers);

/* Return the number of records that the kernel dropped so far. */
uint64_t gt_watch_lost(const struct gt_watch *watch);

/* A file descriptor that epoll can wait on: readable when something was mapped. */
int gt_watch_fd(const struct gt_watch *watch);
