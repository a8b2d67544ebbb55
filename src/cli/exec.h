/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the command "exec": what was asked for, where it runs, and what came of it. */
#pragma once

#include "cli/cli.h"
#include "run/execute.h"
#include "run/host_programs.h"

enum gt_exec_engine {
	GT_EXEC_INTERP,
	GT_EXEC_GPU,
};

/* Their names, ended by NULL. */
extern const char *const gt_exec_engines[];

struct gt_exec_options {
	bool raw, all, show_memory, maps, json, allow_control, with_host, meanwhile;
	int engine, gpu;
	const char *program, *memory, *grid, *block, *as;
	struct gt_strings devices;
	uint64_t max_insns, time_limit;
};

/* One device, or the interpreter. */
struct gt_exec_device {
	unsigned number;
	struct gt_device *device; /* NULL: the interpreter */
	struct gt_grid_run run;
};

struct gt_exec {
	const struct gt_exec_options *given;
	const char *path; /* of the object; NULL: there is none */
	struct gt_bpf_object *object;
	struct gt_execution execution;
	char *const *command; /* ended by NULL; NULL: none */

	struct gt_host_programs *programs; /* NULL: none run */
	struct gt_driver *driver;
	struct gt_exec_device *devices;
	size_t device_count;
	struct gt_shared *shared;
	int command_status; /* as a shell tells it; 0 where there is none */
};

/* The programs for Linux of the object: to be called before the program is verified. */
int gt_exec_open_linux(struct gt_exec *exec, struct gt_diag *diag);
/*
 * Runs the verified program on all devices at once, with programs for Linux attached, and the
 * command before or meanwhile. 0 or -Exxx.
 */
int gt_exec_run(struct gt_exec *exec, struct gt_diag *diag);
/* Prints what came of it. The exit status. */
int gt_exec_show(const struct gt_exec *exec);
void gt_exec_clear(struct gt_exec *exec);
