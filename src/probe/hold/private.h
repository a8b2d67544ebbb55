/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of hold: the filter, the keeper, and what gputap and the keeper exchange. */
#pragma once

#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdint.h>

/* Memory that the keeper shares with gputap. */
struct hold_shared {
	_Atomic uint64_t missed_at; /* gt_hold_missed_at() */
};

/* From the keeper to gputap is a struct gt_held; from gputap to the keeper is this. */
struct hold_answer {
	uint64_t id; /* of the thread that continues; 0: all, now and later */
};

/*
 * Install the filter in this thread, which its children and what they execute inherit. Returns the
 * listener, which is close-on-exec, or -Exxx.
 */
int gt_hold_filter_install(void);
/* Receive a notification. 0; -ENOENT: its thread was killed meanwhile; -Exxx. */
int gt_hold_filter_receive(int listener, struct seccomp_notif *ret_notification);
/* Let a thread continue its system call. 0, or -Exxx: nobody waits under this id. */
int gt_hold_filter_continue(int listener, uint64_t id);

/*
 * The keeper's whole life, in a process forked for it: detach from everything of gputap but the
 * listener, the socket and the shared memory; serve until no process is left that the listener
 * belongs to.
 */
_Noreturn void gt_hold_keep(int listener, int socket, struct hold_shared *shared);
