/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "leaks": what is allocated and not freed. */
#include "cli/analyse.h"

static const char *const choices[] = {"stack", "size", "age", "process", "device", "context", NULL};
static const enum gt_by by[] = {GT_BY_STACK,   GT_BY_SIZE,   GT_BY_AGE,
				GT_BY_PROCESS, GT_BY_DEVICE, GT_BY_CONTEXT};

static const struct gt_option options[] = {
	GT_ANALYSE_OPTIONS(choices, "rows by stack, size, age, process, device or context"),
};

static const char *const examples[] = {
	"gputap leaks -- ./train                  # what is not freed, and where it came from",
	"sudo gputap leaks -d 4711 --interval 10s # what a process holds, every ten seconds",
	"gputap leaks --from run.gtap --by size   # of a capture",
	NULL,
};

static int run_leaks(const struct gt_cli_command *self, int count, char **arguments)
{
	return gt_analyse_run(self, &gt_report_leaks, by, false, count, arguments);
}

const struct gt_cli_command gt_command_leaks = {
	.name = "leaks",
	.summary = "tells what is allocated and not freed",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"All memory of the CUDA runtime and driver APIs is counted: device, pinned host "
		"and managed memory, arrays, stream-ordered and pool allocations, physical "
		"memory of cuMemCreate. What stood when its process ended, or when its device "
		"was reset, is told as left to that; what stands when the tracing ends as still "
		"there. Below, each process's use: current, peak, allocations and how long they "
		"took.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_leaks,
};
