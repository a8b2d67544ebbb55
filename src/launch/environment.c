/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

#define LIBRARY_PATH "LD_LIBRARY_PATH="

void gt_environment_free(struct gt_environment *environment)
{
	for (char **entry = environment->variables; entry && *entry; entry++)
		free(*entry);
	free(environment->variables);
	free(environment->remark);
	*environment = (struct gt_environment){0};
}

static int copy_environment(struct gt_environment *environment)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	environment->variables = calloc(count + 2, sizeof(char *));
	if (!environment->variables)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		environment->variables[i] = strdup(environ[i]);
		if (!environment->variables[i])
			return -ENOMEM;
	}
	return 0;
}

/* Puts a directory to the front of LD_LIBRARY_PATH. The array has room for one entry more. */
static int prepend_library_path(char **environment, const char *directory)
{
	gt_auto_strbuf value = GT_STRBUF_INIT;
	char **entry = environment;

	while (*entry && strncmp(*entry, LIBRARY_PATH, strlen(LIBRARY_PATH)))
		entry++;
	gt_strbuf_printf(&value, LIBRARY_PATH "%s", directory);
	if (*entry && (*entry)[strlen(LIBRARY_PATH)])
		gt_strbuf_printf(&value, ":%s", *entry + strlen(LIBRARY_PATH));
	free(*entry);
	*entry = gt_strbuf_steal(&value);
	return *entry ? 0 : -ENOMEM;
}

static int use_soft_gpu(enum gt_gpu gpu, struct gt_environment *environment, struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	int error = gt_gpu_soft_directory(&directory, diag);

	if (error)
		return error;
	environment->remark =
		strdup(gpu == GT_GPU_SOFT
			       ? "using the software GPU: its times say nothing about real GPUs"
			       : "no NVIDIA driver found, using the software GPU: its times say "
				 "nothing about real GPUs");
	return prepend_library_path(environment->variables, directory);
}

static int give_gpu(enum gt_gpu gpu, const struct gt_command *command,
		    struct gt_environment *environment, struct gt_diag *diag)
{
	const char *program = command->paths[command->count - 1];

	switch (gt_gpu_decide(gpu, program)) {
	case GT_GPU_AS_IT_IS:
		if (!gt_gpu_has_nvidia())
			environment->remark = strdup(
				"no NVIDIA driver found: the command has no GPU unless it brings "
				"a driver; load the driver ('nvidia-smi' shows whether it works), "
				"or use --gpu soft");
		return 0;
	case GT_GPU_RELINK:
		environment->remark = strdup(
			"NVIDIA's CUDA runtime is statically linked into the program and cannot "
			"use the software GPU: relink it with 'nvcc -cudart shared'");
		return 0;
	case GT_GPU_USE_SOFT:
		break;
	}
	return use_soft_gpu(gpu, environment, diag);
}

int gt_environment_make(const char *name, enum gt_gpu gpu, struct gt_environment *ret_environment,
			struct gt_command *ret_command, struct gt_diag *diag)
{
	struct gt_environment environment = {0};
	struct gt_command command = {0};
	int error = gt_command_find(name, getenv("PATH"), &command, diag);

	if (!error)
		error = copy_environment(&environment);
	if (!error)
		error = give_gpu(gpu, &command, &environment, diag);
	if (error) {
		gt_environment_free(&environment);
		gt_command_free(&command);
		return gt_diag(diag, error, "command", name, "%s", strerror(-error));
	}
	*ret_environment = environment;
	*ret_command = command;
	return 0;
}
