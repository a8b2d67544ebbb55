/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A session: the running collection of events, live from the sources or replayed from a capture.
 * Both yield one stream of events, which ends with an account of the losses.
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
#define GT_DEFAULT_BUFFER_SIZE (256u << 20)
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
 * Run until the target ends, a limit of time or events is reached, a signal (SIGINT, SIGTERM,
 * SIGHUP, SIGQUIT) arrives (with a command: the second one, all are passed on to it), the sink
 * fails, or the capture ends. Then detach the probes, read the rest of the ring, and pass the
 * account to the sink as the last event. `idle`, which may be NULL, is called when the ring is
 * empty, at least 20 times a second: the time to flush.
 */
int gt_session_run(struct gt_session *session, gt_event_sink sink, int (*idle)(void *context),
		   void *context, struct gt_diag *diag);

/*
 * The time, CLOCK_MONOTONIC, from which a limit of time counts: when all probes were in place; of a
 * capture, that of its start, 0 before its first event.
 */
uint64_t gt_session_start(const struct gt_session *session);
/*
 * Of a live session with -e all: the names of the sources that work here, and those of the others,
 * each with its reason; "" where there are none. They live as long as the session.
 */
void gt_session_sources(const struct gt_session *session, const char **ret_enabled,
			const char **ret_unavailable);
/*
 * Only in `idle` of a live session: pass the totals so far that sources count themselves (`sums`)
 * to the sink.
 */
void gt_session_collect(struct gt_session *session);
/* Only for a live session: its account so far, without what was lost in user space. */
void gt_session_account(const struct gt_session *session, struct gt_event_account *ret_account);

/* The names of the events so far; they live as long as the session. */
const struct gt_names *gt_session_names(const struct gt_session *session);

enum gt_session_wait {
	GT_SESSION_WAIT_ENDED,  /* the command has ended, or there was none */
	GT_SESSION_WAIT_LATE,   /* the limit is over */
	GT_SESSION_WAIT_SIGNAL, /* a signal was passed on to the command, which continues */
};

/* The command that a session waits for. */
struct gt_session_command_state {
	pid_t pid;
	const char *name;
	int status;       /* once it has ended: as a shell has it (128 + n for signal n); else 0 */
	int signal;       /* GT_SESSION_WAIT_SIGNAL: its number */
	unsigned signals; /* that asked gputap to end, during the run, too */
};

/*
 * After the run: wait for the command, which is no longer traced, for about `limit_ms`, or without
 * a limit if that is negative.
 */
enum gt_session_wait gt_session_wait(struct gt_session *session, int limit_ms,
				     struct gt_session_command_state *ret_state);

/* Close the session. A command that was not resumed ends; one that runs continues. */
void gt_session_close(struct gt_session *session);
GT_DEFINE_AUTO(session, struct gt_session, gt_session_close)
