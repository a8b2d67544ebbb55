/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command that a session starts and traces: from its start to its exit status. */
#pragma once

#include "elf/loader.h"
#include "event/queue.h"
#include "launch/environment.h"
#include "launch/spawn.h"
#include "probe/hold/hold.h"
#include "session/session.h"

struct gt_session_command {
	const char *name;        /* argv[0]; NULL: there is no command */
	struct gt_command files; /* of the command */
	struct gt_environment environment;
	struct gt_child child;
	struct gt_hold *hold; /* NULL: libraries that it opens later are not held */
	int exit_status;      /* as a shell has it: 128 + n for signal n */
	unsigned signals;     /* that asked gputap to end */
	bool ended;
};

#define GT_SESSION_COMMAND_NONE ((struct gt_session_command){.child = GT_CHILD_NONE})

/*
 * Find the command's files, choose its GPU, and fork the process, which stops before its first
 * instruction (gt_child_resume continues it). With `hold`, it and its children are held where they
 * map files for execution (probe/hold/hold.h), if that is possible. Remarks go to `events` as
 * notes.
 */
int gt_session_command_start(struct gt_session_command *command,
			     const struct gt_trace_options *options, bool hold,
			     struct gt_event_queue *events, struct gt_diag *diag);
/* Note what the software GPU reports: why modules do not load, what it does not support, faults. */
void gt_session_command_report(struct gt_session_command *command, struct gt_event_queue *events);
/* Collect the exit status if the command has ended; notes a signal that ended it. */
void gt_session_command_reap(struct gt_session_command *command, struct gt_event_queue *events);
/*
 * A signal asks gputap to end. The command gets it, too: it is passed on if `alone`, or if the
 * command has left the process group of gputap. True: end the session now, since there is no
 * command to wait for, or since this is not the first signal. False: the session ends with the
 * command.
 */
bool gt_session_command_signal(struct gt_session_command *command, int number, bool alone);
void gt_session_command_free(struct gt_session_command *command);
