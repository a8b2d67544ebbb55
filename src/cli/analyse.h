/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands that analyse a session and print a report: options and execution. */
#pragma once

#include "cli/target.h"
#include "report/report.h"

struct gt_analyse_options {
	struct gt_target_options target;
	int by; /* index in the command's choices */
	uint64_t top, interval, max_copies;
	uint64_t error_exitcode;           /* 0: not given */
	uint64_t gap;                      /* of `why`; 0: not given */
	struct gt_strings calls, syscalls; /* of `why` … */
	bool faults, jobs, xids;
	const char *html; /* of `report`; NULL: not given */
	bool idle;
	bool chains; /* of stat */
};

/* clang-format off */
/* Rows of the option table of such a command; `choices` are those of its --by. */
#define GT_ANALYSE_OPTIONS(choices, by_help) \
	GT_TARGET_OPTIONS(offsetof(struct gt_analyse_options, target)), \
	{0, "by", "KEY", by_help, GT_OPTION_CHOICE, \
	 offsetof(struct gt_analyse_options, by), choices}, \
	GT_REPORT_OPTIONS
/* Those of every report. */
#define GT_REPORT_OPTIONS \
	{0, "top", "N", "print at most N rows of each table", GT_OPTION_COUNT, \
	 offsetof(struct gt_analyse_options, top), NULL}, \
	{0, "interval", "TIME", "print the report every TIME, too; SIGUSR1 prints it at once", \
	 GT_OPTION_PERIOD, offsetof(struct gt_analyse_options, interval), NULL}, \
	{'o', "output", "FILE", \
	 "write to FILE ('-': stdout; default with CMD: stderr)", \
	 GT_OPTION_STRING, offsetof(struct gt_analyse_options, target.output), NULL}, \
	{0, "json", NULL, \
	 "print a JSON object (docs/analyses.md); with CMD add -o FILE", \
	 GT_OPTION_FLAG, \
	 offsetof(struct gt_analyse_options, target.json), NULL}, \
	GT_RUN_OPTIONS(offsetof(struct gt_analyse_options, target), "8M")
/* The row of a command whose report has problems; `what` they are. */
#define GT_ERROR_EXITCODE_OPTION(what) \
	{0, "error-exitcode", "N", "exit with N (1 to 255) if there are " what, GT_OPTION_COUNT, \
	 offsetof(struct gt_analyse_options, error_exitcode), NULL}
/* clang-format on */

#define GT_MAX_GROUPS 8

/* A row of src/cli/cmd_analyses.c. */
struct gt_analysis_command {
	struct gt_cli_command command;
	const struct gt_report *report;
	enum gt_by by[GT_MAX_GROUPS]; /* of the choices of --by, in their order */
	bool stacks;                  /* stacks are recorded whatever --by is */
	bool failures;                /* the errors of all functions are recorded */
	bool sums;                    /* calls are needed as sums by function only */
	bool gpu_times;               /* the work of a command is timed on the GPU by default */
	bool files;                   /* an argument that is not after "--" is a capture … */
	bool events;                  /* … after the name of an event (why_event.h), if given */
};

enum { GT_ANALYSIS_COMMANDS = 7 };
extern const struct gt_analysis_command gt_analysis_commands[GT_ANALYSIS_COMMANDS];

/* Runs a command of gt_analysis_commands. */
int gt_analyse_run(const struct gt_cli_command *self, int count, char **arguments);
