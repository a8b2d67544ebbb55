/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/exec.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/object/object.h"
#include "launch/environment.h"
#include "run/shell_status.h"

enum {
	WAIT_MS = 100, /* without a pidfd (Linux before 5.3), the command's end is polled */
};

const char *const gt_exec_engines[] = {"interp", "gpu", "opencl", NULL};

int gt_exec_open(struct gt_exec *exec, struct gt_diag *diag)
{
	exec->child = GT_CHILD_NONE;
	exec->signals = GT_SIGNALS_NONE;
	return exec->options.host_programs
		       ? gt_host_programs_open(exec->object, true, &exec->host_programs, diag)
		       : 0;
}

/* ---- devices --------------------------------------------------------------------------- */

static int open_driver(struct gt_exec *exec, const char *library, struct gt_diag *diag)
{
	struct gt_diag missing = {0};
	int error = gt_driver_open(library, &exec->driver, &missing);

	if (!error)
		return 0;
	return gt_diag(diag, error, missing.stage, missing.place, "%s%s", missing.text,
		       exec->options.gpu == GT_GPU_NVIDIA
			       ? "; load the driver ('nvidia-smi' shows whether it works), or use "
				 "--gpu soft"
			       : "");
}

static int allocate_devices(struct gt_exec *exec, size_t count, struct gt_diag *diag)
{
	exec->devices = calloc(count, sizeof(*exec->devices));
	if (!exec->devices)
		return gt_diag(diag, -ENOMEM, "exec", NULL, "out of memory");
	exec->device_count = count;
	return 0;
}

/* Those of the options, of `available` ones. */
static int select_devices(struct gt_exec *exec, unsigned available, struct gt_diag *diag)
{
	const struct gt_exec_options *options = &exec->options;
	size_t count = options->all_devices    ? available
		       : options->device_count ? options->device_count
					       : 1;
	int error = allocate_devices(exec, count, diag);

	for (size_t i = 0; !error && i < count; i++)
		exec->devices[i].number = options->device_count ? options->devices[i] : (unsigned)i;
	return error;
}

static int open_devices(struct gt_exec *exec, struct gt_diag *diag)
{
	gt_autofree char *library = NULL;
	int error = gt_gpu_driver_library(exec->options.gpu, &library, diag);

	if (error)
		return error;
	exec->chose_soft_gpu = library && exec->options.gpu == GT_GPU_AUTO;
	error = open_driver(exec, library, diag);
	if (!error)
		error = select_devices(exec, gt_driver_device_count(exec->driver), diag);
	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_device_open(exec->driver, exec->devices[i].number,
				       &exec->devices[i].target.device, diag);
	return error;
}

static int open_opencl(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = gt_cl_open(&exec->cl, diag);

	if (!error)
		error = select_devices(exec, gt_cl_device_count(exec->cl), diag);
	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_cl_device_open(exec->cl, exec->devices[i].number,
					  &exec->devices[i].target.cl_device, diag);
	return error;
}

static int open_interpreter(struct gt_exec *exec, struct gt_diag *diag)
{
	return allocate_devices(exec, 1, diag);
}

static int prepare_devices(struct gt_exec *exec, struct gt_diag *diag)
{
	static int (*const open[])(struct gt_exec * exec, struct gt_diag * diag) = {
		[GT_EXEC_INTERP] = open_interpreter,
		[GT_EXEC_GPU] = open_devices,
		[GT_EXEC_OPENCL] = open_opencl,
	};
	int error = open[exec->options.engine](exec, diag);

	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_standalone_prepare(&exec->program, exec->shared,
					      &exec->devices[i].target, &exec->devices[i].run,
					      diag);
	return error;
}

/* A device may still run the program: leave everything that it can access as it is. */
static void abandon_devices(struct gt_exec *exec)
{
	for (size_t i = 0; i < exec->device_count; i++)
		if (exec->devices[i].target.device)
			gt_device_abandon(exec->devices[i].target.device);
	gt_shared_abandon(exec->shared);
}

static int run_devices(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_standalone_start(&exec->devices[i].run, diag);
	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_standalone_finish(&exec->devices[i].run, diag);
	if (error)
		abandon_devices(exec);
	return error;
}

/* ---- the command ----------------------------------------------------------------------- */

