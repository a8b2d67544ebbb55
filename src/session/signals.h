/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The signals that ask a session to end (SIGINT, SIGTERM, SIGHUP), read from a descriptor. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/diag.h"

struct gt_signals {
	int fd; /* readable when one came; -1: they are not taken */
	sigset_t before;
};

#define GT_SIGNALS_NONE ((struct gt_signals){.fd = -1})

/* From now on they end nothing by themselves. 0 or -Exxx. */
int gt_signals_take(struct gt_signals *signals, struct gt_diag *diag);
/* The next one that came, or 0; `*ret_alone` is whether gputap alone got it: none from a terminal.
 */
int gt_signals_next(const struct gt_signals *signals, bool *ret_alone);
/* They do again what they did. */
void gt_signals_release(struct gt_signals *signals);
