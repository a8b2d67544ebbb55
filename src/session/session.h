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
#include "probe/options.h"

#define GT_DEFAULT_RING_SIZE (16u << 20)
#define GT_DEFAULT_COPY_RING_SIZE (64u << 20) /* with --stack dwarf: stacks take kilobytes */

struct gt_session;

/*
 * Attach to the target; a command is started and stopped before its first instruction. `options`
 * are resolved (gt_trace_options_resolve) and must outlive the session.
 * -EINVAL: an option is invalid; -ESRCH: a process does not exist; -EPERM: no privilege; …
 */
int gt_session_open(const struct gt_trace_options *options, struct gt_session **ret_session,
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
