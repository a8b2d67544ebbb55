/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": its options, and printing the results. */
#pragma once

#include "cli/cli.h"
#include "run/exec.h"

/* As given on the command line. */
struct gt_cli_exec_options {
	bool raw, all, show_memory, maps, json, allow_control, host_programs, meanwhile;
	bool no_result;  /* do not print r0 of the first thread */
	int engine, gpu; /* engine: enum gt_exec_engine, of `on` where that is given */
	const char *on;  /* "gpu", "opencl:1" */
	const char *program, *memory, *memory_file, *memory_output, *grid, *block, *as;
	struct gt_strings devices, values;
	uint64_t memory_size, max_insns, time_limit;
};

/* Values of options that are not given. */
#define GT_CLI_EXEC_NO_TIME_LIMIT UINT64_MAX
#define GT_CLI_EXEC_NO_GPU (-1)

struct gt_cli_exec {
	const struct gt_cli_exec_options *given;
	const char *path; /* of the object; NULL with --raw */
	struct gt_exec exec;
};

/*
 * Run a program with the given options and the arguments after them, for a command. It frees the
 * lists of the options. The exit status.
 */
int gt_cli_exec_run(const struct gt_cli_command *command, int count, char **arguments,
		    struct gt_cli_exec_options *given);
/* Prints the results. The exit status. */
int gt_cli_exec_show(const struct gt_cli_exec *self);
