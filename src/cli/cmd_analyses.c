/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that analyse a session and print a report: one row each. */
#include "cli/analyse.h"
#include "report/breakdown.h"
#include "report/stat.h"

/* By what the rows of a report may be split, besides its own first choice. */
#define CALL_GROUP_NAMES "stack", "thread", "stream", "process", "device", "context", NULL
#define CALL_GROUPS                                                                                \
	GT_BY_STACK, GT_BY_THREAD, GT_BY_STREAM, GT_BY_PROCESS, GT_BY_DEVICE, GT_BY_CONTEXT

static const char *const kernel_groups[] = {"kernel", CALL_GROUP_NAMES};
static const char *const copy_groups[] = {"direction", CALL_GROUP_NAMES};
static const char *const error_groups[] = {CALL_GROUP_NAMES};
static const char *const leak_groups[] = {"stack",  "size",    "age", "process",
					  "device", "context", NULL};

static const struct gt_option kernel_options[] = {
	GT_ANALYSE_OPTIONS(kernel_groups, "split the rows: kernel (default), stack, thread, "
					  "stream, process, device or context"),
};

static const struct gt_option leak_options[] = {
	GT_ANALYSE_OPTIONS(leak_groups, "group the rows: stack (default), size, age, process, "
					"device or context"),
	GT_ERROR_EXITCODE_OPTION("allocations that were left at exit or reset"),
};

static const struct gt_option copy_options[] = {
	GT_ANALYSE_OPTIONS(copy_groups, "split the rows: direction (default), stack, thread, "
					"stream, process, device or context"),
	{0, "max-copies", "N",
	 "track at most N asynchronous copies until they complete (default: 10240)",
	 GT_OPTION_NUMBER, offsetof(struct gt_analyse_options, max_copies), NULL},
};

static const struct gt_option error_options[] = {
	GT_ANALYSE_OPTIONS(error_groups, "split the rows: stack (default), thread, stream, "
					 "process, device or context"),
	GT_ERROR_EXITCODE_OPTION("failed calls"),
};

static const struct gt_option stat_options[] = {
	GT_TARGET_OPTIONS(offsetof(struct gt_analyse_options, target)),
	{'e', "event", "SOURCE,…",
	 "summarize these sources (default: cuda, opencl, hip, level-zero); all: every one that "
	 "works here",
	 GT_OPTION_LIST, offsetof(struct gt_analyse_options, target.trace.sources), NULL},
	{0, "chains", NULL,
	 "join jobs of the DRM scheduler with the calls that submitted them and the interrupts "
	 "that completed them (without -e: cuda,syscall,drm,fence)",
	 GT_OPTION_FLAG, offsetof(struct gt_analyse_options, chains), NULL},
	GT_REPORT_OPTIONS,
};

#define TIMELINE_OPTIONS                                                                           \
	GT_TARGET_OPTIONS(offsetof(struct gt_analyse_options, target)),                            \
		{'e',                                                                              \
		 "event",                                                                          \
		 "SOURCE,…",                                                                       \
		 "take these sources (default: cuda, opencl, hip, level-zero); sched explains "    \
		 "idle threads",                                                                   \
		 GT_OPTION_LIST,                                                                   \
		 offsetof(struct gt_analyse_options, target.trace.sources),                        \
		 NULL},                                                                            \
		GT_REPORT_OPTIONS

static const struct gt_option report_options[] = {
	TIMELINE_OPTIONS,
	{0, "html", "FILE",
	 "write a page with the timeline, tables and a flame graph to FILE, too: a browser shows "
	 "it "
	 "without a network",
	 GT_OPTION_STRING, offsetof(struct gt_analyse_options, html), NULL},
};

static const struct gt_option why_options[] = {
	TIMELINE_OPTIONS,
	{0, "idle", NULL, "explain the longest times in which no GPU worked (default)",
	 GT_OPTION_FLAG, offsetof(struct gt_analyse_options, idle), NULL},
	{0, "gap", "N", "explain only the Nth longest of them", GT_OPTION_COUNT,
	 offsetof(struct gt_analyse_options, gap), NULL},
	{0, "call", "FUNCTION,…",
	 "explain the longest calls of these functions: names, or globs as 'cuMem*'",
	 GT_OPTION_LIST, offsetof(struct gt_analyse_options, calls), NULL},
	{0, "syscall", "NAME,…",
	 "explain the longest system calls of these names (source syscall): names, or globs ('*': "
	 "all)",
	 GT_OPTION_LIST, offsetof(struct gt_analyse_options, syscalls), NULL},
	{0, "faults", NULL, "explain the longest page faults (source fault)", GT_OPTION_FLAG,
	 offsetof(struct gt_analyse_options, faults), NULL},
	{0, "jobs", NULL, "explain the longest jobs of the DRM scheduler (sources drm, fence)",
	 GT_OPTION_FLAG, offsetof(struct gt_analyse_options, jobs), NULL},
	{0, "xids", NULL, "explain the errors that NVIDIA's driver reported (source nvidia)",
	 GT_OPTION_FLAG, offsetof(struct gt_analyse_options, xids), NULL},
};

