/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the software GPU reports in the processes of a command: why modules do not load, which
 * functions it does not have, faults of kernels (softgpu/report_line.h). Lines are datagrams to a
 * socket whose name is in the environment. They may come from any process of the user: they are
 * hostile. Equal lines are reported once.
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"

struct gt_soft_reports;

enum {
	GT_SOFT_REPORT_SIZE = 512, /* bytes of a line, with its NUL */
};

/* Create the socket. NULL: it cannot be created, and nothing is reported. */
struct gt_soft_reports *gt_soft_reports_open(void);
void gt_soft_reports_close(struct gt_soft_reports *reports);
GT_DEFINE_AUTO(soft_reports, struct gt_soft_reports, gt_soft_reports_close)

/* The value of the environment variable SOFTGPU_REPORTS. */
const char *gt_soft_reports_name(const struct gt_soft_reports *reports);

/*
 * Take the next line that is not equal to an earlier one, without control characters. After
 * 32 different lines, one that says so is the last. False: there is none now. `reports` may be
 * NULL.
 */
bool gt_soft_reports_next(struct gt_soft_reports *reports, char line[GT_SOFT_REPORT_SIZE]);
