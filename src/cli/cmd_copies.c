/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "copies": copies by direction. */
#include "cli/analyse.h"

static const char *const choices[] = {"direction", "stack",  "thread",  "stream",
				      "process",   "device", "context", NULL};
static const enum gt_by by[] = {GT_BY_NOTHING, GT_BY_STACK,  GT_BY_THREAD, GT_BY_STREAM,
				GT_BY_PROCESS, GT_BY_DEVICE, GT_BY_CONTEXT};

static const struct gt_option options[] = {
	GT_ANALYSE_OPTIONS(choices, "rows by direction, or by direction and stack, thread, stream, "
				    "process, device, context"),
	{0, "max-copies", "N", "asynchronous copies to keep until they are done (default: 10240)",
	 GT_OPTION_NUMBER, offsetof(struct gt_analyse_options, most_copies), NULL},
};

static const char *const examples[] = {
	"gputap copies -- ./train                 # how much is copied where",
	"gputap copies --by stack -- ./train      # … and from where in the program",
	NULL,
};

static int run_copies(const struct gt_cli_command *self, int count, char **arguments)
{
	return gt_analyse_run(self, &gt_report_copies, by, false, count, arguments);
}

const struct gt_cli_command gt_command_copies = {
	.name = "copies",
	.summary = "tells what is copied, in which direction and how fast",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"A row a direction: H2D (host to device), D2H, D2D, P2P (between devices), H2H, "
		"and '?' where nothing tells. Calls that wait for their copy give a bandwidth. "
		"Those that may return before have none; they are matched to the call that "
		"proved the copy done, and the time up to it is an upper bound. Host memory that "
		"was not seen to be pinned counts as pageable.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_copies,
};