static const char *const report_examples[] = {
	"gputap report --gpu-times all -- ./train  # where the wall time went",
	"gputap report -e cuda,sched -- ./train    # … and when its threads did not run",
	"gputap report --json run.gtap            # of a capture",
	"gputap report --html run.html run.gtap   # with a page for a browser",
	NULL,
};

static const char *const why_examples[] = {
	"gputap why run.gtap                      # the longest idle times of the GPU",
	"gputap why --gap 1 run.gtap              # only the longest",
	"gputap why 17 run.gtap                   # operation #17 of 'gputap report'",
	"gputap why --call cudaMalloc run.gtap    # the longest calls of cudaMalloc",
	"gputap why --jobs --xids run.gtap        # the longest jobs, and errors of the GPU",
	"gputap why fence:7:1 run.gtap            # the job of the DRM scheduler with this fence",
	"gputap why --syscall ioctl run.gtap      # the longest ioctls",
	"sudo gputap why -e cuda,sched,syscall -- ./train  # with the threads' sleeps",
	"sudo gputap why -e all -- ./train         # … and ioctls, jobs, page faults, I/O, Xids",
	NULL,
};

static const char *const stat_examples[] = {
	"gputap stat -- ./train                   # calls by function",
	"gputap stat -e cuda,sched -- ./train     # … and when its threads did not run",
	"sudo gputap stat -e all --duration 10s   # the whole system, all layers",
	"sudo gputap stat --chains -- ./render    # call, system call, job, interrupt",
	NULL,
};

static const char *const kernel_examples[] = {
	"gputap kernels -- ./vectoradd            # launches by kernel",
	"gputap kernels --by stack -- ./train     # … and by call stack",
	"gputap kernels --from run.gtap --top 10  # of a capture",
	NULL,
};

static const char *const leak_examples[] = {
	"gputap leaks -- ./train                  # allocations that were not freed, by stack",
	"sudo gputap leaks -d 4711 --interval 10s # allocations of a process, every 10 seconds",
	"gputap leaks --from run.gtap --by size   # of a capture",
	"gputap leaks --error-exitcode 99 -- ./test  # for CI: 99 if memory was not freed",
	NULL,
};

static const char *const copy_examples[] = {
	"gputap copies -- ./train                 # bytes and rates by direction",
	"gputap copies --by stack -- ./train      # … and by call stack",
	NULL,
};

static const char *const error_examples[] = {
	"gputap errors -- ./train                 # failed calls and findings",
	"sudo gputap errors --duration 1m         # of all processes, for a minute",
	NULL,
};

#define OPTIONS(table) .options = (table), .option_count = gt_countof(table)
#define ANALYSIS .usage = "[options] [-- CMD ARGS]", .run = gt_analyse_run

