/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that run one of the GPU programs that ship, each with a report of its own. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/injection.h"
#include "cli/terminal.h"
#include "report/gpu.h"

#define AT(field) offsetof(struct gt_cli_injection_options, field)

static const struct gt_option option_table[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	GT_CLI_OPTION_KERNEL,
	GT_CLI_OPTION_HOST_MAPS,
	GT_CLI_OPTION_SAVE_MODULES,
	{0, "threads", "N", "threads of a grid that there is room for (1048576)", GT_OPTION_COUNT,
	 AT(threads), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	GT_CLI_OPTION_OUTPUT,
	GT_CLI_INJECTION_CHANGES,
	/* The last one, which threadhist alone has. */
	{0, "line", "LINE",
	 "count how often threads execute this line of the source, and the loops that branch back "
	 "on "
	 "it; without line information: those that branch back on this line of the PTX text",
	 GT_OPTION_COUNT, AT(line), NULL},
};

static const struct gt_gpu_report *const reports[] = {
	&gt_gpu_report_blocktime, &gt_gpu_report_cudacounter,    &gt_gpu_report_divergence,
	&gt_gpu_report_hotloop,   &gt_gpu_report_kernelretsnoop, &gt_gpu_report_launchlate,
	&gt_gpu_report_memtrace,  &gt_gpu_report_stall,          &gt_gpu_report_threadhist,
};

static const struct gt_gpu_report *find_report(const char *name)
{
	for (size_t i = 0; i < gt_countof(reports); i++)
		if (!strcmp(reports[i]->name, name))
			return reports[i];
	return NULL;
}

/* A report for an injection. */
struct tool {
	struct gt_cli_injection injection; /* first: a view gets this one */
	const struct gt_gpu_report *report;
	struct gt_gpu_run run;
};

static void print_text(const struct gt_strbuf *text)
{
	if (text->failed)
		gt_cli_error("out of memory");
	fputs(gt_strbuf_string(text), stdout);
}

/*
 * Read what the programs recorded, in pieces. It may arrive as fast as it is read, so the number of
 * pieces is bounded: together they are larger than any ring.
 */
static void poll_records(struct gt_cli_injection *self)
{
	enum { MAX_PIECES = 256 };
	struct tool *tool = (struct tool *)self;
	bool more = tool->report->poll;

	tool->run.inject = self->inject;
	for (int i = 0; more && i < MAX_PIECES; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		more = tool->report->poll(&tool->run, &text);
		print_text(&text);
	}
	gt_cli_flush_output();
}

/* NULL: out of memory; names are short then. */
static struct gt_short_names *name_kernels(const struct gt_inject *inject)
{
	struct gt_short_names *names = gt_short_names_new();
	const char *kernel;

	for (uint32_t i = 0; names && (kernel = gt_inject_kernel(inject, i)); i++)
		gt_short_names_add(names, kernel);
	return names;
}

static void print_report(struct gt_cli_injection *self, int status)
{
	struct tool *tool = (struct tool *)self;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);
	gt_auto(short_names) struct gt_short_names *names =
		self->given->json ? NULL : name_kernels(self->inject);

	tool->run.inject = self->inject;
	tool->run.names = names;
	if (self->given->json) {
		gt_json_object_begin(&json, NULL);
		tool->report->put_json(&tool->run, &json);
		gt_cli_coverage_put_json(self, &json);
		gt_cli_injection_json_command(self, status, &json);
		gt_json_object_end(&json);
		gt_strbuf_putc(&text, '\n');
	} else {
		tool->report->put(&tool->run, &text);
	}
	print_text(&text);
	tool->run.names = NULL;
}

