/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The event that the user of `why` names. */
#pragma once

#include "report/report.h"

/* So many of the longest of a kind are kept at most. */
#define GT_MAX_WHY_NUMBER 10000

/* What is valid, for error messages. */
#define GT_WHY_EVENTS                                                                              \
	"N of an operation, gap:N, call:N, syscall:N, fault:N, job:N, fence:CONTEXT:SEQNO or "     \
	"xid:N"

/*
 * Parse the name of an event: the number of an operation ("17", "#17"), a kind with a number in the
 * lists of `why` ("fault:3"), or the job of a fence ("fence:7:1", "job:7:1"). 0; -ENOENT: it is
 * none; -EINVAL: it begins as one, and is invalid. *how is changed only if it is valid.
 */
int gt_why_event_parse(const char *text, struct gt_report_options *how);
