/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What another part of gputap does beside a live session that starts a command: it changes the
 * command's environment, and adds events to the stream.
 */
#pragma once

#include <stdbool.h>

#include "event/queue.h"
#include "launch/environment.h"
#include "probe/cost.h"
#include "probe/source.h"

struct gt_inject;

struct gt_companion {
	void *context;
	struct gt_inject *inject; /* its collector (run/inject.h) */
	uint32_t exact_map;       /* of the collector, with --gpu-times exact: cli/exact_grids.h */
	/*
	 * Change the environment of the command, before its process is created. filtered: the
	 * process gets a filter of system calls from the session. 0 or -Exxx.
	 */
	int (*prepare)(void *context, struct gt_environment *environment, bool filtered,
		       struct gt_diag *diag);
	/* The command's process waits for its execution. 0 or -Exxx. */
	int (*attach)(void *context, const struct gt_command *files,
		      const struct gt_environment *environment, int pidfd, struct gt_diag *diag);
	int fd;          /* readable if there is work */
	int interval_ms; /* between two calls of poll, at most */
	/*
	 * Work, and queue events in the order of their times; a call of CUDA that returned later
	 * follows them. ended: the command has ended, and this is the last call. 0 or -Exxx.
	 */
	int (*poll)(void *context, struct gt_event_queue *events, bool ended, struct gt_diag *diag);
	/* Add the counts of its calls so far; NULL: it has none. */
	void (*count)(const void *context, struct gt_counts *counts);
	/* Processes that it knows, and that have not ended; NULL: it knows none. */
	unsigned (*running)(const void *context);
	/* Add what its hooks have cost the processes so far; NULL: it is not measured. */
	void (*cost)(const void *context, struct gt_probe_cost *cost);
	/* With cost: record no calls for a while; then again. */
	void (*pause)(void *context, bool is_paused);
	/* With cost: record no more calls. */
	void (*drop)(void *context);
	uint64_t complete; /* with calls: all events up to this time were queued */
	bool more;         /* events wait: the next call should follow soon */
};