/* Run the command with the programs of the file, and print the report. */
static int run_with_report(struct tool *tool, const char *path, char **words)
{
	static const struct gt_cli_injection_view view = {.idle = poll_records,
							  .end = print_report};
	const struct gt_cli_injection_options *given = tool->injection.given;
	int status;

	tool->injection.host_targets_are_optional = true;
	tool->injection.reads_registers = tool->report->reads_registers;
	status = gt_cli_injection_read(&tool->injection, &path, 1);
	tool->run = (struct gt_gpu_run){
		.object = tool->injection.object,
		.columns = gt_cli_terminal_columns(given->output ? -1 : STDOUT_FILENO),
		.json = given->json,
		.each = given->each,
		.top = given->top,
		.line = given->line,
		.by_instruction = given->by == GT_CLI_ROWS_BY_INSTRUCTION,
		.by_line = given->by == GT_CLI_ROWS_BY_LINE,
	};
	if (status == GT_GO_ON && tool->report->open && tool->report->open(&tool->run)) {
		gt_cli_error("out of memory");
		status = GT_EXIT_FAILED;
	}
	if (status == GT_GO_ON)
		status = gt_cli_injection_run(&tool->injection, words, &view);
	if (tool->report->close)
		tool->report->close(&tool->run);
	gt_cli_injection_free(&tool->injection);
	return status;
}