/* Create the process of the command, which waits. It gets the GPU that a traced one would get. */
static int prepare_command(struct gt_exec *exec, struct gt_diag *diag)
{
	char *const *words = exec->options.command;
	enum gt_gpu gpu = exec->options.gpu;
	struct gt_environment environment = {0};
	gt_auto_command command = {0};
	int error = gt_environment_make(words[0], gpu, &environment, &command, diag);

	if (!error) {
		if (environment.remark &&
		    gt_gpu_decide(gpu, command.paths[command.count - 1]) != GT_GPU_USE_SOFT)
			exec->gpu_remark = gt_take(environment.remark);
		error = gt_child_make(command.paths[0], words, environment.variables, NULL,
				      &exec->child, diag);
		gt_environment_free(&environment);
	}
	/* Before drivers start threads, which would get them. */
	if (!error)
		return gt_signals_take(&exec->signals, true, diag);
	if (error)
		exec->command_status =
			error == -ENOENT ? GT_SHELL_NOT_FOUND : GT_SHELL_NOT_EXECUTED;
	return error;
}

/* Wait for the end of the command, and pass signals on to it. */
static void *wait_for_command(void *context)
{
	struct gt_exec *exec = context;
	struct pollfd waits[] = {{.fd = exec->child.pidfd, .events = POLLIN},
				 {.fd = exec->signals.fd, .events = POLLIN}};
	int status = 0;

	while (!waitpid(exec->child.pid, &status, WNOHANG)) {
		poll(waits, gt_countof(waits), WAIT_MS);
		gt_signals_pass_pending(&exec->signals, exec->child.pid);
	}
	exec->command_ran = true;
	exec->command_status = gt_shell_status(status);
	return NULL;
}

/* Run the program while a thread waits for the command, so that signals reach it. */
static int run_meanwhile(struct gt_exec *exec, struct gt_diag *diag)
{
	pthread_t thread;
	bool is_started = !pthread_create(&thread, NULL, wait_for_command, exec);
	int error = run_devices(exec, diag);

	if (is_started)
		pthread_join(thread, NULL);
	else
		wait_for_command(exec);
	return error;
}

static int run_started_command(struct gt_exec *exec, struct gt_diag *diag)
{
	if (exec->options.meanwhile)
		return run_meanwhile(exec, diag);
	wait_for_command(exec);
	/* From now on they end gputap. */
	gt_signals_release(&exec->signals);
	return run_devices(exec, diag);
}

/* Signals are for the command: its results up to its end are shown. */
static int run_with_command(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = gt_child_resume(&exec->child, exec->options.command[0], diag);
	if (error) {
		waitpid(exec->child.pid, NULL, 0);
		exec->command_status = GT_SHELL_NOT_EXECUTED;
	} else {
		error = run_started_command(exec, diag);
	}
	gt_signals_release(&exec->signals);
	return error;
}

/* ---- all of it ------------------------------------------------------------------------- */

int gt_exec_prepare(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = exec->options.command ? prepare_command(exec, diag) : 0;

	if (exec->object)
		gt_bpf_object_keep(exec->object, exec->program.program);
	if (!error && exec->host_programs)
		error = gt_host_programs_load(exec->host_programs, diag);
	if (!error)
		error = gt_shared_open(
			exec->object,
			exec->host_programs ? gt_host_programs_arrays(exec->host_programs) : NULL,
			&exec->shared, diag);
	if (!error)
		error = prepare_devices(exec, diag);
	if (!error && exec->host_programs)
		error = gt_host_programs_attach(exec->host_programs, diag);
	return error;
}

int gt_exec_run(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = exec->options.command ? run_with_command(exec, diag) : run_devices(exec, diag);

	if (exec->host_programs)
		gt_host_programs_detach(exec->host_programs);
	return error;
}

void gt_exec_close(struct gt_exec *exec)
{
	gt_child_release(&exec->child);
	gt_signals_release(&exec->signals);
	for (size_t i = 0; i < exec->device_count; i++)
		gt_standalone_clear(&exec->devices[i].run);
	gt_shared_close(exec->shared);
	for (size_t i = 0; i < exec->device_count; i++) {
		gt_device_close(exec->devices[i].target.device);
		gt_cl_device_close(exec->devices[i].target.cl_device);
	}
	free(exec->devices);
	gt_driver_free(exec->driver);
	gt_cl_free(exec->cl);
	gt_host_programs_close(exec->host_programs);
	free(exec->gpu_remark);
}
