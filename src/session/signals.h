/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The signals that ask a session to end (SIGINT, SIGTERM, SIGHUP), read from a descriptor. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/diag.h"

struct gt_signals {
	int fd; /* readable when one is pending; -1: signals are not blocked */
	sigset_t before;
};

#define GT_SIGNALS_NONE ((struct gt_signals){.fd = -1})

/* Block the signals, so that they can be read. 0 or -Exxx. */
int gt_signals_take(struct gt_signals *signals, struct gt_diag *diag);
/* Return the next pending signal, or 0. *ret_alone: it was not sent by a terminal, so gputap alone
 * got it. */
int gt_signals_next(const struct gt_signals *signals, bool *ret_alone);
/* Restore their effect. */
void gt_signals_release(struct gt_signals *signals);
