/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control of running sessions: 'gputap probe' asks the gputap that inserted programs to list or to
 * change them. Each session listens on a SOCK_SEQPACKET socket in the abstract namespace, whose
 * name begins with GT_CONTROL_PREFIX; /proc/net/unix lists it. A session answers its own user and
 * root alone (SO_PEERCRED).
 *
 *	probe                       session
 *	gt_control_request ►
 *	                          ◄ gt_control_reply, PROGRAM: each program that was selected
 *	                          ◄ gt_control_reply, END
 *
 * Neither side trusts the other: strings are bounded, and printed without control characters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

#define GT_CONTROL_PREFIX "gputap-control-"

enum {
	GT_CONTROL_MAGIC = 0x67544143,
	GT_CONTROL_VERSION = 1,
	GT_CONTROL_MAX_NAME = 128,
	GT_CONTROL_MAX_TEXT = 256,
};

enum gt_control_operation {
	GT_CONTROL_LIST = 1,
	GT_CONTROL_SWITCH, /* on or off */
	GT_CONTROL_SET,    /* the condition, the sampling period */
};

struct gt_control_request {
	uint32_t magic;
	uint16_t version;
	uint16_t operation; /* gt_control_operation */
	uint32_t on;        /* SWITCH: 0 or 1 */
	uint32_t period;    /* SET: 0: as it is */
	uint32_t has_condition, reserved;
	char condition[GT_CONTROL_MAX_TEXT];
	char name[GT_CONTROL_MAX_NAME]; /* a glob of names of programs */
};

enum gt_control_kind {
	GT_CONTROL_PROGRAM = 1,
	GT_CONTROL_END,
};

enum gt_control_flag {
	GT_CONTROL_SWITCHABLE = 1,
	GT_CONTROL_ON = 2,
};

struct gt_control_reply {
	uint32_t magic;
	uint16_t kind;    /* gt_control_kind */
	uint16_t flags;   /* PROGRAM: gt_control_flag */
	int32_t error;    /* END: 0 or -Exxx, `text` has the reason */
	uint32_t kernels; /* PROGRAM: patched ones that its section matches */
	uint64_t sites;   /* PROGRAM: that were patched */
	uint32_t period;  /* PROGRAM: of sampling; 0: none */
	uint32_t reserved;
	uint64_t skipped; /* PROGRAM: runs that sampling skipped */
	char name[GT_CONTROL_MAX_NAME];
	char section[GT_CONTROL_MAX_NAME];
	char text[GT_CONTROL_MAX_TEXT]; /* PROGRAM: its condition */
};

/* Called with each reply of kind PROGRAM; its strings are terminated. */
typedef void gt_control_visit(void *context, pid_t pid, const struct gt_control_reply *reply);

/* Called with each error of a session; the text may be the session's: hostile, and terminated. */
typedef void gt_control_failed(void *context, pid_t pid, const char *text);

/*
 * Send a request to each session that this user may control, or to that of process `pid` alone
 * (0: all). magic and version are filled in. *ret_sessions: those that answered. 0; -ENOENT: `pid`
 * has no session, with a diag; the first session's error, without one: `failed` has them. A session
 * that does not answer within a few seconds is an error (-ETIMEDOUT); the others are asked
 * nevertheless.
 */
int gt_control_ask(struct gt_control_request *request, pid_t pid, gt_control_visit *visit,
		   gt_control_failed *failed, void *context, uint32_t *ret_sessions,
		   struct gt_diag *diag);
