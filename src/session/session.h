/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A session: the running collection, live from the sources or replayed from a capture. Either
 * way it yields one stream of events, and at its end an account of what was lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "event/event.h"
#include "launch/gpu.h"
#include "names/names.h"
#include "probe/source.h"

#define GT_DEFAULT_RING_SIZE (16u << 20)
#define GT_DEFAULT_COPY_RING_SIZE                                                                  \
	(64u << 20) /* with stack_copy: each stack has up to kilobytes                             \
		     */

struct gt_session_options {
	const char *from; /* replay this capture: target and sources do not count then */

	/* The target. Nothing of the three: all processes. */
	char *const *command; /* a program and its arguments, ended by NULL */
	const pid_t *pids;
	size_t pid_count;
	const char *path; /* attach to this library or program only */

	const char *const *sources; /* names; none: "cuda" */
	size_t source_count;
	const char *const *functions; /* globs */
	size_t function_count;

	const char *name;      /* only processes of this name; may end in '*' */
	const char *cgroup;    /* only this cgroup v2: a path, absolute or below the mount */
	const char *uid;       /* only this user: a number or a name */
	const char *condition; /* only calls for which it holds, e.g. "duration>1ms" */
	bool failed_only;
	bool entries;          /* entry events, for live text */
	bool verbose;          /* all layers */
	bool stack_copy;       /* unwind by .eh_frame, in place of following frame pointers */
	bool kernel_arguments; /* take what kernels are launched with */
	bool cgroups;          /* tell the cgroup of each process, and so its container */
	unsigned stack_depth;  /* callers to take of each outermost call; 0: none */
	enum gt_attach_way way;

	uint64_t ring_size; /* bytes, at least a page; rounded up to a power of two; 0: the default
			     */
	uint64_t duration_ns; /* end after this time; 0: no limit */
	uint64_t max_events;  /* end after this many calls; 0: no limit */
	enum gt_gpu gpu;
};

struct gt_session;

/*
 * Attaches everything; a command is started and stands still before its first instruction.
 * -EINVAL: an option is wrong; -ESRCH: a process is gone; -EPERM: no privilege; …
 */
int gt_session_open(const struct gt_session_options *options, struct gt_session **ret_session,
		    struct gt_diag *diag);

/*
 * Takes an event, which is valid during the call; `names` already knows it. A result other than 0
 * ends the session and is the result of gt_session_run; the account is delivered nevertheless.
 */
typedef int (*gt_event_sink)(void *context, const struct gt_names *names,
			     const struct gt_event *event);

/*
 * Runs until the target ends, the time or the number of events is over, a signal (SIGINT,
 * SIGTERM, SIGHUP) comes, the sink refuses, or the capture ends. Then takes the probes off, reads
 * the ring out, and hands the account to the sink as its last event. `idle`, which may be NULL, is
 * called when nothing waits to be read, at least 20 times a second: the time to flush.
 */
int gt_session_run(struct gt_session *session, gt_event_sink sink, int (*idle)(void *context),
		   void *context, struct gt_diag *diag);

/* The names of the events so far; they live as long as the session. */
const struct gt_names *gt_session_names(const struct gt_session *session);

/*
 * After the run: waits for the command if it still runs (untraced by now; signals are passed on to
 * it) for about `limit_ms`, or without a limit if that is negative. Returns whether there is
 * nothing to wait for any more, which a second signal makes so, too. *ret_status is the exit
 * status, as far as it is known, as a shell tells it (128 + n for signal n); 0 without a command.
 */
bool gt_session_wait(struct gt_session *session, int limit_ms, int *ret_status);

/* A command that was never let go ends; one that runs goes on. */
void gt_session_close(struct gt_session *session);
GT_DEFINE_AUTO(session, struct gt_session, gt_session_close)