const struct gt_analysis_command gt_analysis_commands[GT_ANALYSIS_COMMANDS] = {
	{
		.command =
			{
				ANALYSIS,
				.name = "kernels",
				.summary = "Summarize kernel launches by kernel",
				.description = "Prints a row per kernel: launches, failed "
					       "launches, the time of "
					       "the launching call (total, mean, median, 99th "
					       "percentile), the "
					       "mean time since the previous launch of the thread, "
					       "the most "
					       "frequent grid and block ((+2): two others "
					       "occurred), registers "
					       "and static shared memory where the program's files "
					       "contain them, "
					       "and dynamic shared memory. The times are those of "
					       "the calls on "
					       "the host, not of the kernels on the device.",
				.examples = kernel_examples,
				OPTIONS(kernel_options),
			},
		.report = &gt_report_kernels,
		.by = {GT_BY_NOTHING, CALL_GROUPS},
	},
	{
		.command =
			{
				ANALYSIS,
				.name = "leaks",
				.summary = "Report allocations that were never freed",
				.description =
					"Tracks all memory of the CUDA runtime and driver APIs: "
					"device, "
					"pinned host and managed memory, arrays, stream-ordered "
					"and pool "
					"allocations, physical memory of cuMemCreate. Allocations "
					"that "
					"still existed when their process ended or their device "
					"was reset "
					"are reported as left at exit or reset; those that exist "
					"when "
					"tracing ends as live. A second table shows the use per "
					"process: "
					"current, peak, number of allocations and their duration.",
				.examples = leak_examples,
				OPTIONS(leak_options),
			},
		.report = &gt_report_leaks,
		.by = {GT_BY_STACK, GT_BY_SIZE, GT_BY_AGE, GT_BY_PROCESS, GT_BY_DEVICE,
		       GT_BY_CONTEXT},
	},
	{
		.command =
			{
				ANALYSIS,
				.name = "copies",
				.summary = "Summarize memory copies by direction, with sizes and "
					   "rates",
				.description = "Prints a row per direction: H2D (host to device), "
					       "D2H, D2D, P2P "
					       "(between devices), H2H, and '?' where it is "
					       "unknown. Synchronous "
					       "copies have a rate. Asynchronous copies are "
					       "matched with the call "
					       "that proves their completion; the time until then "
					       "is an upper "
					       "bound. Host memory that was not seen to be pinned "
					       "counts as "
					       "pageable.",
				.examples = copy_examples,
				OPTIONS(copy_options),
			},
		.report = &gt_report_copies,
		.by = {GT_BY_NOTHING, CALL_GROUPS},
	},
	{
		.command =
			{
				ANALYSIS,
				.name = "errors",
				.summary = "Report failed calls and suspicious patterns",
				.description = "Prints the failed calls by function, error, "
					       "process and stack, of all functions that return "
					       "an error code (of a capture: of those that were "
					       "recorded); a "
					       "sticky error makes all later calls fail. Then "
					       "prints findings, "
					       "each with evidence and advice: sticky errors and "
					       "the launch that "
					       "probably caused them, memory freed twice or never "
					       "allocated, "
					       "allocations that are retried or made in a loop, "
					       "synchronization "
					       "after every launch, tiny copies, blocks of fewer "
					       "than 32 threads.",
				.examples = error_examples,
				OPTIONS(error_options),
			},
		.report = &gt_report_errors,
		.by = {CALL_GROUPS},
		.stacks = true,
		.failures = true,
	},
	{
		.command =
			{
				ANALYSIS,
				.name = "stat",
				.summary = "Summarize the events of sources",
				.description =
					"Prints a summary of each source ('gputap list'): of "
					"the calls a row per function, counted in the "
					"kernel; of the layers below them the events, "
					"their rates and durations, and the processes "
					"that caused them. 'gputap trace -e SOURCE' "
					"prints the events themselves.",
				.examples = stat_examples,
				OPTIONS(stat_options),
			},
		.report = &gt_report_stat,
		.by = {GT_BY_NOTHING},
		.sums = true,
	},
	{
		.command =
			{
				.usage = "[options] [FILE | -- CMD ARGS]",
				.run = gt_analyse_run,
				.name = "report",
				.summary = "Report where the wall time went",
				.description =
					"Attributes each instant of the wall time once, on the "
					"critical path through host threads, streams and events: "
					"CPU, API overhead, launches, queues, copies, kernels, "
					"waits; and for each the part in which no GPU worked. "
					"Prints how long each resource was busy, the longest "
					"operations with the times in which they were queued, "
					"started, ran and drained, kernels, copies, waits, idle "
					"gaps with their causes, and advice with its evidence. "
					"Where GPU times were not measured, bounds from calls are "
					"used. Times are of CLOCK_MONOTONIC, relative to the "
					"start of the process, which the report shows on the axis "
					"of --start and --end. FILE is a capture.",
				.examples = report_examples,
				OPTIONS(report_options),
			},
		.report = &gt_report_breakdown,
		.by = {GT_BY_NOTHING},
		.gpu_times = true,
		.files = true,
	},
	{
		.command =
			{
				.usage = "[options] [EVENT] [FILE | -- CMD ARGS]",
				.run = gt_analyse_run,
				.name = "why",
				.summary =
					"Explain idle times of GPUs, operations, calls and events",
				.description =
					"Walks back from the operations that ended the longest "
					"idle times of the GPU, or from an event, and prints the "
					"chain of causes: "
					"the thread that submitted late and what it did, the "
					"thread that woke it, a copy or wait that blocked, the "
					"operation of a stream or event that had to end before.\n"
					"Sleeps of threads and their wakers need the sources "
					"sched and, for the names of system calls, syscall.\nBelow "
					"a call that took long: its longest system call, its job "
					"of the DRM scheduler with the fence that it waited for "
					"(drm, fence), page faults (fault), block I/O (block), "
					"and of a call that failed the Xid before it (nvidia).\n"
					"--call, --syscall, --faults, --jobs and --xids begin at "
					"the longest of these (Xids: the first) and number them.\n"
					"EVENT is one of them: gap:N, call:N, syscall:N, fault:N, "
					"job:N or xid:N, with the number of these lists; "
					"fence:CONTEXT:SEQNO (or job:CONTEXT:SEQNO), the job with "
					"this fence, as 'gputap trace -e drm,fence' prints both; "
					"or N, operation #N of 'gputap report'.",
				.examples = why_examples,
				OPTIONS(why_options),
			},
		.report = &gt_report_why,
		.by = {GT_BY_NOTHING},
		.gpu_times = true,
		.files = true,
		.events = true,
	},
};
