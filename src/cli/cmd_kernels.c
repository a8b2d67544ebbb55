/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "kernels": launches by kernel. */
#include "cli/analyse.h"

static const char *const choices[] = {"kernel",  "stack",  "thread",  "stream",
				      "process", "device", "context", NULL};
static const enum gt_by by[] = {GT_BY_NOTHING, GT_BY_STACK,  GT_BY_THREAD, GT_BY_STREAM,
				GT_BY_PROCESS, GT_BY_DEVICE, GT_BY_CONTEXT};

static const struct gt_option options[] = {
	GT_ANALYSE_OPTIONS(
		choices,
		"rows by kernel, or by kernel and stack, thread, stream, process, device, context"),
};

static const char *const examples[] = {
	"gputap kernels -- ./vectoradd            # launches by kernel",
	"gputap kernels --by stack -- ./train     # … and by where they come from",
	"gputap kernels --from run.gtap --top 10  # of a capture",
	NULL,
};

static int run_kernels(const struct gt_cli_command *self, int count, char **arguments)
{
	return gt_analyse_run(self, &gt_report_kernels, by, false, count, arguments);
}

const struct gt_cli_command gt_command_kernels = {
	.name = "kernels",
	.summary = "tells how often, how and how fast each kernel is launched",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"A row a kernel: launches, failed launches, the launching call's time (total, "
		"mean, median, 99th percentile), the mean time since the thread's launch before, "
		"the most frequent grid and block ((+2): there were two others), registers and "
		"static shared memory where the program's files tell them, and dynamic shared "
		"memory. The times are those of the calls on the host, not of the kernels on the "
		"device.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_kernels,
};
