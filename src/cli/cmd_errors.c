/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "errors": calls that failed, and what else is odd. */
#include "cli/analyse.h"

static const char *const choices[] = {"stack",  "thread",  "stream", "process",
				      "device", "context", NULL};
static const enum gt_by by[] = {GT_BY_STACK,   GT_BY_THREAD, GT_BY_STREAM,
				GT_BY_PROCESS, GT_BY_DEVICE, GT_BY_CONTEXT};

static const struct gt_option options[] = {
	GT_ANALYSE_OPTIONS(
		choices,
		"rows by function, error and stack, thread, stream, process, device or context"),
};

static const char *const examples[] = {
	"gputap errors -- ./train                 # what fails, and patterns worth a look",
	"sudo gputap errors --duration 1m         # in all processes, for a minute",
	NULL,
};

static int run_errors(const struct gt_cli_command *self, int count, char **arguments)
{
	return gt_analyse_run(self, &gt_report_errors, by, true, count, arguments);
}

const struct gt_cli_command gt_command_errors = {
	.name = "errors",
	.summary = "tells which calls fail, and which patterns are worth a look",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"First the calls that failed, by function, error, process and stack; an error "
		"that is sticky makes all later calls fail. Then findings, each with its "
		"evidence and an advice: errors that stay and the launch that probably caused "
		"them, memory freed twice or never allocated, allocations that are tried again "
		"or made in a loop, waits after every launch, tiny copies, blocks of fewer than "
		"32 threads.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_errors,
};
