/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where a program runs: the devices, the programs for Linux beside it, and the command. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "cli/exec.h"
#include "gpubpf/object/object.h"
#include "launch/environment.h"
#include "launch/spawn.h"

/* ---- devices --------------------------------------------------------------------------- */

static int open_driver(struct gt_exec *exec, const char *library, struct gt_diag *diag)
{
	struct gt_diag missing = {0};
	int error = gt_driver_open(library, &exec->driver, &missing);

	if (!error)
		return 0;
	return gt_diag(diag, error, missing.stage, missing.place, "%s%s", missing.text,
		       exec->given->gpu == GT_GPU_NVIDIA
			       ? "; load the driver ('nvidia-smi' shows whether it works), or use "
				 "--gpu soft"
			       : "");
}

/* Which devices are meant: --device says so, or the first is. */
static int list_devices(struct gt_exec *exec, struct gt_diag *diag)
{
	const struct gt_strings *words = &exec->given->devices;
	bool all = words->words.count == 1 && !strcmp(words->words.items[0], "all");
	size_t count = all                  ? gt_driver_device_count(exec->driver)
		       : words->words.count ? words->words.count
					    : 1;

	exec->devices = calloc(count, sizeof(*exec->devices));
	if (!exec->devices)
		return gt_diag(diag, -ENOMEM, "exec", NULL, "out of memory");
	exec->device_count = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t number = i;

		if (!all && words->words.count)
			gt_parse_u64(words->words.items[i], &number);
		exec->devices[i].number = number < UINT32_MAX ? (unsigned)number : UINT32_MAX;
	}
	return 0;
}

static int open_devices(struct gt_exec *exec, struct gt_diag *diag)
{
	gt_autofree char *library = NULL;
	int error = gt_gpu_driver_library(exec->given->gpu, &library, diag);

	if (error)
		return error;
	if (library && exec->given->gpu == GT_GPU_AUTO)
		gt_cli_error("no NVIDIA driver here: the software GPU runs it");
	error = open_driver(exec, library, diag);
	if (!error)
		error = list_devices(exec, diag);
	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_device_open(exec->driver, exec->devices[i].number,
				       &exec->devices[i].device, diag);
	return error;
}

static int open_interp(struct gt_exec *exec, struct gt_diag *diag)
{
	exec->devices = calloc(1, sizeof(*exec->devices));
	if (!exec->devices)
		return gt_diag(diag, -ENOMEM, "exec", NULL, "out of memory");
	exec->device_count = 1;
	return 0;
}

static int prepare(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = exec->given->engine == GT_EXEC_GPU ? open_devices(exec, diag)
						       : open_interp(exec, diag);

	for (size_t i = 0; !error && i < exec->device_count; i++) {
		struct gt_exec_device *one = &exec->devices[i];

		error = gt_grid_run_prepare(&exec->execution, exec->shared, one->device, &one->run,
					    diag);
		if (error && one->run.log.length)
			fprintf(stderr, "%s\n", gt_strbuf_string(&one->run.log));
	}
	return error;
}

/* A device still runs, or may: nothing that it reaches is taken from it. */
static void abandon(struct gt_exec *exec)
{
	for (size_t i = 0; i < exec->device_count; i++)
		if (exec->devices[i].device)
			gt_device_abandon(exec->devices[i].device);
	gt_shared_abandon(exec->shared);
}

static int run_grids(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_grid_run_start(&exec->devices[i].run, diag);
	for (size_t i = 0; !error && i < exec->device_count; i++)
		error = gt_grid_run_finish(&exec->devices[i].run, diag);
	if (error)
		abandon(exec);
	return error;
}

/* ---- the command ----------------------------------------------------------------------- */

