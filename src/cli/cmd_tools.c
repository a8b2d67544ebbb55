/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that run one of the GPU programs that ship, each with a report of its own. */
#include <stdio.h>
#include <string.h>

#include "base/installed.h"
#include "cli/cli.h"
#include "cli/injection.h"
#include "report/gpu.h"

#define AT(field) offsetof(struct gt_cli_injection_options, field)

static const struct gt_option option_table[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "threads", "N", "threads of a grid that there is room for (1048576)", GT_OPTION_COUNT,
	 AT(threads), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
};

static const struct gt_gpu_report *const reports[] = {
	&gt_gpu_report_cudacounter,
	&gt_gpu_report_threadhist,
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
};

static void print_report(struct gt_cli_injection *self, int status)
{
	const struct tool *tool = (const struct tool *)self;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	if (self->given->json) {
		gt_json_object_begin(&json, NULL);
		tool->report->put_json(self->inject, self->object, &json);
		gt_json_u64(&json, "status", (uint64_t)status);
		gt_json_object_end(&json);
		gt_strbuf_putc(&text, '\n');
	} else {
		tool->report->put(self->inject, self->object, &text);
	}
	if (text.failed)
		gt_cli_error("out of memory");
	fputs(gt_strbuf_string(&text), stdout);
}

static int run_tool(const struct gt_cli_command *command, int count, char **arguments)
{
	static const struct gt_cli_injection_view view = {.end = print_report};
	struct gt_cli_injection_options given = {.gpu = GT_GPU_AUTO,
						 .threads = GT_CLI_INJECTION_THREADS};
	struct tool self = {.injection = {.given = &given}, .report = find_report(command->name)};
	gt_autofree char *path = NULL;
	struct gt_diag diag = {0};
	char name[64];
	int rest, status = gt_cli_parse(command, count, arguments, &given, &rest);

	if (status != GT_GO_ON)
		return status;
	if (rest == count)
		return gt_cli_usage_error(command, "a command is needed: -- CMD");
	if (given.threads > UINT32_MAX)
		return gt_cli_usage_error(command, "--threads is at most %u", UINT32_MAX);
	snprintf(name, sizeof(name), "%s.bpf.o", command->name);
	if (gt_installed_file("programs", "programs", name, &path, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	status = gt_cli_injection_read(&self.injection, path);
	if (status == GT_GO_ON)
		status = gt_cli_injection_run(&self.injection, arguments + rest, &view);
	gt_cli_injection_free(&self.injection);
	return status;
}

static const char *const cudacounter_examples[] = {
	"gputap cudacounter -- ./vectoradd",
	NULL,
};

const struct gt_cli_command gt_command_cudacounter = {
	.name = "cudacounter",
	.summary = "Count threads, blocks and cycles of each kernel, on the GPU",
	.usage = "[options] -- CMD ARGS",
	.description =
		"Runs CMD with counters in its kernels and prints, for each kernel, the threads "
		"that "
		"entered and exited it, its blocks, and the mean number of clock cycles from a "
		"warp's entry to the exit of its lanes. A kernel that does not return, or that "
		"exits in a device function, has fewer exits than entries. Needs no privilege; see "
		"'gputap run'.",
	.examples = cudacounter_examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.run = run_tool,
};

static const char *const threadhist_examples[] = {
	"gputap threadhist -- ./reduce",
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
		"sums over all launches. Needs no privilege; see 'gputap run'.",
	.examples = threadhist_examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.run = run_tool,
};
