/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

void gt_environment_free(struct gt_environment *environment)
{
	for (char **entry = environment->variables; entry && *entry; entry++)
		free(*entry);
	free(environment->variables);
	free(environment->remark);
	gt_soft_reports_close(environment->reports);
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

/* The entry of a variable, which is NULL at the end if there is none. */
static char **find_variable(const struct gt_environment *environment, const char *name)
{
	size_t length = strlen(name);
	char **entry = environment->variables;

	while (*entry && (strncmp(*entry, name, length) || (*entry)[length] != '='))
		entry++;
	return entry;
}

/* Put "NAME=value" in place of an entry, or at the end. */
static int put_variable(struct gt_environment *environment, char **entry, char *variable)
{
	size_t count = 0;
	char **larger;

	if (!variable)
		return -ENOMEM;
	if (*entry) {
		free(*entry);
		*entry = variable;
		return 0;
	}
	while (environment->variables[count])
		count++;
	larger = realloc(environment->variables, (count + 2) * sizeof(char *));
	if (!larger) {
		free(variable);
		return -ENOMEM;
	}
	environment->variables = larger;
	larger[count] = variable;
	larger[count + 1] = NULL;
	return 0;
}

int gt_environment_set(struct gt_environment *environment, const char *name, const char *value)
{
	gt_auto_strbuf variable = GT_STRBUF_INIT;

	gt_strbuf_printf(&variable, "%s=%s", name, value);
	return put_variable(environment, find_variable(environment, name),
			    gt_strbuf_steal(&variable));
}

int gt_environment_prepend(struct gt_environment *environment, const char *name, char separator,
			   const char *value)
{
	gt_auto_strbuf variable = GT_STRBUF_INIT;
	char **entry = find_variable(environment, name);
	const char *old = *entry ? *entry + strlen(name) + 1 : "";

	gt_strbuf_printf(&variable, "%s=%s", name, value);
	if (*old)
		gt_strbuf_printf(&variable, "%c%s", separator, old);
	return put_variable(environment, entry, gt_strbuf_steal(&variable));
}

static int use_soft_gpu(enum gt_gpu gpu, struct gt_environment *environment, struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	int error = gt_gpu_soft_directory(&directory, diag);

	if (error)
		return error;
	environment->soft_gpu = true;
	/* Whether the command uses CUDA is not known yet. */
	environment->remark =
		strdup(gpu == GT_GPU_SOFT
			       ? "CUDA calls go to the software GPU, whose times say nothing about "
				 "real GPUs"
			       : "no NVIDIA driver found: CUDA calls go to the software GPU, whose "
				 "times say nothing about real GPUs");
	environment->reports = gt_soft_reports_open();
	if (environment->reports)
		error = gt_environment_set(environment, "SOFTGPU_REPORTS",
					   gt_soft_reports_name(environment->reports));
	return error ? error
		     : gt_environment_prepend(environment, "LD_LIBRARY_PATH", ':', directory);
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
