/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the commands share that answer a question by a report: options, and how it is run. */
#pragma once

#include "cli/target.h"
#include "report/report.h"

struct gt_analyse_options {
	struct gt_target_options target;
	int by; /* index in the command's choices */
	uint64_t top, interval, most_copies;
};

/* clang-format off */
/* Rows of such a command's option table; `choices` are those of its --by. */
#define GT_ANALYSE_OPTIONS(choices, by_help) \
	GT_TARGET_OPTIONS(offsetof(struct gt_analyse_options, target)), \
	{0, "by", "WHAT", by_help, GT_OPTION_CHOICE, \
	 offsetof(struct gt_analyse_options, by), choices}, \
	{0, "top", "N", "only the first N rows", GT_OPTION_COUNT, \
	 offsetof(struct gt_analyse_options, top), NULL}, \
	{0, "interval", "TIME", "show it every so often, too; SIGUSR1 shows it at once", \
	 GT_OPTION_PERIOD, offsetof(struct gt_analyse_options, interval), NULL}, \
	{'o', "output", "FILE", \
	 "write to FILE ('-': stdout; the default with CMD: stderr)", \
	 GT_OPTION_STRING, offsetof(struct gt_analyse_options, target.output), NULL}, \
	{0, "json", NULL, \
	 "one JSON object (docs/analyses.md); with CMD add -o FILE", \
	 GT_OPTION_FLAG, \
	 offsetof(struct gt_analyse_options, target.json), NULL}, \
	GT_RUN_OPTIONS(offsetof(struct gt_analyse_options, target), "8M")
/* clang-format on */

/*
 * Runs such a command. `by` says what the choices of --by are, in their order; with one for which
 * `stacks` is true, stacks are taken.
 */
int gt_analyse_run(const struct gt_cli_command *self, const struct gt_report *report,
		   const enum gt_by *by, bool stacks, int count, char **arguments);
