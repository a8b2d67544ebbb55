/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Executing a GPU program standalone on several devices at once, or in the interpreter, with the
 * host programs of its object attached and beside a command.
 */
#pragma once

#include "launch/gpu.h"
#include "launch/spawn.h"
#include "run/host_programs.h"
#include "run/standalone.h"
#include "session/signals.h"

enum gt_exec_engine {
	GT_EXEC_INTERP,
	GT_EXEC_GPU,
	GT_EXEC_OPENCL,
};

/* "interp", "gpu", "opencl", and NULL at the end. */
extern const char *const gt_exec_engines[];

/* Nothing is owned. */
struct gt_exec_options {
	enum gt_exec_engine engine;
	enum gt_gpu gpu; /* of the program with GT_EXEC_GPU, and of the command */
	bool all_devices;
	const unsigned *devices; /* numbers of GPUs or OpenCL devices */
	size_t device_count;     /* 0: device 0, or all */
	bool host_programs;      /* attach those of the object */
	char *const *command;    /* ended by NULL; NULL: none */
	bool meanwhile;          /* run the program while the command runs, not after it */
};

/* One device, or the interpreter. */
struct gt_exec_device {
	unsigned number;
	struct gt_standalone_target target;
	struct gt_standalone_run run;
};

/*
 * The caller sets options, program and object, calls open, verifies the program, and calls prepare
 * and run. `close` is due in any case.
 */
struct gt_exec {
	struct gt_exec_options options;
	struct gt_bpf_object *object; /* not owned; NULL: a raw program */
	struct gt_standalone_program program;

	/* Results, owned. */
	struct gt_host_programs *host_programs; /* NULL: none */
	struct gt_exec_device *devices;
	size_t device_count;
	struct gt_shared *shared;
	bool chose_soft_gpu; /* GT_GPU_AUTO selected it: there is no driver */
	char *gpu_remark;    /* about the GPU of the command; NULL: none */
	bool command_ran;    /* else it could not be executed, or there is none */
	int command_status;  /* as a shell reports it; 0: there is no command */

	/* Internal. */
	struct gt_driver *driver;
	struct gt_cl *cl;
	struct gt_child child;
	struct gt_signals signals; /* while the command runs */
};

/* Opens the host programs, which changes the object's maps: call it before verifying. */
int gt_exec_open(struct gt_exec *exec, struct gt_diag *diag);
/*
 * Opens the devices, translates and loads the verified program on each, creates the process of the
 * command and attaches the host programs. Nothing runs yet. On errors, chose_soft_gpu, gpu_remark,
 * command_status (126 or 127: the command cannot be executed or was not found) and the `log` of
 * each device's run are valid.
 */
int gt_exec_prepare(struct gt_exec *exec, struct gt_diag *diag);
/*
 * Runs the command, if any, and the program on all devices at once; detaches the host programs.
 * The signals that end gputap otherwise (session/signals.h) are passed on to the command while it
 * runs, each time.
 */
int gt_exec_run(struct gt_exec *exec, struct gt_diag *diag);
void gt_exec_close(struct gt_exec *exec);
