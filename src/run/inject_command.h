/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running a command with the agent, while the collector serves it. */
#pragma once

#include "launch/environment.h"
#include "launch/gpu.h"
#include "run/inject.h"

struct gt_inject_command {
	char *const *words; /* a program and its arguments, ended by NULL */
	enum gt_gpu gpu;
	uint64_t interval_ns;                /* between two calls of `tick`; 0: none */
	struct gt_host_group *host_programs; /* as in gt_inject_options: attached meanwhile */
	const char *const *targets;          /* as in gt_host_command */
	size_t target_count;
	/* Records and printed lines may have arrived: called often, and at the end. */
	void (*idle)(void *context);
	/* An interval is over. */
	void (*tick)(void *context);
	void *context;
};

/*
 * Change the environment of a command so that its processes load the agent. filtered: they run
 * under a filter of system calls that gputap does not run under. 0 or -Exxx.
 */
int gt_inject_environment(struct gt_inject *inject, struct gt_environment *environment,
			  bool filtered, struct gt_diag *diag);

/*
 * Run the command to its end. The signals that end gputap otherwise (session/signals.h) are passed
 * on to the command meanwhile, each time. Remarks on the GPU of the command, and on programs that
 * cannot be inserted into its kernels of OpenCL or Level Zero, are passed to `remark` before it
 * runs, and one on each signal from the second on. *ret_status: its exit status as a shell reports
 * it. 0; -ENOENT: there is no such command (status 127); -Exxx.
 */
int gt_inject_run(struct gt_inject *inject, const struct gt_inject_command *command,
		  void (*remark)(const char *text), int *ret_status, struct gt_diag *diag);
