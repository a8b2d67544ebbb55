/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The signals that ask gputap to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT), read from a descriptor. A
 * command that gputap started gets each of them, too, and those that only it may know, unless
 * gputap has a handler for them: SIGUSR1, SIGUSR2, those of timers, of asynchronous I/O, of power
 * and of CPU time, and the real-time signals (signal(7)). Not passed on: those that report a fault
 * of the process itself or stop it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/diag.h"

struct gt_signals {
	int fd; /* readable when one is pending; -1: signals are not blocked */
	sigset_t before;
	sigset_t ignored; /* before */
};

#define GT_SIGNALS_NONE ((struct gt_signals){.fd = -1})

/*
 * Block the signals, so that they can be read; those for a command only with `has_command`. Those
 * that are ignored stay so, except with `has_command`: a command that was started with an ignored
 * signal decides about it. 0 or -Exxx.
 */
int gt_signals_take(struct gt_signals *signals, bool has_command, struct gt_diag *diag);
/*
 * Return the next pending signal, or 0. *ret_alone: it was not sent by a terminal, so gputap alone
 * got it.
 */
int gt_signals_next(const struct gt_signals *signals, bool *ret_alone);
/*
 * Pass a signal on to a command: if gputap `alone` got it, or if the command has left the process
 * group of gputap.
 */
void gt_signals_pass(pid_t command, int number, bool alone);
/* Whether the signal asks gputap itself to end. */
bool gt_signals_is_end(int number);
/* Pass all pending signals on to a command. The last of them, or 0. */
int gt_signals_pass_pending(const struct gt_signals *signals, pid_t command);
/* Restore their effect. Those that are pending have none. */
void gt_signals_release(struct gt_signals *signals);
