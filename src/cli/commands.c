/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of commands. */
#include <string.h>

#include "base/text.h"
#include "cli/analyse.h"
#include "cli/cli.h"

static const struct gt_cli_command *const commands[] = {
	&gt_command_trace,
	&gt_command_record,
	&gt_command_info,
	&gt_analysis_commands[0].command,
	&gt_analysis_commands[1].command,
	&gt_analysis_commands[2].command,
	&gt_analysis_commands[3].command,
	&gt_analysis_commands[4].command,
	&gt_analysis_commands[5].command,
	&gt_analysis_commands[6].command,
	&gt_command_diff,
	&gt_command_top,
	&gt_command_export,
	&gt_command_merge,
	&gt_command_verify,
	&gt_command_compile,
	&gt_command_exec,
	&gt_command_gpurun,
	&gt_command_run,
	&gt_command_probe,
	&gt_command_blocktime,
	&gt_command_cudacounter,
	&gt_command_divergence,
	&gt_command_hotloop,
	&gt_command_kernelretsnoop,
	&gt_command_launchlate,
	&gt_command_memtrace,
	&gt_command_stall,
	&gt_command_threadhist,
	&gt_command_doctor,
	&gt_command_list,
	&gt_command_help,
};

const struct gt_cli_command *const *gt_cli_commands(size_t *ret_count)
{
	*ret_count = gt_countof(commands);
	return commands;
}

/* Other names of commands. */
static const struct {
	const char *name;
	const struct gt_cli_command *command;
} aliases[] = {
	{"cuda-counter", &gt_command_cudacounter},
	{"directly_run_on_gpu", &gt_command_gpurun},
	{"mem_trace", &gt_command_memtrace},
};

/* Names that look like commands and are not. */
static const struct {
	const char *name, *instead;
} others[] = {
	{"completion", "gputap help --completion bash"},
	{"man", "man gputap"},
	{"version", "gputap --version"},
};

const struct gt_cli_command *gt_cli_find(const char *name)
{
	const char *names[gt_countof(commands)];
	const char *nearest;

	for (size_t i = 0; i < gt_countof(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			return aliases[i].command;
	for (size_t i = 0; i < gt_countof(commands); i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
		names[i] = commands[i]->name;
	}
	for (size_t i = 0; i < gt_countof(others); i++) {
		if (strcmp(others[i].name, name))
			continue;
		gt_cli_error("unknown command '%s': use '%s'", name, others[i].instead);
		return NULL;
	}
	nearest = gt_nearest(name, names, gt_countof(names));
	gt_cli_error("unknown command '%s'%s%s%s (try 'gputap help')", name,
		     nearest ? ": did you mean '" : "", nearest ? nearest : "",
		     nearest ? "'?" : "");
	return NULL;
}