static int run_given_tool(const struct gt_cli_command *command,
			  const struct gt_cli_injection_options *given, int count, char **words)
{
	struct tool self = {.injection = {.given = given}, .report = find_report(command->name)};
	gt_autofree char *path = NULL;
	struct gt_diag diag = {0};
	char name[64];

	if (!count)
		return gt_cli_usage_error(command, "a command is needed: -- CMD");
	if (given->threads > UINT32_MAX)
		return gt_cli_usage_error(command, "--threads is at most %u", UINT32_MAX);
	snprintf(name, sizeof(name), "%s.bpf.o", command->name);
	if (gt_installed_file("programs", "programs", name, &path, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	return run_with_report(&self, path, words);
}

/* The programs of threadhist: all loops are counted, or those of the option --line and the line. */
static int select_loops(const struct gt_cli_command *command,
			struct gt_cli_injection_options *given)
{
	const char *loops = given->line ? "count_line" : "count_loop";
	char value[32];

	if (given->line > UINT32_MAX)
		return gt_cli_usage_error(command, "--line is at most %u", UINT32_MAX);
	snprintf(value, sizeof(value), "line[0]=%u", (unsigned)given->line);
	if (!gt_strings_add(&given->names, "count_entry", strlen("count_entry")) &&
	    !gt_strings_add(&given->names, loops, strlen(loops)) &&
	    (!given->line ||
	     !gt_strings_add(&given->names, "count_execution", strlen("count_execution"))) &&
	    !gt_strings_add(&given->values, value, strlen(value)))
		return GT_GO_ON;
	gt_cli_error("out of memory");
	return GT_EXIT_FAILED;
}

static int run_tool(const struct gt_cli_command *command, int count, char **arguments)
{
	struct gt_cli_injection_options given = {
		.gpu = GT_GPU_AUTO, .threads = GT_CLI_INJECTION_THREADS, .by = GT_CLI_ROWS_DEFAULT};
	int rest, status = gt_cli_parse(command, count, arguments, &given, &rest);

	if (status == GT_GO_ON && command == &gt_command_threadhist)
		status = select_loops(command, &given);
	if (status == GT_GO_ON)
		status = run_given_tool(command, &given, count - rest, arguments + rest);
	gt_strings_free(&given.kernels);
	gt_strings_free(&given.names);
	gt_strings_free(&given.values);
	return status;
}

bool gt_cli_is_tool(const struct gt_cli_command *command)
{
	return command->run == run_tool;
}

static const char *const cudacounter_examples[] = {
	"gputap cudacounter -- ./vectoradd",
	NULL,
};

const struct gt_cli_command gt_command_cudacounter = {
	.name = "cudacounter",
	.summary = "Count threads and blocks of each kernel and their times, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters in its kernels and prints, for each kernel, the threads "
		"that entered and exited it, its blocks, the time in which it ran (of all launches "
		"together), the mean time of a block, and the mean number of clock cycles from a "
		"warp's entry to the exit of its lanes. A kernel that does not return has fewer "
		"exits than entries, and no times; so has one that exits in a device function, if "
		"others of its module are counted, too. For each launch and block, see 'gputap "
		"blocktime'. Needs no privilege; see 'gputap run'.",
	.examples = cudacounter_examples,
	.options = option_table,
	.option_count = gt_countof(option_table) - 1, /* without --line */
	.run = run_tool,
};

/* Options of the tools that can print each record. */
static const struct gt_option record_options[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	GT_CLI_OPTION_KERNEL,
	GT_CLI_OPTION_HOST_MAPS,
	GT_CLI_OPTION_SAVE_MODULES,
	{0, "each", NULL, "print each record as it arrives, too", GT_OPTION_FLAG, AT(each), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	GT_CLI_OPTION_OUTPUT,
};

static const char *const blocktime_examples[] = {
	"gputap blocktime -- ./matmul",
	"gputap blocktime --each --json -- ./matmul   # the times of each block",
	NULL,
};

const struct gt_cli_command gt_command_blocktime = {
	.name = "blocktime",
	.summary = "Show when and on which multiprocessor each block runs, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with a program in its kernels that records the start, the end and the "
		"multiprocessor (SM) of each block. Prints, for each launch, how long blocks run, "
		"how busy the SMs are, how evenly they share the blocks, and the theoretical and "
		"achieved occupancy; a picture of the schedule of the longest launch, and its "
		"slowest blocks. With --each it prints each block, too. Records that were dropped "
		"are counted. Needs no privilege; see 'gputap run'.",
	.examples = blocktime_examples,
	.options = record_options,
	.option_count = gt_countof(record_options),
	.run = run_tool,
};

static const char *const kernelretsnoop_examples[] = {
	"gputap kernelretsnoop -- ./lateexit",
	"gputap kernelretsnoop --each --json -- ./lateexit   # the exit of each thread",
	NULL,
};

const struct gt_cli_command gt_command_kernelretsnoop = {
	.name = "kernelretsnoop",
	.summary = "Show when the threads of a kernel exit, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with a program in its kernels that records when each thread exits, with "
		"the GPU's timer (%globaltimer) and the clock of its multiprocessor (%clock64). "
		"Prints, for each launch, how far apart the lanes of warps and the threads of "
		"blocks exit; for each kernel which lanes are slow, and a picture of the warp that "
		"diverges most. With --each it prints each thread's exit, too. Records that were "
		"dropped are counted. Needs no privilege; see 'gputap run'.",
	.examples = kernelretsnoop_examples,
	.options = record_options,
	.option_count = gt_countof(record_options),
	.run = run_tool,
};

static const struct gt_option launchlate_options[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	GT_CLI_OPTION_KERNEL,
	GT_CLI_OPTION_HOST_MAPS,
	GT_CLI_OPTION_SAVE_MODULES,
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	GT_CLI_OPTION_OUTPUT,
};

static const char *const launchlate_examples[] = {
	"gputap launchlate -- ./pipeline",
	NULL,
};

const struct gt_cli_command gt_command_launchlate = {
	.name = "launchlate",
	.summary = "Show how long kernels wait from their launch call to their first instruction",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with a program in its kernels that records the first instruction of each "
		"grid, and uprobes of the calls that launch kernels, of the CUDA runtime and of "
		"the driver. Prints, for each kernel, the time between the two, launch by launch "
		"(--json), and a histogram. The GPU's clock is related to the host's by cause and "
		"effect: the error bound is printed, and so are launches that contradict it, and "
		"calls and grids that could not be matched. Requires root, or CAP_BPF and "
		"CAP_PERFMON.",
	.examples = launchlate_examples,
	.options = launchlate_options,
	.option_count = gt_countof(launchlate_options),
	.run = run_tool,
};

static const char *const threadhist_examples[] = {
	"gputap threadhist -- ./reduce",
	"gputap threadhist --line 47 -- ./reduce   # one loop, which hotloop shows",
	NULL,
};

const struct gt_cli_command gt_command_threadhist = {
	.name = "threadhist",
	.summary = "Show how evenly the threads of a kernel share its loops, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters in its kernels and prints how many loop iterations the "
		"threads of its grids ran: the least and the most loaded thread in one line, and a "
		"histogram. Threads are numbered through the grid, block by block; counts are "
		"sums over all launches, and over all loops or, with --line, those of one line. "
		"Needs no privilege; see 'gputap run'.",
	.examples = threadhist_examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.run = run_tool,
};

static const char *const row_names[] = {
	[GT_CLI_ROWS_BY_INSTRUCTION] = "instruction", [GT_CLI_ROWS_BY_LINE] = "line", NULL};

/* Options of the tools whose reports have a row per instruction, line or loop. */
static const struct gt_option site_options[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	GT_CLI_OPTION_KERNEL,
	GT_CLI_OPTION_HOST_MAPS,
	GT_CLI_OPTION_SAVE_MODULES,
	{0, "top", "N", "print at most N rows of the table", GT_OPTION_COUNT, AT(top), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	GT_CLI_OPTION_OUTPUT,
	GT_CLI_INJECTION_CHANGES,
	/* The last one, which hotloop does not have. */
	{0, "by", "ROWS", "a row for each instruction, or for each source line and opcode",
	 GT_OPTION_CHOICE, AT(by), row_names},
};

static const char *const memtrace_examples[] = {
	"gputap memtrace -- ./transpose",
	"gputap memtrace --by line --top 10 -- ./train",
	NULL,
};

const struct gt_cli_command gt_command_memtrace = {
	.name = "memtrace",
	.summary = "Show how the instructions of a kernel access memory, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters at the loads, stores, atomic operations and asynchronous "
		"copies of its kernels. A row is an instruction: requests (executions by a warp), "
		"active lanes and bytes; for global memory the sectors of 32 bytes per request and "
		"the minimum for the same addresses; for shared memory the passes over the banks, "
		"relative to those without conflicts (32.0: a 32-way conflict); the pattern of the "
		"lanes' addresses: unit (neighbors), stride N (bytes), broadcast, irregular, "
		"single (one lane), with its share if there are others. AT is the source line and "
		"the calls that were inlined, or the line of the PTX text. Rows with the most "
		"sectors and passes come first. Needs no privilege; see 'gputap run'.",
	.examples = memtrace_examples,
	.options = site_options,
	.option_count = gt_countof(site_options),
	.run = run_tool,
};

static const char *const divergence_examples[] = {
	"gputap divergence -- ./reduce",
	"gputap divergence --top 10 -- ./train",
	NULL,
};

const struct gt_cli_command gt_command_divergence = {
	.name = "divergence",
	.summary = "Show the branches where the lanes of warps diverge, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters at the conditional branches of its kernels. A row is a "
		"source line with branches, or a branch if there is no line information or with "
		"--by "
		"instruction: executions by warps, the mean "
		"number of active lanes, the share of lanes that took the branch, and how often "
		"the lanes diverged: some took it and others not. Rows that diverged most often "
		"come first. Instructions with a predicate are no branches. Needs no privilege; "
		"see 'gputap run'.",
	.examples = divergence_examples,
	.options = site_options,
	.option_count = gt_countof(site_options),
	.run = run_tool,
};

static const char *const hotloop_examples[] = {
	"gputap hotloop -- ./matmul",
	"gputap hotloop --top 10 -- ./train",
	NULL,
};

const struct gt_cli_command gt_command_hotloop = {
	.name = "hotloop",
	.summary = "Show which loops of kernels run how often, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters at the branches back to the start of loops, and where "
		"threads leave loops. A row is a loop of the PTX code: iterations and entries, "
		"summed over threads; the mean (TRIPS), the fewest and the most iterations of an "
		"entry; how often warps branched back, and with how many active lanes on average. "
		"Entries are not known if a loop is entered elsewhere than at its start. The loops "
		"to which warps return most often come first. Unrolled loops have fewer "
		"iterations. Needs no privilege; see 'gputap run'.",
	.examples = hotloop_examples,
	.options = site_options,
	.option_count = gt_countof(site_options) - 1, /* without --by */
	.run = run_tool,
};

static const char *const stall_examples[] = {
	"gputap stall -- ./matmul",
	"gputap stall --top 10 -- ./train",
	NULL,
};

const struct gt_cli_command gt_command_stall = {
	.name = "stall",
	.summary = "Show how many cycles warps wait for loads and barriers, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with its loads, atomics and barriers timed, and prints for each line of "
		"the source (without line information, for each instruction of the PTX code) the "
		"clock cycles from before the instruction until its result has arrived, or until "
		"all threads are at the barrier: their sum over all warps, the mean and the "
		"longest. A load whose value the kernel needs later is waited for at once: kernels "
		"are slower, and waits that they would hide are counted, too. Rows with the most "
		"cycles come first. Needs no privilege; see 'gputap run'.",
	.examples = stall_examples,
	.options = site_options,
	.option_count = gt_countof(site_options),
	.run = run_tool,
};
