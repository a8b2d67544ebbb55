/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": its options, and printing the results. */
#pragma once

#include "cli/cli.h"
#include "run/exec.h"

/* As given on the command line. */
struct gt_cli_exec_options {
	bool raw, all, show_memory, maps, json, allow_control, host_programs, meanwhile;
	int engine, gpu;
	const char *program, *memory, *grid, *block, *as;
	struct gt_strings devices;
	uint64_t max_insns, time_limit;
};

struct gt_cli_exec {
	const struct gt_cli_exec_options *given;
	const char *path; /* of the object; NULL with --raw */
	struct gt_exec exec;
};

/* Prints the results. The exit status. */
int gt_cli_exec_show(const struct gt_cli_exec *self);
