/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lines that processes of a command send, for notes. */
#include "launch/soft_reports.h"

#include <string.h>
#include <sys/wait.h>

#include "../softgpu/report_line.h"
#include "tap.h"

TEST("each line is reported once, without control characters, shortened where it is long")
{
	gt_auto(soft_reports) struct gt_soft_reports *reports = gt_soft_reports_open();
	char line[GT_SOFT_REPORT_SIZE], text[2000];

	if (!reports) {
		TAP_FAIL("no socket");
		return;
	}
	CHECK(!gt_soft_reports_next(reports, line));
	sg_report_line(false, gt_soft_reports_name(reports), "one");
	sg_report_line(false, gt_soft_reports_name(reports), "two\n\033[31m");
	sg_report_line(false, gt_soft_reports_name(reports), "one");
	sg_report_line(false, gt_soft_reports_name(reports), "");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sg_report_line(false, gt_soft_reports_name(reports), text);
	CHECK(gt_soft_reports_next(reports, line));
	CHECK_STR(line, "one");
	CHECK(gt_soft_reports_next(reports, line));
	CHECK_STR(line, "two??[31m");
	CHECK(gt_soft_reports_next(reports, line));
	CHECK_INT(strlen(line), GT_SOFT_REPORT_SIZE - 1);
	CHECK(!gt_soft_reports_next(reports, line));
	CHECK(!gt_soft_reports_next(NULL, line));
}

TEST("a process that sends lines without end neither waits nor fills the report")
{
	gt_auto(soft_reports) struct gt_soft_reports *reports = gt_soft_reports_open();
	char line[GT_SOFT_REPORT_SIZE], last[GT_SOFT_REPORT_SIZE] = "";
	unsigned count = 0;

	if (!reports) {
		TAP_FAIL("no socket");
		return;
	}
	for (unsigned i = 0; i < 5000; i++) {
		char text[24];

		snprintf(text, sizeof(text), "line %u", i);
		errno = 77;
		sg_report_line(false, gt_soft_reports_name(reports), text);
		CHECK_INT(errno, 77);
		if (i % 5)
			continue;
		while (gt_soft_reports_next(reports, line)) {
			strcpy(last, line);
			count++;
		}
	}
	CHECK_INT(count, 33);
	CHECK_STR(last, "further reports are omitted; SOFTGPU_VERBOSE=1 prints them all");
}

TEST("lines of other users' processes are ignored")
{
	gt_auto(soft_reports) struct gt_soft_reports *reports = gt_soft_reports_open();
	char line[GT_SOFT_REPORT_SIZE];
	int status = -1;
	pid_t child;

	if (!reports || getuid())
		SKIP("only root can become another user");
	child = fork();
	if (!child) {
		if (setuid(65534))
			_exit(1);
		sg_report_line(false, gt_soft_reports_name(reports), "false");
		_exit(0);
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	CHECK(!gt_soft_reports_next(reports, line));
	sg_report_line(false, gt_soft_reports_name(reports), "true");
	CHECK(gt_soft_reports_next(reports, line));
	CHECK_STR(line, "true");
}

TEST_MAIN