/* Makes it, and it waits. Its GPU is the one that a traced command would get. */
static int make_command(struct gt_exec *exec, struct gt_child *ret_child, struct gt_diag *diag)
{
	enum gt_gpu gpu = exec->given->gpu;
	struct gt_environment environment = {0};
	gt_auto_command command = {0};
	int error = gt_environment_make(exec->command[0], gpu, &environment, &command, diag);

	if (error)
		return error;
	if (environment.remark &&
	    gt_gpu_decide(gpu, command.paths[command.count - 1]) != GT_GPU_USE_SOFT)
		gt_cli_error("%s", environment.remark);
	error = gt_child_make(command.paths[0], exec->command, environment.variables, ret_child,
			      diag);
	gt_environment_free(&environment);
	return error;
}

static void wait_for(struct gt_exec *exec, const struct gt_child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	exec->command_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (exec->command_status)
		gt_cli_error("%s ended with status %d", exec->command[0], exec->command_status);
}

/* The grids after the command's end, or while it runs. */
static int run_beside(struct gt_exec *exec, const struct gt_child *child, struct gt_diag *diag)
{
	int error;

	if (!exec->given->meanwhile)
		wait_for(exec, child);
	error = run_grids(exec, diag);
	if (exec->given->meanwhile)
		wait_for(exec, child);
	return error;
}

/* Ctrl-C is for the command, and what it has done until then is shown. */
static int run_with_command(struct gt_exec *exec, struct gt_child *child, struct gt_diag *diag)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before[2];
	int error;

	sigaction(SIGINT, &ignore, &before[0]);
	sigaction(SIGQUIT, &ignore, &before[1]);
	error = gt_child_let_go(child, exec->command[0], diag);
	if (error) {
		waitpid(child->pid, NULL, 0);
		exec->command_status = GT_EXIT_NO_EXECUTION;
	} else {
		error = run_beside(exec, child, diag);
	}
	sigaction(SIGINT, &before[0], NULL);
	sigaction(SIGQUIT, &before[1], NULL);
	return error;
}

/* ---- all of it ------------------------------------------------------------------------- */

int gt_exec_open_linux(struct gt_exec *exec, struct gt_diag *diag)
{
	return exec->given->with_host ? gt_host_programs_open(exec->object, &exec->programs, diag)
				      : 0;
}

static int run_attached(struct gt_exec *exec, struct gt_child *child, struct gt_diag *diag)
{
	int error = exec->programs ? gt_host_programs_load(exec->programs, diag) : 0;

	if (!error)
		error = gt_shared_open(exec->execution.object,
				       exec->programs ? gt_host_programs_arrays(exec->programs)
						      : NULL,
				       &exec->shared, diag);
	if (!error)
		error = prepare(exec, diag);
	if (!error && exec->programs)
		error = gt_host_programs_attach(exec->programs, diag);
	if (!error)
		error = exec->command ? run_with_command(exec, child, diag) : run_grids(exec, diag);
	if (exec->programs)
		gt_host_programs_detach(exec->programs);
	return error;
}

int gt_exec_run(struct gt_exec *exec, struct gt_diag *diag)
{
	struct gt_child child = GT_CHILD_NONE;
	int error = exec->command ? make_command(exec, &child, diag) : 0;

	if (exec->object)
		gt_bpf_object_keep(exec->object, exec->execution.program);
	if (error)
		exec->command_status = error == -ENOENT ? GT_EXIT_NO_COMMAND : GT_EXIT_NO_EXECUTION;
	else
		error = run_attached(exec, &child, diag);
	if (exec->command)
		gt_child_release(&child);
	return error;
}

void gt_exec_clear(struct gt_exec *exec)
{
	for (size_t i = 0; i < exec->device_count; i++)
		gt_grid_run_clear(&exec->devices[i].run);
	gt_shared_close(exec->shared);
	for (size_t i = 0; i < exec->device_count; i++)
		gt_device_close(exec->devices[i].device);
	free(exec->devices);
	gt_driver_free(exec->driver);
	gt_host_programs_close(exec->programs);
}
